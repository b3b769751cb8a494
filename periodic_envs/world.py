"""Worlds, and the reward processes of many copies in one set of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from periodic_envs.arrays import Array
from periodic_envs.fields.basis import Basis, FourierBasis
from periodic_envs.fields.course import Course
from periodic_envs.process import (
    ContinuousProcess,
    FiniteProcess,
    LatticeProcess,
    Origin,
    PublicInfo,
    RewardProcess,
    TabularProcess,
    WarmStart,
)


class World:
    """A recipe for reward processes.

    Subclasses define ``public`` and one of ``draw`` and ``draw_many``.

    Attributes:
        listed_as: actions, period and horizon in a list of environments, where these are not
            known before data are read.
    """

    listed_as: ClassVar[tuple[str, str, str] | None] = None

    @property
    def public(self) -> PublicInfo:
        """What agents may know."""
        raise NotImplementedError

    @property
    def origin(self) -> Origin | None:
        """The origin of the rewards, if they come from data."""
        return None

    def check_horizon(self, horizon: int) -> None:
        """Raise a ValueError if an episode is too short for this world."""

    def draw(self, rng: np.random.Generator, horizon: int) -> Any:
        """Return a new reward process, known for t = 0 .. first_step + horizon - 1."""
        return self.draw_many([rng], horizon)[0]

    def draw_many(self, rngs: Sequence[np.random.Generator], horizon: int) -> Draws | OtherDraws:
        """Return the reward processes of many copies, one for each generator."""
        return gather([self.draw(rng, horizon) for rng in rngs])


@dataclass(frozen=True, kw_only=True)
class Draws:
    """Tabulated processes; what :class:`~periodic_envs.process.TabularProcess` is for one copy.

    Attributes:
        tables: mean rewards (n, rows, actions) or, with ``bases``, weights (n, rows, m).
        rows: table row of each time, shape (T,) for all copies or (n, T).
        periods: length of the season of each copy, shape (n,).
        bases: feature map of each copy, if actions are continuous.
        contexts: what is seen before each step, shape (n, horizon + 1, c), or None.
        warm_start: prior information in arrays with the copies first, or None.
        courses: how the season of each copy moves, or None if it does not.
    """

    tables: Array
    rows: NDArray[np.intp]
    periods: Array
    bases: Sequence[Basis] | None = None
    contexts: Array | None = None
    warm_start: WarmStart | None = None
    courses: Sequence[Course] | None = None

    def __len__(self) -> int:
        return len(self.tables)

    def __getitem__(self, copy: int) -> Any:
        """The process of one copy."""
        timeline: dict[str, Any] = {
            "rows": self.rows if self.rows.ndim == 1 else self.rows[copy],
            "period": self.periods.item(copy),
            "contexts": None if self.contexts is None else self.contexts[copy],
            "warm_start": None if self.warm_start is None else self.warm_start[copy],
            "course": None if self.courses is None else self.courses[copy],
        }
        table = self.tables[copy]
        if self.bases is None:
            return FiniteProcess(values=table, **timeline)
        basis = self.bases[copy]
        if isinstance(basis, FourierBasis) and basis.fundamental is not None:
            return LatticeProcess(
                basis=basis, weights=table, fundamental=basis.fundamental, **timeline
            )
        return ContinuousProcess(basis=basis, weights=table, **timeline)


class OtherDraws(list[Any]):
    """Processes that have no tables, one by one, with what a batch asks of :class:`Draws`."""

    @property
    def periods(self) -> Array:
        """Length of the season of each copy."""
        return np.array([process.period for process in self], dtype=np.float64)

    @property
    def contexts(self) -> Array | None:
        """What is seen before each step."""
        return _contexts(self)

    @property
    def warm_start(self) -> WarmStart | None:
        """Prior information."""
        return _warm_start(self)


def gather(processes: Sequence[RewardProcess]) -> Draws | OtherDraws:
    """Put processes that were drawn one by one together."""
    finite = [p for p in processes if isinstance(p, FiniteProcess)]
    if len(finite) == len(processes):
        return _gather_tables(finite, [p.values for p in finite], None)
    boxes = [p for p in processes if isinstance(p, ContinuousProcess)]
    if len(boxes) == len(processes):
        return _gather_tables(boxes, [p.weights for p in boxes], [p.basis for p in boxes])
    return OtherDraws(processes)


def _gather_tables(
    processes: Sequence[TabularProcess], tables: list[Array], bases: list[Basis] | None
) -> Draws:
    rows = processes[0].rows
    if any(not np.array_equal(p.rows, rows) for p in processes):
        rows = np.stack([p.rows for p in processes])
    courses = [p.course for p in processes]
    return Draws(
        tables=stack_tables(tables),
        rows=rows,
        periods=np.array([p.period for p in processes], dtype=np.float64),
        bases=bases,
        contexts=_contexts(processes),
        warm_start=_warm_start(processes),
        courses=None if None in courses else [course for course in courses if course],
    )


def empty_tables(copies: int, rows: int, size: int) -> Array:
    """Room for tables (copies, rows, size), in memory row by row: so steps read them."""
    tables: Array = np.empty((rows, copies, size)).swapaxes(0, 1)
    return tables


def stack_tables(tables: Sequence[Array]) -> Array:
    """Tables (rows, ...) of all copies in one (n, rows, ...), zero where a copy has less."""
    first = tables[0]
    if all(table is first for table in tables):  # a fixed process: one table for all
        return np.broadcast_to(first, (len(tables), *first.shape))
    depth = max(len(table) for table in tables)
    stacked = np.zeros((len(tables), depth, *first.shape[1:]))
    for space, table in zip(stacked, tables, strict=True):
        space[: len(table)] = table
    return stacked


def _contexts(processes: Sequence[Any]) -> Array | None:
    contexts = [process.contexts for process in processes]
    return None if contexts[0] is None else np.stack(contexts)


def _warm_start(processes: Sequence[Any]) -> WarmStart | None:
    starts = [process.warm_start for process in processes]
    if starts[0] is None:
        return None
    arrays = zip(*((start.t, start.action, start.reward) for start in starts), strict=True)
    return WarmStart(*(np.stack(array) for array in arrays))
