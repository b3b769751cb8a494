"""The episodes of many copies in one set of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from periodic_envs.arrays import Array
from periodic_envs.episode import Setup, phase_table
from periodic_envs.fields.basis import FourierBasis
from periodic_envs.fields.maximise import maximise
from periodic_envs.process import RewardProcess, WarmStart
from periodic_envs.world import Draws, OtherDraws


@dataclass(frozen=True)
class Batch:
    """Everything random about one episode of every copy.

    Attributes:
        processes: the worlds; copy i is asked about action i.
        first_step: time of the first decision.
        periods: period of each copy, shape (n,), or of all, shape ().
        noise: errors to add, shape (T, n), or rewards, shape (T, n, actions).
        table: observations, shape (T + 1, n, fields).
        copies: 0 .. n - 1.
        warm_start: prior information of all copies, or None.
    """

    processes: _FiniteBatch | _ContinuousBatch | _AnyBatch
    first_step: int
    periods: Array
    noise: Array
    table: Array
    copies: NDArray[np.intp]
    warm_start: WarmStart | None

    def reward(self, mean: Array, actions: NDArray[Any], step: int) -> Array:
        """Rewards received at a step."""
        noise = self.noise[step]
        rewards: Array = mean + noise if noise.ndim == 1 else noise[self.copies, actions]
        return rewards


def draw_batch(setup: Setup, rngs: Sequence[np.random.Generator]) -> Batch:
    """Draw an episode of every copy, each from its own generator."""
    draws = setup.world.draw_many(rngs, setup.horizon)
    first, times = setup.public.first_step, setup.times
    periods = draws.periods
    if (periods == periods[0]).all():
        periods = periods[0]
    return Batch(
        _processes(draws),
        first,
        periods,
        setup.noise.draw_many(rngs, draws, times[:-1]),
        _observations(setup, draws, periods),
        np.arange(len(rngs)),
        draws.warm_start,
    )


def _observations(setup: Setup, draws: Draws | OtherDraws, periods: Array) -> Array:
    copies = len(draws)
    if np.ndim(periods) == 0 or not setup.reveal_period:
        period = float(periods) if setup.reveal_period else None
        shared = phase_table(setup.public.first_step, setup.horizon, period)[:, None]
        table = np.broadcast_to(shared, (len(shared), copies, shared.shape[2]))
    else:
        angles = 2.0 * np.pi * setup.times[:, None] / periods
        clock = np.broadcast_to(setup.times[:, None], angles.shape)
        table = np.stack([clock, np.cos(angles), np.sin(angles)], axis=2)
    if draws.contexts is None:
        return table
    return np.concatenate([table, draws.contexts.swapaxes(0, 1)], axis=2)


def _processes(draws: Draws | OtherDraws) -> _FiniteBatch | _ContinuousBatch | _AnyBatch:
    if not isinstance(draws, Draws):
        return _AnyBatch(draws)
    if draws.bases is None:
        return _FiniteBatch(draws)
    first = draws.bases[0]
    fundamental = first.fundamental if isinstance(first, FourierBasis) else None
    if fundamental is None or any(basis is not first for basis in draws.bases):
        return _ContinuousBatch(draws)
    return _LatticeBatch(draws, fundamental)


class _TabularBatch:
    """Copies with tables; optima are searched when a time is first asked for."""

    def __init__(self, draws: Draws) -> None:
        self._draws, self._tables = draws, draws.tables
        self._copies = np.arange(len(draws))
        self._optima: dict[bytes, tuple[NDArray[Any], Array]] = {}

    def _rows(self, t: int) -> Any:
        """The table row of all copies at time t, or one per copy, shape (n,)."""
        rows = self._draws.rows
        return rows[:, t] if rows.ndim == 2 else rows[t]

    def _at(self, t: int) -> Array:
        """Table entries (n, ...) at time t."""
        row = self._rows(t)
        entries: Array = self._tables[:, row] if row.ndim == 0 else self._tables[self._copies, row]
        return entries

    def optimum(self, t: int) -> tuple[NDArray[Any], Array]:
        """Best actions (n, ...) and their mean rewards (n,)."""
        key = self._rows(t).tobytes()
        if key not in self._optima:
            self._optima[key] = self._search(self._at(t))
        actions, values = self._optima[key]
        return actions.copy(), values.copy()

    def _search(self, entries: Array) -> tuple[NDArray[Any], Array]:
        raise NotImplementedError


class _FiniteBatch(_TabularBatch):
    """Copies of a finite world: look-up in tables (n, rows, actions)."""

    def mean(self, actions: NDArray[Any], t: int) -> Array:
        """Mean rewards (n,)."""
        mean: Array = self._tables[self._copies, self._rows(t), actions]
        return mean

    def _search(self, entries: Array) -> tuple[NDArray[Any], Array]:
        return entries.argmax(1), entries.max(1)


class _ContinuousBatch(_TabularBatch):
    """Copies of a continuous world, with weights (n, rows, m)."""

    def __init__(self, draws: Draws) -> None:
        super().__init__(draws)
        assert draws.bases is not None
        self._bases = draws.bases
        self._share = all(basis is self._bases[0] for basis in self._bases)

    def mean(self, actions: NDArray[Any], t: int) -> Array:
        """Mean rewards (n,)."""
        points = actions.astype(np.float64)
        if self._share:
            features = self._bases[0](points)
        else:
            pairs = zip(self._bases, points, strict=True)
            features = np.stack([basis(point) for basis, point in pairs])
        mean: Array = np.einsum("nm,nm->n", features, self._at(t))
        return mean

    def _search(self, entries: Array) -> tuple[NDArray[Any], Array]:
        """The best action of every copy, all at once where they share the feature map."""
        if self._share:
            actions, values = maximise(self._bases[0], entries)
        else:
            pairs = zip(self._bases, entries, strict=True)
            found = [maximise(basis, row[None]) for basis, row in pairs]
            actions = np.concatenate([a for a, _ in found])
            values = np.concatenate([v for _, v in found])
        return actions.astype(np.float32), values


class _LatticeBatch(_ContinuousBatch):
    """Copies of a one-dimensional world, as polynomials in ``exp(i omega a)``."""

    def __init__(self, draws: Draws, fundamental: float) -> None:
        super().__init__(draws)
        self._half_fundamental = fundamental / 2.0
        depth = draws.tables.shape[1]
        self._harmonics = draws.tables.shape[2] // 2
        self._repeats = depth < draws.rows.shape[-1]
        self._known: list[NDArray[np.complex128] | None] = [None] * depth
        self._shown: NDArray[np.complex128] | None = None
        self._shown_rows = np.empty(0, dtype=np.intp)

    def mean(self, actions: NDArray[Any], t: int) -> Array:
        """Mean rewards (n,)."""
        # cos and sin from the tangent of half the angle, which stays below pi / 2.
        half = np.tan(self._half_fundamental * actions[:, 0].astype(np.float64))
        squared = half * half
        below = 1.0 / (1.0 + squared)
        z = np.empty(len(half), dtype=np.complex128)
        np.multiply(1.0 - squared, below, out=z.real)
        np.multiply(2.0 * half, below, out=z.imag)
        coefficients = self._current(t)
        total = coefficients[-1] * z
        for coefficient in coefficients[-2:0:-1]:
            total += coefficient
            total *= z
        mean: Array = total.real + coefficients[0].real
        return mean

    def _current(self, t: int) -> NDArray[np.complex128]:
        """Coefficients (harmonics, n) at time t."""
        row = self._rows(t)
        if row.ndim == 0:
            known: NDArray[np.complex128] | None = self._known[row]
            if known is None:
                known = self._coefficients(self._tables[:, row])
                if self._repeats:
                    self._known[row] = known
            return known
        if self._shown is None:
            self._shown, self._shown_rows = self._coefficients(self._at(t)), row
        else:
            # Copies change at times of their own, and seldom: move only those that do.
            changed = np.flatnonzero(row != self._shown_rows)
            self._shown[:, changed] = self._coefficients(self._tables[changed, row[changed]])
            self._shown_rows = row
        return self._shown

    def _coefficients(self, weights: Array) -> NDArray[np.complex128]:
        """Weights (n, m), harmonics first: each step of Horner's rule reads contiguous memory."""
        on_cos, on_sin = weights[:, : self._harmonics].T, weights[:, self._harmonics :].T
        coefficients: NDArray[np.complex128] = np.empty(on_cos.shape, dtype=np.complex128)
        coefficients.real = on_cos
        np.negative(on_sin, out=coefficients.imag)
        return coefficients


class _AnyBatch:
    """Copies of any other process, one by one."""

    def __init__(self, processes: Sequence[RewardProcess]) -> None:
        self._processes = processes

    def mean(self, actions: NDArray[Any], t: int) -> Array:
        """Mean rewards (n,)."""
        pairs = zip(self._processes, actions, strict=True)
        return np.array([float(process.mean(action, t)) for process, action in pairs])

    def optimum(self, t: int) -> tuple[NDArray[Any], Array]:
        """Best actions (n, ...) and their mean rewards (n,)."""
        actions, values = zip(*(process.optimum(t) for process in self._processes), strict=True)
        return np.array(actions), np.array(values)
