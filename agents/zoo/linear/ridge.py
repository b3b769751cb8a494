"""Weighted ridge regression, for agents that model the mean reward as linear in features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack

from agents.arrays import Array


class Ridge:
    """Weighted least squares on observations (x, y, w), with a penalty lam on the coefficients.

    With ``V = lam I + sum w x x'`` and ``W = lam I + sum w^2 x x'``, the coefficients are
    ``theta = V^-1 sum w x (y - centre)``. The deviation of a prediction is
    ``|x| = sqrt(x' V^-1 W V^-1 x)``, in units of the noise; if all weights are 1, it equals
    ``sqrt(x' V^-1 x)``. Only sums are stored, so the order of the observations does not matter.
    After a change, the Cholesky factor of ``V`` is computed only when it is needed.

    Args:
        dim: Number of features.
        lam: Penalty, positive.
    """

    def __init__(self, dim: int, lam: float) -> None:
        self._lam = lam
        self._gram = np.zeros((dim, dim))
        self._gram2: Array | None = None  # sum w^2 x x'; None while all weights are 1
        self._moments = np.zeros((dim, 2))  # sums of w x y and of w x
        self.squared_weights = 0.0
        self._factor: Any = None
        self._solved = np.zeros((dim, 2))

    @property
    def dim(self) -> int:
        """Number of features."""
        return len(self._gram)

    def add(self, x: Array, y: float, weight: float = 1.0) -> None:
        """Add an observation, or remove one by adding it again with the negative of its weight."""
        outer = np.outer(x, x)
        squared = weight * abs(weight)
        if self._gram2 is None and abs(weight) != 1.0:
            self._gram2 = self._gram.copy()
        if self._gram2 is not None:
            self._gram2 += squared * outer
        self._gram += weight * outer
        self._moments[:, 0] += weight * y * x
        self._moments[:, 1] += weight * x
        self.squared_weights += squared
        self._factor = None

    def discount(self, factor: float) -> None:
        """Multiply all weights by a factor."""
        if self._gram2 is None:
            self._gram2 = self._gram.copy()
        self._gram2 *= factor**2
        self._gram *= factor
        self._moments *= factor
        self.squared_weights *= factor**2
        self._factor = None

    def coefficients(self, centre: float = 0.0) -> Array:
        """Return theta for rewards from which ``centre`` is subtracted."""
        self._refresh()
        theta: Array = self._solved[:, 0] - centre * self._solved[:, 1]
        return theta

    def predict(self, x: Array, centre: float = 0.0) -> tuple[Array, Array]:
        """Return mean rewards (including ``centre``) and deviations; ``x`` has shape (n, d)."""
        mean = centre + x @ self.coefficients(centre)
        solved = cho_solve(self._factor, x.T, check_finite=False)
        if self._gram2 is None:
            variance = (x.T * solved).sum(axis=0)
        else:
            variance = (solved * (self._gram2 @ solved + self._lam * solved)).sum(axis=0)
        return mean, np.sqrt(np.maximum(variance, 0.0))

    def solved(self) -> tuple[Array, Array]:
        """Return V^-1, and its products with the sums of w x y and of w x, shape (d, 2)."""
        # LAPACK is called directly, because SciPy's functions spend most of their time on checks.
        v = self._gram + self._lam * np.eye(self.dim)
        factor, _ = lapack.dpotrf(v, lower=1, clean=0)
        inverse: Array = lapack.dpotrs(factor, np.eye(self.dim), lower=1)[0]
        return inverse, np.asarray(lapack.dpotrs(factor, self._moments, lower=1)[0])

    def _refresh(self) -> None:
        """Factor V if it has changed, and solve for the coefficients."""
        if self._factor is None:
            v = self._gram + self._lam * np.eye(self.dim)
            self._factor = cho_factor(v, lower=True, overwrite_a=True, check_finite=False)
            self._solved = cho_solve(self._factor, self._moments, check_finite=False)


def ellipsoid_radius(ridge: Ridge, *, lam: float, delta: float, longest: float = 1.0) -> float:
    """Return the part of the confidence radius that is due to the noise, in units of sigma.

    The result is sqrt(2 log(1 / delta) + d log(1 + L^2 sum w^2 / (lam d))), as in
    [@abbasi2011improved] and, with weights, in Theorem 1 of [@russac2019weighted]. ``longest`` is
    L, the largest norm of a feature vector.
    """
    spread = longest**2 * max(ridge.squared_weights, 0.0) / (lam * ridge.dim)
    return math.sqrt(2.0 * math.log(1.0 / delta) + ridge.dim * math.log1p(spread))


class RidgeTable:
    """Regressions of all arms, whose predictions are computed by one matrix product.

    The table is efficient if only a few regressions change between predictions. ``V_a^-1`` and the
    coefficients are stored for every arm. After a reward of an arm, the values of this arm are
    computed again from the sums in its :class:`Ridge`, so that round-off does not accumulate. Arms
    without rewards have predictions that are equal to the last bit, so that ties among these arms
    are recognised.

    Args:
        ridges: One regression for each arm, all of the same dimension and with weights of 1.
    """

    def __init__(self, ridges: Sequence[Ridge]) -> None:
        count, dim = len(ridges), ridges[0].dim
        self._ridges = ridges
        self._inverse = np.zeros((count, dim, dim))
        self._solved = np.zeros((count, dim, 2))
        self._stale = set(range(count))

    def add(self, arm: int, x: Array, y: float) -> None:
        """Add an observation of an arm."""
        self._ridges[arm].add(x, y)
        self._stale.add(arm)

    def predict(self, x: Array, centre: float = 0.0) -> tuple[Array, Array]:
        """Return each arm's mean reward and deviation, shape (n,), for features of shape (d,)."""
        for arm in self._stale:
            self._inverse[arm], self._solved[arm] = self._ridges[arm].solved()
        self._stale.clear()
        theta = self._solved[:, :, 0] - centre * self._solved[:, :, 1]
        mean = centre + theta @ x
        variance = ((self._inverse @ x) * x).sum(axis=1)
        return mean, np.sqrt(np.maximum(variance, 0.0))
