"""Reward processes of many copies of a world, stored in shared arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from periodic_envs.arrays import Array
from periodic_envs.fields.basis import Basis
from periodic_envs.fields.course import Course
from periodic_envs.fields.maximise import maximise
from periodic_envs.process import (
    ContinuousProcess,
    FiniteProcess,
    RewardProcess,
    TabularProcess,
    WarmStart,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Draws:
    """Reward processes of n copies with finitely many actions: a batch of ``FiniteProcess``.

    Attributes:
        tables: Mean rewards, shape (n, rows, actions).
        rows: Index of the table row of each time, shape (T,) if all copies share the rows,
            otherwise (n, T).
        periods: Length of the season of each copy, shape (n,).
        contexts: Contexts before each step and after the last step, shape (n, horizon + 1, c), or
            None.
        warm_start: Warm starts, in arrays with one entry for each copy on the first axis, or None.
        courses: States of the season of each copy, or None if the seasons do not change.
    """

    tables: Array
    rows: NDArray[np.intp]
    periods: Array
    contexts: Array | None = None
    warm_start: WarmStart | None = None
    courses: Sequence[Course] | None = None

    def __len__(self) -> int:
        return len(self.tables)

    def __getitem__(self, copy: int) -> Any:
        """Return the process of one copy."""
        return FiniteProcess(values=self.tables[copy], **self._timeline(copy))

    def _timeline(self, copy: int) -> dict[str, Any]:
        return {
            "rows": self.rows if self.rows.ndim == 1 else self.rows[copy],
            "period": self.periods.item(copy),
            "contexts": None if self.contexts is None else self.contexts[copy],
            "warm_start": None if self.warm_start is None else self.warm_start[copy],
            "course": None if self.courses is None else self.courses[copy],
        }

    @cached_property
    def copies(self) -> NDArray[np.intp]:
        """Indices 0 .. n - 1 of the copies."""
        return np.arange(len(self))

    def _row(self, t: int) -> Any:
        """Return the index of the table row at time t: one for all copies, or an array (n,)."""
        return self.rows[:, t] if self.rows.ndim == 2 else self.rows[t]

    def _entries(self, t: int) -> Array:
        """Return the table entries of all copies at time t, shape (n, ...)."""
        row = self._row(t)
        entries: Array = self.tables[:, row] if row.ndim == 0 else self.tables[self.copies, row]
        return entries

    def mean(self, actions: NDArray[Any], t: int) -> Array:
        """Return the mean reward of action i in copy i at time t, shape (n,)."""
        mean: Array = self.tables[self.copies, self._row(t), actions]
        return mean

    def optimum(self, t: int) -> tuple[NDArray[Any], Array]:
        """Return the best actions at time t, shape (n, ...), and their mean rewards, shape (n,)."""
        # Times with the same rows have the same optimum, which is searched for only once.
        key = self._row(t).tobytes()
        if key not in self._optima:
            self._optima[key] = self._search(self._entries(t))
        actions, values = self._optima[key]
        return actions.copy(), values.copy()

    @cached_property
    def _optima(self) -> dict[bytes, tuple[NDArray[Any], Array]]:
        return {}

    def _search(self, entries: Array) -> tuple[NDArray[Any], Array]:
        return entries.argmax(1), entries.max(1)


@dataclass(frozen=True, kw_only=True, eq=False)
class ContinuousDraws(Draws):
    """Reward processes of n copies with actions in a box.

    The mean reward of an action is the scalar product of its m features with the weights in
    ``tables``, which have shape (n, rows, m).

    Attributes:
        bases: Feature map of each copy.
    """

    bases: Sequence[Basis]

    def __getitem__(self, copy: int) -> Any:
        """Return the process of one copy."""
        return ContinuousProcess(
            basis=self.bases[copy], weights=self.tables[copy], **self._timeline(copy)
        )

    @cached_property
    def _shared(self) -> Basis | None:
        """Feature map that all copies share, or None if they do not share one."""
        first = self.bases[0]
        return first if all(basis is first for basis in self.bases) else None

    def mean(self, actions: NDArray[Any], t: int) -> Array:
        """Return the mean reward of action i in copy i at time t, shape (n,)."""
        points, basis = actions.astype(np.float64), self._shared
        if basis is not None and basis.fundamental is not None:
            return self._polynomial(basis.fundamental * points[:, 0], t)
        if basis is not None:
            features = basis(points)
        else:
            features = np.stack([b(p) for b, p in zip(self.bases, points, strict=True)])
        mean: Array = np.einsum("nm,nm->n", features, self._entries(t))
        return mean

    def _polynomial(self, angles: Array, t: int) -> Array:
        """Return the mean reward in each copy at time t, shape (n,).

        The mean reward is ``Re sum_k (c_k - i s_k) z^k`` with ``z = exp(i angle)``.
        """
        # One tangent replaces a cosine and a sine. With u = tan(angle / 2) and |angle| < pi:
        # cos = (1 - u^2) / (1 + u^2), sin = 2 u / (1 + u^2).
        half = np.tan(angles / 2.0)
        squared = half * half
        below = 1.0 / (1.0 + squared)
        z = np.empty(len(half), dtype=np.complex128)
        np.multiply(1.0 - squared, below, out=z.real)
        np.multiply(2.0 * half, below, out=z.imag)
        coefficients = self._coefficients(t)
        total = coefficients[-1] * z
        for coefficient in coefficients[-2:0:-1]:
            total += coefficient
            total *= z
        mean: Array = total.real + coefficients[0].real
        return mean

    def _coefficients(self, t: int) -> NDArray[np.complex128]:
        """Return the coefficients ``c_k - i s_k`` of all copies at time t, shape (K, n).

        The rows are contiguous in memory, since Horner's rule uses one row after the other.
        """
        key = self._row(t).tobytes()
        if key in self._series:
            return self._series[key]
        on_cos, on_sin = np.split(self._entries(t).T, 2)
        coefficients: NDArray[np.complex128] = np.empty(on_cos.shape, dtype=np.complex128)
        coefficients.real = on_cos
        np.negative(on_sin, out=coefficients.imag)
        if self.rows.ndim == 1 and self.tables.shape[1] < len(self.rows):  # rows repeat
            self._series[key] = coefficients
        return coefficients

    @cached_property
    def _series(self) -> dict[bytes, NDArray[np.complex128]]:
        return {}

    def _search(self, entries: Array) -> tuple[NDArray[Any], Array]:
        if self._shared is not None:
            actions, values = maximise(self._shared, entries)
        else:
            pairs = zip(self.bases, entries, strict=True)
            maxima = [maximise(basis, row[None]) for basis, row in pairs]
            actions, values = (np.concatenate(parts) for parts in zip(*maxima, strict=True))
        return actions.astype(np.float32), values


class OtherDraws(list[Any]):
    """List of reward processes without tables, with the interface of :class:`Draws`."""

    @property
    def periods(self) -> Array:
        """Length of the season of each copy, shape (n,)."""
        return np.array([process.period for process in self], dtype=np.float64)

    @property
    def contexts(self) -> Array | None:
        """Contexts before each step and after the last step, (n, horizon + 1, c), or None."""
        return _contexts(self)

    @property
    def warm_start(self) -> WarmStart | None:
        """Warm starts of all copies, or None."""
        return _warm_start(self)

    def mean(self, actions: NDArray[Any], t: int) -> Array:
        """Return the mean reward of action i in copy i at time t, shape (n,)."""
        pairs = zip(self, actions, strict=True)
        return np.array([float(process.mean(action, t)) for process, action in pairs])

    def optimum(self, t: int) -> tuple[NDArray[Any], Array]:
        """Return the best actions at time t, shape (n, ...), and their mean rewards, shape (n,)."""
        actions, values = zip(*(process.optimum(t) for process in self), strict=True)
        return np.array(actions), np.array(values)


def gather(processes: Sequence[RewardProcess]) -> Draws | OtherDraws:
    """Combine reward processes that were drawn separately, in shared arrays where possible."""
    finite = [p for p in processes if isinstance(p, FiniteProcess)]
    if len(finite) == len(processes):
        return Draws(tables=stack_tables([p.values for p in finite]), **_timelines(finite))
    boxes = [p for p in processes if isinstance(p, ContinuousProcess)]
    if len(boxes) == len(processes):
        tables, bases = stack_tables([p.weights for p in boxes]), [p.basis for p in boxes]
        return ContinuousDraws(tables=tables, bases=bases, **_timelines(boxes))
    return OtherDraws(processes)


def _timelines(processes: Sequence[TabularProcess]) -> dict[str, Any]:
    rows = processes[0].rows
    if any(not np.array_equal(p.rows, rows) for p in processes):
        rows = np.stack([p.rows for p in processes])
    courses = [p.course for p in processes]
    return {
        "rows": rows,
        "periods": np.array([p.period for p in processes], dtype=np.float64),
        "contexts": _contexts(processes),
        "warm_start": _warm_start(processes),
        "courses": None if None in courses else courses,
    }


def empty_tables(copies: int, rows: int, size: int) -> Array:
    """Return uninitialised tables of shape (copies, rows, size).

    For each row, the entries of all copies are contiguous in memory, since a step reads one row of
    every copy.
    """
    tables: Array = np.empty((rows, copies, size)).swapaxes(0, 1)
    return tables


def stack_tables(tables: Sequence[Array]) -> Array:
    """Stack the tables (rows, ...) of n copies into one array (n, rows, ...), padded with zeros."""
    first = tables[0]
    if all(table is first for table in tables):  # all copies have the same fixed process
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
