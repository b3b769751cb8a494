"""Predictions at many points of an interval, from growing data, through a few action features.

With phi the action features of each term and c its covariance in time, one after the other,

    A = L^-1 [c_i(t - s) phi_i(b)] over the observations (b, s),    f(., t) = phi . v,
    mean of v = A^T z,    covariance of v = I - A^T A,

which takes n^2 M_a operations, where asking for q points one by one takes n^2 q.
"""

from __future__ import annotations

import numpy as np

from agents.arrays import Array
from agents.gp.actions import Actions, Box, Points
from agents.gp.basis import Basis, RankError, find_basis
from agents.gp.kernels.base import Kernel
from agents.gp.posteriors.base import Prediction
from agents.gp.posteriors.history import History

FEW_POINTS = 64
"""Points up to which there is nothing to gain."""


class Compressed:
    """Action features of a kernel over an interval, and those of the observations."""

    def __init__(self, kernel: Kernel, bases: list[Basis]) -> None:
        self._terms, self._bases = kernel.terms, bases
        self.width = sum(len(basis.weight) for basis in bases)
        self._grid: tuple[Array | None, Array] = (None, np.empty(0))
        self._seen, self._n = np.empty((64, self.width)), 0

    @classmethod
    def of(cls, kernel: Kernel, actions: Actions) -> Compressed | None:
        """None where actions are not an interval, or no short list of features is to be hoped."""
        if not isinstance(actions, Box) or actions.dimension > 1:
            return None
        if not all(factor.analytic for term in kernel.terms for factor in term.actions):
            return None
        try:
            return cls(kernel, [find_basis(term, actions) for term in kernel.terms])
        except RankError:
            return None

    def forget(self) -> None:
        """Take the observations for new ones."""
        self._n = 0

    def predict(self, past: History, t: float, points: Points) -> Prediction:
        """Mean and variance of f(., t)."""
        phi, lag = self._of_grid(points), t - past.t
        rows = self._of_past(past.points).copy()
        start = 0
        for term, basis in zip(self._terms, self._bases, strict=True):
            stop = start + len(basis.weight)
            rows[:, start:stop] *= term.over_time(lag)[:, None]
            start = stop
        A = past.L_inverse @ rows
        covariance = A.T @ A
        np.negative(covariance, out=covariance)
        covariance.flat[:: self.width + 1] += 1.0
        variance = np.einsum("qi,qi->q", phi @ covariance, phi)
        return Prediction(phi @ (past.z @ A), np.maximum(variance, 0.0))

    def _of_grid(self, points: Points) -> Array:
        """phi of many points; a grid comes back at every step."""
        if self._grid[0] is not points.x:
            self._grid = (None if points.x.flags.writeable else points.x, self._phi(points))
        return self._grid[1]

    def _of_past(self, points: Points) -> Array:
        """phi of the observations, of which only the newest are not known yet."""
        n = len(points.x)
        if n > len(self._seen):
            self._seen = np.resize(self._seen, (2 * n, self.width))
        if n > self._n:
            self._seen[self._n : n] = self._phi(Points(points.x[self._n : n]))
            self._n = n
        return self._seen[:n]

    def _phi(self, points: Points) -> Array:
        return np.concatenate([basis(points) for basis in self._bases], axis=1)
