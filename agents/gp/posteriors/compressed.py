"""Predictions at many actions from growing data, through a few action features.

With phi the action features of each term and c its covariance in time, one after the other,

    A = L^-1 [c_i(t - s) phi_i(b)] over the observations (b, s),    f(., t) = phi . v,
    mean of v = A^T z,    covariance of v = I - A^T A,

which takes n^2 M_a operations, where asking for q actions one by one takes n^2 q.
"""

from __future__ import annotations

import numpy as np

from agents.arrays import Array
from agents.gp.actions import Actions, Box, Finite, InContext, Points
from agents.gp.basis import Basis, RankError, find_basis
from agents.gp.kernels.base import Kernel
from agents.gp.posteriors.base import Prediction
from agents.gp.posteriors.history import History

FEW_POINTS = 64
"""Points of an interval up to which there is nothing to gain."""
FEW_OBSERVATIONS = 8
"""Observations up to which there is nothing to gain."""
MAX_SHARE = 0.7
"""Features for each arm beyond which there is nothing to gain."""


def _is_smooth(kernel: Kernel, box: Box) -> bool:
    """Whether a box is an interval on which the kernel has few features."""
    factors = [factor for term in kernel.terms for factor in term.actions]
    return box.dimension == 1 and all(factor.analytic for factor in factors)


class Compressed:
    """Action features of a kernel: of the actions that are asked about, and of the observations.

    Args:
        kernel: Prior covariance.
        bases: Action features of each of its terms.
        few: Actions up to which they are better predicted one by one.
    """

    def __init__(self, kernel: Kernel, bases: list[Basis], few: int) -> None:
        self._terms, self._bases, self.few = kernel.terms, bases, few
        self._ends = np.cumsum([0, *(len(basis.weight) for basis in bases)]).tolist()
        self._asked: tuple[Array | None, Array] = (None, np.empty(0))
        self._seen, self._n = np.empty((64, self._ends[-1])), 0
        self._whitened: tuple[float, int, Array] | None = None  # t, n and A

    @classmethod
    def of(cls, kernel: Kernel, actions: Actions) -> Compressed | None:
        """None where no list of features is to be hoped for that is short beside the actions."""
        if isinstance(actions, InContext):
            return None
        if isinstance(actions, Box) and not _is_smooth(kernel, actions):
            return None
        try:
            bases = [find_basis(term, actions) for term in kernel.terms]
        except RankError:
            return None
        width = sum(len(basis.weight) for basis in bases)
        if isinstance(actions, Finite):
            return (
                cls(kernel, bases, len(actions) - 1) if width <= MAX_SHARE * len(actions) else None
            )
        return cls(kernel, bases, max(width, FEW_POINTS))

    def forget(self) -> None:
        """Take the observations for new ones."""
        self._n, self._whitened = 0, None

    def predict(self, past: History, t: float, points: Points) -> Prediction:
        """Mean and variance of f(., t)."""
        phi, A = self._of_asked(points), self._at(past, t)
        covariance = A.T @ A
        np.negative(covariance, out=covariance)
        covariance.flat[:: len(covariance) + 1] += 1.0
        variance = np.einsum("qi,qi->q", phi @ covariance, phi)
        return Prediction(phi @ (past.z @ A), np.maximum(variance, 0.0))

    def column(self, past: History, t: float, points: Points) -> Array | None:
        """L^-1 k of one action, if the last prediction was for t; None otherwise."""
        known = self._whitened
        if known is None or known[:2] != (t, len(past.t)):
            return None
        return np.asarray(known[2] @ self._phi(points)[0])

    def _at(self, past: History, t: float) -> Array:
        """A, shape (n, M_a)."""
        n = len(past.t)
        if self._whitened is None or self._whitened[:2] != (t, n):
            rows, lag = np.empty((n, self._ends[-1])), (t - past.t)[:, None]
            seen = self._of_past(past)
            for term, i, j in zip(self._terms, self._ends, self._ends[1:], strict=False):
                np.multiply(seen[:, i:j], term.over_time(lag), out=rows[:, i:j])
            self._whitened = (t, n, past.L_inverse @ rows)
        return self._whitened[2]

    def _of_asked(self, points: Points) -> Array:
        """phi of many actions; all arms, or a grid, come back at every step."""
        if self._asked[0] is not points.x:
            lasting = points.arm is not None or not points.x.flags.writeable
            self._asked = (points.x if lasting else None, self._phi(points))
        return self._asked[1]

    def _of_past(self, past: History) -> Array:
        """phi of the observations, of which only the newest are not known yet."""
        n = len(past.t)
        if n > self._n:
            if n > len(self._seen):
                self._seen = np.resize(self._seen, (2 * n, self._ends[-1]))
            self._seen[self._n : n] = self._phi(past.points_from(self._n))
            self._n = n
        return self._seen[:n]

    def _phi(self, points: Points) -> Array:
        parts = [basis(points) for basis in self._bases]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
