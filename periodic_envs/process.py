"""Reward processes, independent of Gymnasium.

A *world* (one class per file in :mod:`periodic_envs.worlds`) is a distribution of *reward
processes*. A reward process defines the mean reward of every action at every time. The method
``draw`` of a world returns a new reward process.
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
        n_actions: Size of a finite action set, or None for the box [-1, 1]^dim.
        dim: Dimension of the action coordinates.
        action_features: Coordinates of each action in a finite set, shape (n_actions, dim), or
            None.
        action_names: Name of each action in a finite set, or None.
        action_half_width: Half of the width of a box of actions, in the unit of the length-scales.
        periods: Lengths of the seasons, in steps. The observation contains the phase of the first
            season. The tuple is empty if the periods are hidden.
        context_dim: Length of the context vector in the observation, whose entries are in [-1, 1].
        first_step: Time of the first decision.
        reward_scale: Prior mean and standard deviation of the mean rewards, for example (0, 1) for
            the paper's prior N(0, 1), or None if they are unknown.
        context_names: Names of the entries of the context, or None for ``context_0``, ...
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
    """Past actions and rewards that every agent receives before it starts.

    The arrays have equal lengths. For many copies, the arrays have an additional first axis, with
    one entry for each copy.

    Attributes:
        t: Times of the past decisions.
        action: Actions at these times.
        reward: Rewards of these actions.
    """

    t: NDArray[np.int64]
    action: NDArray[Any]
    reward: Array

    def __getitem__(self, copy: int) -> WarmStart:
        """Return the warm start of one copy."""
        return WarmStart(self.t[copy], self.action[copy], self.reward[copy])

    def as_info(self) -> dict[str, NDArray[Any]]:
        """Return the entry ``warm_start`` of ``info``, with copies of the arrays."""
        return {"t": self.t.copy(), "action": self.action.copy(), "reward": self.reward.copy()}


@dataclass(frozen=True)
class Origin:
    """Origin of the rewards of a world that replays or simulates measurements.

    Attributes:
        source: Value of ``info["data_source"]``, such as "measurements", "simulator" or "file".
        fingerprint: SHA-256 hash of the data or the simulator that determine the rewards. Results
            with different fingerprints are not comparable.
        steps: Number of decisions for which the world has rewards.
        replay: True if all episodes are identical, regardless of the seed.
        notes: Descriptions of changes to the data, such as gaps that were filled.
    """

    source: str
    fingerprint: str
    steps: int
    replay: bool
    notes: tuple[str, ...] = ()


class RewardProcess:
    """Realisation of a world: the mean reward of every action at every time.

    Subclasses define ``period``, ``mean`` and ``optimum``. They also define ``public`` if they are
    used without a world.

    Attributes:
        period: Length of the season whose phase is observed, in steps.
        contexts: Contexts that are observed before each step and after the last step, shape
            (horizon + 1, c), or None.
        warm_start: Warm start, or None.
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
        """Time of the first step after each change, shape (k,), or None if nothing changes."""
        return None

    def mean(self, actions: Any, t: Any) -> Any:
        """Return the mean rewards of actions at times.

        Actions are indices or points, shape (...) or (..., d). Times have the shape (...) and are
        broadcast with the actions.
        """
        raise NotImplementedError

    def optimum(self, t: int) -> tuple[Any, float]:
        """Return a best action at time t and its mean reward."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class TabularProcess(RewardProcess):
    """Reward process that is stored in a table; row ``rows[t]`` describes time t.

    Attributes:
        rows: Index of the table row of each time t = 0, 1, ..., shape (first_step + horizon,).
        period: Length of the season whose phase is observed, in steps.
        contexts: Contexts that are observed before each step and after the last step, shape
            (horizon + 1, c), or None.
        warm_start: Warm start, or None.
        course: State of the season at each step, or None if the season does not change.
    """

    rows: NDArray[np.intp]
    period: float
    contexts: Array | None = None
    warm_start: WarmStart | None = None
    course: Course | None = None

    @property
    def changes(self) -> NDArray[np.int64] | None:
        """Time of the first step after each change, shape (k,), or None if nothing changes."""
        return None if self.course is None else self.course.changes

    def _check(self, table: Array) -> None:
        checks.positive("period", self.period)
        if table.ndim != 2 or not np.isfinite(table).all():
            raise ValueError(
                "the table (values or weights) must have two dimensions and finite entries, got "
                f"shape {table.shape} with {np.count_nonzero(~np.isfinite(table))} infinite or "
                "missing entries"
            )
        if len(self.rows) == 0 or self.rows.min() < 0 or self.rows.max() >= len(table):
            raise ValueError(
                "rows must have at least one entry, and only entries in "
                f"[0, {len(table) - 1}], the indices of the rows of the table"
            )


@dataclass(frozen=True, kw_only=True)
class FiniteProcess(TabularProcess):
    """Reward process with finitely many actions and the mean rewards ``values[row, action]``."""

    values: Array

    def __post_init__(self) -> None:
        self._check(self.values)

    @property
    def public(self) -> PublicInfo:
        """Public description with the number of actions and the period."""
        return PublicInfo(n_actions=self.values.shape[1], dim=1, periods=(self.period,))

    def mean(self, actions: Any, t: Any) -> Any:
        """Return the mean rewards of actions (indices) at times t."""
        return self.values[self.rows[t], actions]

    @cached_property
    def best(self) -> tuple[NDArray[np.intp], Array]:
        """Best action of every row, and the mean rewards of these actions."""
        return self.values.argmax(1), self.values.max(1)

    def optimum(self, t: int) -> tuple[int, float]:
        """Return a best action at time t and its mean reward."""
        row = self.rows.item(t)
        actions, values = self.best
        return actions.item(row), values.item(row)


@dataclass(frozen=True, kw_only=True)
class ContinuousProcess(TabularProcess):
    """Reward process on [-1, 1]^d with the mean rewards ``phi(action) . weights[row]``.

    If the features are cosines and sines with frequencies ``k omega``, and their weights are
    ``c_k`` and ``s_k``, the mean reward of an action a is ``Re sum_k (c_k - i s_k) z^k`` with
    ``z = exp(i omega a)``. This polynomial is fast to evaluate for a single action.

    Attributes:
        basis: Feature map phi with m features.
        weights: Weights of the features, shape (rows, m).
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
        """Return the mean rewards of actions, shape (..., d), at times t, shape (...)."""
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
        """Coefficients ``c_k - i s_k`` of the polynomials, highest k first, shape (rows, K)."""
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
        """Number of rows whose optima are computed in one batch, for speed."""
        return 256 if self.basis.dim == 1 else 16

    def _search(self, block: int) -> tuple[NDArray[np.float32], Array]:
        """Return the best action of each row in a block, and the mean rewards of these actions."""
        size = self._block_size
        actions, values = maximise(self.basis, self.weights[block * size : (block + 1) * size])
        return actions.astype(np.float32), values
