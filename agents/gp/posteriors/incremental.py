"""Incremental posterior, exact for any kernel, at a cost of O(n^2) per step.

With L the Cholesky factor of K + sigma^2 I, a new observation appends one row to L^-1,

    v = L^-1 k,   s = k(x, x) + sigma^2 - v . v,   row = [-(v^T L^-1), 1] / sqrt(s),

which takes only matrix-vector products. Appending a row to L would take triangular solves, which
are four times slower.

Predictions at many actions use a few action features. Term i has the features phi_i and the
covariance c_i in time. With the features of all terms concatenated to phi,

    A = L^-1 [c_i(t - s) phi_i(b)] over the observations (b, s),    f(., t) = phi . v,
    mean of v = A^T z,    covariance of v = I - A^T A,

which takes O(n^2 M_a) operations. Direct predictions at q actions would take O(n^2 q) operations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from agents.arrays import Array, Rng
from agents.checks import finite_observation, positive_weight
from agents.gp.actions import Actions, Box, Finite, InContext, Integers, Points
from agents.gp.features import Basis, RankError, find_basis
from agents.gp.kernels.action import EmpiricalCovariance
from agents.gp.kernels.base import Kernel, Sum, Term
from agents.gp.posteriors.base import Gradient, Prediction, gaussian_sample
from agents.gp.relevance import Relevance, overlap


class Observations:
    """Observations with the factor L^-1 of (K + noise)^-1 and z = L^-1 y."""

    def __init__(self, actions: Actions, capacity: int = 64) -> None:
        self._actions, self._n, self._limit = actions, 0, 64
        self._chosen = actions.buffer(capacity)
        self._columns = np.zeros((4, capacity))  # t, y, weight and z
        self._L_inverse = np.zeros((capacity, capacity))

    @property
    def points(self) -> Points:
        """Chosen actions, n points."""
        return self.points_from(0)

    def points_from(self, first: int) -> Points:
        """Return the chosen actions, starting at an index."""
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
        """Weights of the observations: the noise variance is sigma^2 / weight, shape (n,)."""
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
        """True if there are so many observations that old ones should be dropped."""
        return self._n >= self._limit

    def append(
        self, action: Any, t: float, y: float, weight: float, z: float, row: Array, last: float
    ) -> None:
        """Add an observation to the arrays, and the row (row, last) to L^-1."""
        n = self._n
        self._reserve(n + 1)
        self._chosen[n], self._columns[:, n] = action, (t, y, weight, z)
        self._L_inverse[n, :n], self._L_inverse[n, n] = row, last
        self._n = n + 1

    def forget(self, window: float, kernel: Kernel, noise_variance: float) -> None:
        """Drop observations older than the window, and refactorise.

        This method is called when a third of the observations may be stale, so its cost of O(n^3)
        amortises to O(n^2) per step.
        """
        self.keep(np.flatnonzero(self.t >= self.t.max() - window), kernel, noise_variance)
        self._limit = max(64, self._n + self._n // 2)

    def keep(self, which: Integers, kernel: Kernel, noise_variance: float) -> None:
        """Drop all observations except those with the given indices."""
        n = self._n = len(which)
        self._chosen[:n], self._columns[:, :n] = self._chosen[which], self._columns[:, which]
        self.refactor(kernel, noise_variance)

    def refactor(self, kernel: Kernel, noise_variance: float) -> None:
        """Recompute L^-1 and z from the observations, O(n^3)."""
        if not self._n:
            return
        K = kernel.gram(self.points, self.t, self.points, self.t)
        K.flat[:: self._n + 1] += noise_variance / self.weight
        self.L_inverse[:] = solve_triangular(cholesky(K, lower=True), np.eye(self._n), lower=True)
        self.z[:] = self.L_inverse @ self.y

    def _reserve(self, size: int) -> None:
        """Grow the arrays by doubling, at an amortised cost of O(1) per entry."""
        old = len(self._chosen)
        if size <= old:
            return
        extra = max(old, size - old)
        self._chosen = np.concatenate((self._chosen, self._actions.buffer(extra)))
        self._columns = np.pad(self._columns, ((0, 0), (0, extra)))
        self._L_inverse = np.pad(self._L_inverse, ((0, extra), (0, extra)))


FEW_POINTS = 64
"""Number of points of an interval up to which predictions do not use ``Compressed``."""
FEW_OBSERVATIONS = 8
"""Number of observations up to which predictions do not use ``Compressed``."""
MAX_SHARE = 0.7
"""Number of features per arm above which predictions do not use ``Compressed``."""


def _is_smooth(kernel: Kernel, box: Box) -> bool:
    """Return whether a box is an interval on which the kernel has few features."""
    factors = [factor for term in kernel.terms for factor in term.actions]
    return box.dimension == 1 and all(factor.analytic for factor in factors)


class Compressed:
    """Cache of the action features of a kernel, for predictions at many actions.

    Args:
        kernel: Prior covariance.
        bases: Action features of each term of the kernel.
        few: Number of actions up to which the direct computation is faster.
    """

    def __init__(self, kernel: Kernel, bases: list[Basis], few: int) -> None:
        self._terms, self._bases, self.few = kernel.terms, bases, few
        self._ends = np.cumsum([0, *(len(basis.weight) for basis in bases)]).tolist()
        self._asked: tuple[Array | None, Array] = (None, np.empty(0))
        self._seen, self._n = np.empty((64, self._ends[-1])), 0
        self._whitened: tuple[float, int, Array] | None = None  # t, n and A

    @classmethod
    def of(cls, kernel: Kernel, actions: Actions) -> Compressed | None:
        """Return a cache, or None if the direct computation is faster."""
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
        """Clear all cached results that depend on the observations."""
        self._n, self._whitened = 0, None

    def predict(self, past: Observations, t: float, points: Points) -> Prediction:
        """Return the mean and variance of f(., t)."""
        phi, A = self._of_actions(points), self._at(past, t)
        covariance = A.T @ A
        np.negative(covariance, out=covariance)
        covariance.flat[:: len(covariance) + 1] += 1.0
        variance = np.einsum("qi,qi->q", phi @ covariance, phi)
        return Prediction(phi @ (past.z @ A), np.maximum(variance, 0.0))

    def column(self, past: Observations, t: float, points: Points) -> Array | None:
        """Return L^-1 k for one action at time t, or None if the last prediction was not for t."""
        known = self._whitened
        if known is None or known[:2] != (t, len(past.t)):
            return None
        return np.asarray(known[2] @ self._phi(points)[0])

    def _at(self, past: Observations, t: float) -> Array:
        """Return the matrix A (see the docstring of the module) at time t, shape (n, M_a)."""
        n = len(past.t)
        if self._whitened is None or self._whitened[:2] != (t, n):
            rows, lag = np.empty((n, self._ends[-1])), (t - past.t)[:, None]
            seen = self._of_past(past)
            for term, i, j in zip(self._terms, self._ends, self._ends[1:], strict=False):
                np.multiply(seen[:, i:j], term.over_time(lag), out=rows[:, i:j])
            self._whitened = (t, n, past.L_inverse @ rows)
        return self._whitened[2]

    def _of_actions(self, points: Points) -> Array:
        """Return phi of actions, shape (q, M_a).

        The last result is cached if the actions are arms or a read-only grid.
        """
        if self._asked[0] is not points.x:
            lasting = points.arm is not None or not points.x.flags.writeable
            self._asked = (points.x if lasting else None, self._phi(points))
        return self._asked[1]

    def _of_past(self, past: Observations) -> Array:
        """Return phi of all observations, shape (n, M_a).

        Only the rows of new observations are computed; the other rows are cached.
        """
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


TABLE_SIZE = 2048
"""Number of arms up to which the Gram matrix is tabulated."""
SPENT = 1e-16
"""Weight below which an observation is dropped."""


class Incremental:
    """Posterior for any kernel and for observations in any order of time.

    Args:
        kernel: Prior covariance.
        actions: Finite set or box.
        noise_variance: Variance sigma^2 > 0 of the noise.
        window: Age from which observations may be dropped; None to store all observations. With the
            value of ``exact_window`` (``engines.py``), the effect of dropping them is negligible.
    """

    def __init__(
        self, kernel: Kernel, actions: Actions, noise_variance: float, window: float | None = None
    ) -> None:
        self.kernel, self.actions, self.noise_variance = kernel, actions, noise_variance
        self.window = window
        self._fast = tabulated(kernel, actions)
        self._compressed = Compressed.of(kernel, actions)
        self._variances: Array | None = None
        if isinstance(actions, Finite):
            self._variances = kernel.diagonal(actions.points())
        self._whitened: tuple[float, Array] | None = None
        self.reset()

    def reset(self) -> None:
        """Forget all observations."""
        self.count, self.log_evidence = 0, 0.0
        self._past = Observations(self.actions)
        self._changed()

    @property
    def name(self) -> str:
        """Name of the engine, with its window."""
        return "incremental" + (f" (window {self.window:.0f})" if self.window else "")

    def observe(self, action: Any, t: float, y: float, weight: float = 1.0) -> None:
        """Add an observation, which appends a row to L^-1.

        The noise variance of the observation is divided by ``weight``.
        """
        finite_observation(t, y)
        positive_weight(weight)
        point, v = self.actions.points(action), self._column(action, t)
        s = float(self._own(point)[0]) + self.noise_variance / weight - float(v @ v)
        e = (y - float(v @ self._past.z)) / math.sqrt(s)
        row = (v @ self._past.L_inverse) / -math.sqrt(s)
        self._past.append(action, t, y, weight, e, row, 1.0 / math.sqrt(s))
        self.log_evidence -= 0.5 * (e * e + math.log(2 * math.pi * s))
        self.count, self._whitened = self.count + 1, None
        if self.window is not None and self._past.full:
            self._past.forget(self.window, self._fast, self.noise_variance)
            self._changed()

    @property
    def times(self) -> Array:
        """Times of the stored observations, shape (n,)."""
        return np.array(self._past.t)

    def keep(self, which: Integers) -> None:
        """Drop all observations except those with the given indices, O(n^3)."""
        self._past.keep(which, self._fast, self.noise_variance)
        self.count = len(which)
        self._changed()

    def discount(self, factor: float) -> None:
        """Multiply the weights of all observations so far by ``factor``; O(n^3)."""
        positive_weight(factor)
        self._past.weight[:] *= factor
        remaining = np.flatnonzero(self._past.weight > SPENT)
        self._past.keep(remaining, self._fast, self.noise_variance)
        self._changed()

    def relevance(self, coming: Array, actions: Any = None) -> Relevance:
        """Return the relevance of each observation for predictions at the given times.

        ``Relevance`` defines this measure.

        Args:
            coming: Times of the predictions, shape (q_t,).
            actions: Actions of the predictions, as in ``predict``.
        """
        L_inverse, points = self._past.L_inverse, self.actions.points(actions)
        overlaps = overlap(self._fast, self._past.points, self._past.t, points, coming)
        return Relevance(L_inverse.T @ L_inverse, L_inverse.T @ self._past.z, overlaps)

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Return the mean and variance of f(., t): Eq. (5) with V = L^-1 k and z = L^-1 y."""
        if self._compressed is not None and len(self._past.t) > FEW_OBSERVATIONS:
            many = self.actions.points(actions)
            if len(many.x) > self._compressed.few:
                return self._compressed.predict(self._past, t, many)
        points, V = self._at(t, actions)
        variance = self._own(points) - np.einsum("tq,tq->q", V, V)
        return Prediction(self._past.z @ V, np.maximum(variance, 0.0))

    def gradient(self, t: float, actions: Any) -> Gradient:
        """Return the prediction with its derivatives."""
        points, V = self._at(t, actions)
        slope = self._fast.gradient(points, np.array([t]), self._past.points, self._past.t)
        alpha = self._past.L_inverse.T @ np.column_stack((self._past.z, V))
        mean_slope = np.einsum("qtd,t->qd", slope, alpha[:, 0])
        variance_slope = -2.0 * np.einsum("qtd,tq->qd", slope, alpha[:, 1:])
        variance_slope += self._fast.diagonal_gradient(points)
        variance = self._own(points) - np.einsum("tq,tq->q", V, V)
        return Gradient(self._past.z @ V, np.maximum(variance, 0.0), mean_slope, variance_slope)

    def sample(self, t: float, rng: Rng, actions: Any = None) -> Array:
        """Return one draw of f(., t), shape (q,)."""
        points, V = self._at(t, actions)
        prior = self._fast.gram(points, np.array([t]), points, np.array([t]))
        return gaussian_sample(self._past.z @ V, prior - V.T @ V, rng)

    def contenders(self, t: float, beta: float) -> None:
        """Return None, which stands for all arms."""
        return None

    def _own(self, points: Points) -> Array:
        """Return the prior variance at each action."""
        if self._variances is None or points.arm is None:
            return self._fast.diagonal(points)
        return np.asarray(self._variances[points.arm])

    def _changed(self) -> None:
        """Clear all caches that depend on the observations."""
        self._whitened = None
        if self._compressed is not None:
            self._compressed.forget()

    def _at(self, t: float, actions: Any) -> tuple[Points, Array]:
        """Return actions as points, and V = L^-1 k of shape (n, q)."""
        points = self.actions.points(actions)
        if self._compressed is not None and len(points.x) == 1:
            known = self._compressed.column(self._past, t, points)
            if known is not None:
                return points, known[:, None]
        k = self._fast.gram(self._past.points, self._past.t, points, np.array([t]))
        V = self._past.L_inverse @ k
        if actions is None:
            self._whitened = (t, V)
        return points, V

    def _column(self, action: Any, t: float) -> Array:
        """Return L^-1 k for one action at time t.

        If the last prediction for all arms was made for t, its result is reused.
        """
        if self._whitened is not None and self._whitened[0] == t:
            return self._whitened[1][:, action]
        return self._at(t, action)[1][:, 0]


def tabulated(kernel: Kernel, actions: Actions) -> Kernel:
    """Return the kernel; tables replace its action kernels if the set is finite and small."""
    if not isinstance(actions, Finite) or len(actions) > TABLE_SIZE:
        return kernel
    a = actions.points()
    tables = [EmpiricalCovariance(term.over_actions(a, a)) for term in kernel.terms]
    terms = zip(kernel.terms, tables, strict=True)
    return Sum(tuple(Term(term.variance, (table,), term.clocks) for term, table in terms))
