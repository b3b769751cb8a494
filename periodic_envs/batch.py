"""The episodes of many copies in one set of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from periodic_envs.arrays import Array
from periodic_envs.episode import Episode
from periodic_envs.fields.maximise import maximise
from periodic_envs.process import (
    ContinuousProcess,
    FiniteProcess,
    LatticeProcess,
    RewardProcess,
)


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
    """

    processes: _FiniteBatch | _ContinuousBatch | _AnyBatch
    first_step: int
    periods: Array
    noise: Array
    table: Array
    copies: NDArray[np.intp]

    def reward(self, mean: Array, actions: NDArray[Any], step: int) -> Array:
        """Rewards received at a step."""
        noise = self.noise[step]
        rewards: Array = mean + noise if noise.ndim == 1 else noise[self.copies, actions]
        return rewards


def stack(episodes: list[Episode]) -> Batch:
    """Put the episodes of all copies into one batch."""
    periods = np.array([episode.process.period for episode in episodes])
    return Batch(
        _stack_processes([episode.process for episode in episodes]),
        episodes[0].first_step,
        periods[0] if (periods == periods[0]).all() else periods,
        np.stack([episode.noise for episode in episodes], axis=1),
        np.stack([episode.observations for episode in episodes], axis=1),
        np.arange(len(episodes)),
    )


def _stack_processes(
    processes: list[RewardProcess],
) -> _FiniteBatch | _ContinuousBatch | _AnyBatch:

    finite = [p for p in processes if isinstance(p, FiniteProcess)]
    if len(finite) == len(processes):
        return _FiniteBatch(finite)
    boxes = [p for p in processes if isinstance(p, ContinuousProcess)]
    lattices = [p for p in boxes if isinstance(p, LatticeProcess)]
    if len(lattices) == len(processes) and all(p.basis is lattices[0].basis for p in lattices):
        return _LatticeBatch(lattices)
    return _ContinuousBatch(boxes) if len(boxes) == len(processes) else _AnyBatch(processes)


class _Rows:
    """Which table row each copy is in; mostly all copies are in the same."""

    def __init__(self, processes: Sequence[Any]) -> None:
        self.depth = max(int(p.rows.max()) + 1 for p in processes)
        self.copies = np.arange(len(processes))
        self._shared: NDArray[np.intp] = processes[0].rows
        differ = any(not np.array_equal(p.rows, self._shared) for p in processes)
        self._each = np.stack([p.rows for p in processes]) if differ else None

    def at(self, t: int) -> Any:
        """The row of all copies at time t, or one row per copy, shape (n,)."""
        return self._each[:, t] if self._each is not None else self._shared[t]

    def take(self, table: NDArray[Any], t: int) -> NDArray[Any]:
        """Entries (n, ...) at time t of a table (depth, n, ...)."""
        row = self.at(t)
        entries: NDArray[Any] = table[row] if row.ndim == 0 else table[row, self.copies]
        return entries

    def stack(self, tables: list[NDArray[Any]]) -> NDArray[Any]:
        """Tables (rows, ...) of all copies in one (depth, n, ...), zero where a copy has less."""
        shape = (self.depth, len(tables), *tables[0].shape[1:])
        if all(table is tables[0] for table in tables):  # replayed data: one table for all
            return np.broadcast_to(tables[0][: self.depth, None], shape)
        stacked = np.zeros(shape, dtype=tables[0].dtype)
        for i, table in enumerate(tables):
            rows = min(len(table), self.depth)  # a recording may be longer than the episode
            stacked[:rows, i] = table[:rows]
        return stacked


class _FiniteBatch:
    """Copies of a finite world: look-up in a table (depth, n, actions)."""

    def __init__(self, processes: list[FiniteProcess]) -> None:
        self._rows = _Rows(processes)
        self._values = self._rows.stack([p.values for p in processes])
        self._best_action, self._best_value = self._best(processes)

    def _best(self, processes: list[FiniteProcess]) -> tuple[NDArray[np.intp], Array]:
        if all(process.values is processes[0].values for process in processes):
            shape = self._values.shape[:2]
            action, value = (best[: shape[0], None] for best in processes[0].best)
            return np.broadcast_to(action, shape), np.broadcast_to(value, shape)
        return self._values.argmax(2), self._values.max(2)

    def mean(self, actions: NDArray[Any], t: int) -> Array:
        """Mean rewards (n,)."""
        mean: Array = self._rows.take(self._values, t)[self._rows.copies, actions]
        return mean

    def optimum(self, t: int) -> tuple[NDArray[Any], Array]:
        """Best actions (n,) and their mean rewards (n,)."""
        best, value = (self._rows.take(b, t) for b in (self._best_action, self._best_value))
        return best.copy(), value.copy()


class _ContinuousBatch:
    """Copies of a continuous world; optima are searched when a time is first reached."""

    def __init__(self, processes: Sequence[ContinuousProcess]) -> None:
        self._bases = [p.basis for p in processes]
        self._rows = _Rows(processes)
        self._weights = self._rows.stack([p.weights for p in processes])
        self._share = all(basis is self._bases[0] for basis in self._bases)
        self._optima: dict[bytes, tuple[NDArray[np.float32], Array]] = {}

    def mean(self, actions: NDArray[Any], t: int) -> Array:
        """Mean rewards (n,)."""
        points = actions.astype(np.float64)
        if self._share:
            features = self._bases[0](points)
        else:
            pairs = zip(self._bases, points, strict=True)
            features = np.stack([basis(point) for basis, point in pairs])
        mean: Array = np.einsum("nm,nm->n", features, self._rows.take(self._weights, t))
        return mean

    def optimum(self, t: int) -> tuple[NDArray[Any], Array]:
        """Best actions (n, d) and their mean rewards (n,)."""
        key = self._rows.at(t).tobytes()
        if key not in self._optima:
            self._optima[key] = self._search(self._rows.take(self._weights, t))
        actions, values = self._optima[key]
        return actions.copy(), values.copy()

    def _search(self, weights: Array) -> tuple[NDArray[np.float32], Array]:
        """The best action of every copy, all at once where they share the feature map."""
        if self._share:
            actions, values = maximise(self._bases[0], weights)
        else:
            pairs = zip(self._bases, weights, strict=True)
            found = [maximise(basis, row[None]) for basis, row in pairs]
            actions = np.concatenate([a for a, _ in found])
            values = np.concatenate([v for _, v in found])
        return actions.astype(np.float32), values


class _LatticeBatch(_ContinuousBatch):
    """Copies of a one-dimensional world, as polynomials in ``exp(i omega a)``."""

    def __init__(self, processes: list[LatticeProcess]) -> None:
        super().__init__(processes)
        self._half_fundamental = processes[0].fundamental / 2.0
        half = self._weights.shape[2] // 2
        complex_weights = self._weights[:, :, :half] - 1j * self._weights[:, :, half:]
        # Harmonics before copies: each step of Horner's rule reads one contiguous row.
        self._coefficients = np.ascontiguousarray(np.moveaxis(complex_weights, 2, 1))
        self._shown: NDArray[np.complex128] = self._coefficients[0].copy()
        self._shown_rows = np.zeros(len(processes), dtype=np.intp)

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
        row = self._rows.at(t)
        if row.ndim == 0:
            self._shown = self._coefficients[row]
        else:
            # Copies change at times of their own, and seldom: move only those that do.
            changed = np.flatnonzero(row != self._shown_rows)
            self._shown[:, changed] = self._coefficients[row[changed], :, changed].T
            self._shown_rows = row
        return self._shown


class _AnyBatch:
    """Copies of any other process, one by one."""

    def __init__(self, processes: list[RewardProcess]) -> None:
        self._processes = processes

    def mean(self, actions: NDArray[Any], t: int) -> Array:
        """Mean rewards (n,)."""
        pairs = zip(self._processes, actions, strict=True)
        return np.array([float(process.mean(action, t)) for process, action in pairs])

    def optimum(self, t: int) -> tuple[NDArray[Any], Array]:
        """Best actions (n, ...) and their mean rewards (n,)."""
        actions, values = zip(*(process.optimum(t) for process in self._processes), strict=True)
        return np.array(actions), np.array(values)
