"""The observations an incremental posterior remembers, in arrays that grow by doubling."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from agents.arrays import Array
from agents.gp.actions import Actions, Integers, Points
from agents.gp.kernels.base import Kernel


class History:
    """Actions, times, rewards, weights, and the factor L^-1 of (K + noise)^-1 with z = L^-1 y."""

    def __init__(self, actions: Actions, capacity: int = 64) -> None:
        self._actions, self._n, self._limit = actions, 0, 64
        self._chosen = actions.buffer(capacity)
        self._columns = np.zeros((4, capacity))  # t, y, weight and z
        self._L_inverse = np.zeros((capacity, capacity))

    @property
    def points(self) -> Points:
        """The actions chosen, n points."""
        return self.points_from(0)

    def points_from(self, first: int) -> Points:
        """The same without the first few."""
        return self._actions.points(self._chosen[first : self._n])

    @property
    def t(self) -> Array:
        """Times, shape (n,)."""
        return self._columns[0, : self._n]

    @property
    def y(self) -> Array:
        """Rewards, shape (n,)."""
        return self._columns[1, : self._n]

    @property
    def weight(self) -> Array:
        """What each observation counts for: its noise variance is sigma^2 / weight, shape (n,)."""
        return self._columns[2, : self._n]

    @property
    def z(self) -> Array:
        """L^-1 y, shape (n,)."""
        return self._columns[3, : self._n]

    @property
    def L_inverse(self) -> Array:
        """L^-1, lower triangular, shape (n, n)."""
        return self._L_inverse[: self._n, : self._n]

    @property
    def full(self) -> bool:
        """Whether it is time to look for something to forget."""
        return self._n >= self._limit

    def append(
        self, action: Any, t: float, y: float, weight: float, z: float, row: Array, last: float
    ) -> None:
        """Add an observation, and the row (row, last) to L^-1."""
        n = self._n
        self._reserve(n + 1)
        self._chosen[n], self._columns[:, n] = action, (t, y, weight, z)
        self._L_inverse[n, :n], self._L_inverse[n, n] = row, last
        self._n = n + 1

    def forget(self, window: float, kernel: Kernel, noise_variance: float) -> None:
        """Drop what is older than the window, and factorise the rest afresh.

        Called when a third of the observations may be stale, so O(n^3) here is O(n^2) a step.
        """
        self.keep(np.flatnonzero(self.t >= self.t.max() - window), kernel, noise_variance)
        self._limit = max(64, self._n + self._n // 2)

    def keep(self, which: Integers, kernel: Kernel, noise_variance: float) -> None:
        """Drop all observations but these."""
        n = self._n = len(which)
        self._chosen[:n], self._columns[:, :n] = self._chosen[which], self._columns[:, which]
        self.refactor(kernel, noise_variance)

    def refactor(self, kernel: Kernel, noise_variance: float) -> None:
        """L^-1 and z from the observations alone, O(n^3)."""
        if not self._n:
            return
        K = kernel.gram(self.points, self.t, self.points, self.t)
        K.flat[:: self._n + 1] += noise_variance / self.weight
        self.L_inverse[:] = solve_triangular(cholesky(K, lower=True), np.eye(self._n), lower=True)
        self.z[:] = self.L_inverse @ self.y

    def _reserve(self, size: int) -> None:
        """Make room by doubling: copying then costs O(1) per entry in the long run."""
        old = len(self._chosen)
        if size <= old:
            return
        extra = max(old, size - old)
        self._chosen = np.concatenate((self._chosen, self._actions.buffer(extra)))
        self._columns = np.pad(self._columns, ((0, 0), (0, extra)))
        self._L_inverse = np.pad(self._L_inverse, ((0, extra), (0, extra)))
