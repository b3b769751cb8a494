"""Ridge regression with weights, for the agents whose rewards are linear in features."""

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
    ``theta = V^-1 sum w x (y - centre)`` and the deviation of a prediction, in units of the noise,
    ``|x| = sqrt(x' V^-1 W V^-1 x)``; with all weights 1 that is ``sqrt(x' V^-1 x)``. Only sums are
    kept, so that order does not matter; ``V`` is factored (Cholesky) when it has changed.

    Args:
        dim: Number of features.
        lam: The penalty, positive.
    """

    def __init__(self, dim: int, lam: float) -> None:
        self._lam = lam
        self._gram = np.zeros((dim, dim))
        self._gram2: Array | None = None  # with squared weights, once some are not 1
        self._moments = np.zeros((dim, 2))  # sums of w x y and of w x
        self.squared_weights = 0.0
        self._factor: Any = None
        self._solved = np.zeros((dim, 2))

    @property
    def dim(self) -> int:
        """Number of features."""
        return len(self._gram)

    def add(self, x: Array, y: float, weight: float = 1.0) -> None:
        """Take an observation in; with a negative weight, one of that weight out again."""
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
        """Multiply all weights."""
        if self._gram2 is None:
            self._gram2 = self._gram.copy()
        self._gram2 *= factor**2
        self._gram *= factor
        self._moments *= factor
        self.squared_weights *= factor**2
        self._factor = None

    def coefficients(self, centre: float = 0.0) -> Array:
        """Return theta, for rewards counted from ``centre``."""
        self._refresh()
        theta: Array = self._solved[:, 0] - centre * self._solved[:, 1]
        return theta

    def predict(self, x: Array, centre: float = 0.0) -> tuple[Array, Array]:
        """Return mean rewards (``centre`` included) and deviations for features (n, d)."""
        mean = centre + x @ self.coefficients(centre)
        solved = cho_solve(self._factor, x.T, check_finite=False)
        if self._gram2 is None:
            variance = (x.T * solved).sum(axis=0)
        else:
            variance = (solved * (self._gram2 @ solved + self._lam * solved)).sum(axis=0)
        return mean, np.sqrt(np.maximum(variance, 0.0))

    def solved(self) -> tuple[Array, Array]:
        """Return V^-1, and its products with the sums of w x y and of w x, shape (d, 2)."""
        # Straight to LAPACK: SciPy's own would spend most of the time on checks.
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
    """Return the radius of the confidence ellipsoid in units of the noise, without the penalty.

    sqrt(2 log(1 / delta) + d log(1 + L^2 sum w^2 / (lam d))): [@abbasi2011improved], and with
    weights Theorem 1 of [@russac2019weighted]. ``longest`` is L, the largest norm of a feature.
    """
    spread = longest**2 * max(ridge.squared_weights, 0.0) / (lam * ridge.dim)
    return math.sqrt(2.0 * math.log(1.0 / delta) + ridge.dim * math.log1p(spread))


class RidgeTable:
    """Answers of many regressions in one product, where a step changes only one of them.

    ``V_a^-1`` and the coefficients are kept for every arm and computed again, from the sums of its
    :class:`Ridge`, when a reward of that arm has come: rounding does not pile up. Arms without
    rewards have equal answers to the last bit, so that ties among them are ties.

    Args:
        ridges: One for each arm, all of one dimension, with weights of 1.
    """

    def __init__(self, ridges: Sequence[Ridge]) -> None:
        count, dim = len(ridges), ridges[0].dim
        self._ridges = ridges
        self._inverse = np.zeros((count, dim, dim))
        self._solved = np.zeros((count, dim, 2))
        self._stale = set(range(count))

    def add(self, arm: int, x: Array, y: float) -> None:
        """Take an observation of an arm in."""
        self._ridges[arm].add(x, y)
        self._stale.add(arm)

    def predict(self, x: Array, centre: float = 0.0) -> tuple[Array, Array]:
        """Return each arm's mean reward and its deviation (n,), for one row of features (d,)."""
        for arm in self._stale:
            self._inverse[arm], self._solved[arm] = self._ridges[arm].solved()
        self._stale.clear()
        theta = self._solved[:, :, 0] - centre * self._solved[:, :, 1]
        mean = centre + theta @ x
        variance = ((self._inverse @ x) * x).sum(axis=1)
        return mean, np.sqrt(np.maximum(variance, 0.0))
