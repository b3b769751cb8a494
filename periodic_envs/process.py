"""Reward processes, independent of Gymnasium.

A *world* (one class per file in :mod:`periodic_envs.worlds`) is a distribution; its ``draw``
returns a *reward process*, which has the mean reward of every action at every time.
"""

from __future__ import annotations

import cmath
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.fields.basis import Basis
from periodic_envs.fields.course import Course
from periodic_envs.fields.maximise import maximise


@dataclass(frozen=True)
class PublicInfo:
    """Public description of a world, which agents may know in advance.

    Attributes:
        n_actions: size of a finite action set, or None for the box [-1, 1]^dim.
        dim: dimension of the action coordinates.
        action_features: coordinates of each action of a finite set, shape (n_actions, dim).
        action_names: name of each action of a finite set, or None.
        action_half_width: one unit of a box action in the units of the length-scales.
        periods: lengths of the seasons, the observed one first; empty if hidden.
        context_dim: length of the context vector in the observation, each entry in [-1, 1].
        first_step: time of the first decision.
        reward_scale: prior mean and standard deviation of the mean rewards, as in the paper's prior
            N(0, 1), or None.
        context_names: names of the entries of the context, or None for ``context_0``, ...
    """

    n_actions: int | None
    dim: int
    periods: tuple[float, ...]
    action_features: Array | None = None
    action_names: tuple[str, ...] | None = None
    action_half_width: float = 1.0
    context_dim: int = 0
    first_step: int = 0
    reward_scale: tuple[float, float] | None = None
    context_names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class WarmStart:
    """Past pairs that every agent receives before it starts: arrays of equal length.

    For many copies the arrays have an axis more, the copies first.
    """

    t: NDArray[np.int64]
    action: NDArray[Any]
    reward: Array

    def __getitem__(self, copy: int) -> WarmStart:
        """Return the pairs of one of many copies."""
        return WarmStart(self.t[copy], self.action[copy], self.reward[copy])

    def as_info(self) -> dict[str, NDArray[Any]]:
        """Return a fresh copy for ``info``."""
        return {"t": self.t.copy(), "action": self.action.copy(), "reward": self.reward.copy()}


@dataclass(frozen=True)
class Origin:
    """Source of the rewards of a world that replays or imitates measurements.

    Attributes:
        source: the value of ``info["data_source"]``: "measurements", "simulator", "file", ...
        fingerprint: SHA-256 of all data that determine the rewards; results with different
            fingerprints are not comparable.
        steps: number of decisions with data.
        replay: True if all episodes are equal, regardless of the seed.
        notes: changes to the data as text, such as gaps that were filled.
    """

    source: str
    fingerprint: str
    steps: int
    replay: bool
    notes: tuple[str, ...] = ()


class RewardProcess:
    """Realisation of a world: the mean reward of every action at every time.

    Subclasses define ``period``, ``mean`` and ``optimum``, and ``public`` if they are used without
    a world.

    Attributes:
        period: length of the season of which ``phase`` is taken.
        contexts: observed contexts before each step, shape (horizon + 1, c), or None.
        warm_start: prior information, or None.
    """

    period: float
    contexts: Array | None = None
    warm_start: WarmStart | None = None

    @property
    def public(self) -> PublicInfo:
        """Public description of the world."""
        raise NotImplementedError

    @property
    def changes(self) -> NDArray[np.int64] | None:
        """Times of the first step after each change, None in a world that does not change."""
        return None

    def mean(self, actions: Any, t: Any) -> Any:
        """Return the mean reward; actions (...) or (..., d) and times (...) broadcast."""
        raise NotImplementedError

    def optimum(self, t: int) -> tuple[Any, float]:
        """Return a best action at time t and its mean reward."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class TabularProcess(RewardProcess):
    """Process in a table: step t has row ``rows[t]``.

    Attributes:
        rows: table row of each time t = 0, 1, ..., shape (first_step + horizon,).
        period: length of the season of which ``phase`` is taken.
        contexts: observed contexts before each step, shape (horizon + 1, c), or None.
        warm_start: prior information, or None.
        course: course of the season, or None if it does not change.
    """

    rows: NDArray[np.intp]
    period: float
    contexts: Array | None = None
    warm_start: WarmStart | None = None
    course: Course | None = None

    @property
    def changes(self) -> NDArray[np.int64] | None:
        """Times of the first step after each change, None in a world that does not change."""
        return None if self.course is None else self.course.changes

    def _check(self, table: Array) -> None:
        checks.positive("period", self.period)
        if table.ndim != 2 or not np.isfinite(table).all():
            raise ValueError(f"a table must be finite and (rows, ...), got shape {table.shape}")
        if len(self.rows) == 0 or self.rows.min() < 0 or self.rows.max() >= len(table):
            raise ValueError(f"rows must be in [0, {len(table) - 1}], the rows of the table")


@dataclass(frozen=True, kw_only=True)
class FiniteProcess(TabularProcess):
    """Finitely many actions: ``values[row, action]`` is the mean reward."""

    values: Array

    def __post_init__(self) -> None:
        self._check(self.values)

    @property
    def public(self) -> PublicInfo:
        """Public description with the number of actions and the period."""
        return PublicInfo(n_actions=self.values.shape[1], dim=1, periods=(self.period,))

    def mean(self, actions: Any, t: Any) -> Any:
        """Return the mean reward of actions (indices) at times t."""
        return self.values[self.rows[t], actions]

    @cached_property
    def best(self) -> tuple[NDArray[np.intp], Array]:
        """Best action and its value for every row."""
        return self.values.argmax(1), self.values.max(1)

    def optimum(self, t: int) -> tuple[int, float]:
        """Return a best action at time t and its mean reward."""
        row = self.rows.item(t)
        actions, values = self.best
        return actions.item(row), values.item(row)


@dataclass(frozen=True, kw_only=True)
class ContinuousProcess(TabularProcess):
    """Actions in [-1, 1]^d: ``phi(action) . weights[row]`` is the mean reward.

    With frequencies ``k omega`` and ``z = exp(i omega a)`` it is ``Re sum_k (c_k - i s_k) z^k``,
    which is fast for single actions.
    """

    basis: Basis
    weights: Array

    def __post_init__(self) -> None:
        self._check(self.weights)

    @property
    def public(self) -> PublicInfo:
        """Public description with the dimension and the period."""
        return PublicInfo(n_actions=None, dim=self.basis.dim, periods=(self.period,))

    def mean(self, actions: Any, t: Any) -> Any:
        """Return the mean reward of actions (..., d) at times t (...)."""
        omega = self.basis.fundamental
        single = type(t) is int and type(actions) is np.ndarray and actions.shape == (1,)
        if omega is not None and single:
            z = cmath.rect(1.0, omega * actions.item())
            total = 0j
            for coefficient in self._series[self.rows.item(t)].tolist():
                total = total * z + coefficient
            return total.real
        features = self.basis(np.asarray(actions, dtype=np.float64))
        weights = self.weights[self.rows[t]]
        if weights.ndim == 1:
            return features @ weights
        return np.einsum("...m,...m->...", features, weights)

    @cached_property
    def _series(self) -> NDArray[np.complex128]:
        """``c_k - i s_k``, highest first, shape (rows, K)."""
        on_cos, on_sin = np.split(self.weights, 2, axis=1)
        return np.asarray((on_cos - 1j * on_sin)[:, ::-1])

    def optimum(self, t: int) -> tuple[NDArray[np.float32], float]:
        """Return a best action at time t and its mean reward."""
        block, place = divmod(self.rows.item(t), self._block_size)
        if block not in self._optima:
            self._optima[block] = self._search(block)
        actions, values = self._optima[block]
        return actions[place].copy(), values.item(place)

    @cached_property
    def _optima(self) -> dict[int, tuple[NDArray[np.float32], Array]]:
        return {}

    @cached_property
    def _block_size(self) -> int:
        """Number of rows that are maximised together, which is faster."""
        return 256 if self.basis.dim == 1 else 16

    def _search(self, block: int) -> tuple[NDArray[np.float32], Array]:
        """Return best actions and values of a block of rows."""
        size = self._block_size
        actions, values = maximise(self.basis, self.weights[block * size : (block + 1) * size])
        return actions.astype(np.float32), values
