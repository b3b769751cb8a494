"""Incremental posterior: exact for any kernel, O(t^2) a step.

With L the Cholesky factor of K + sigma^2 I, a new observation appends one row to L^-1,

    v = L^-1 k,   s = k(x, x) + sigma^2 - v . v,   row = [-(v^T L^-1), 1] / sqrt(s),

which takes matrix-vector products only; appending to L takes triangular solves, four times slower.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agents.arrays import Array, Rng
from agents.checks import finite_observation, positive_weight
from agents.gp.actions import Actions, Finite, Integers, Points
from agents.gp.kernels.action import EmpiricalCovariance
from agents.gp.kernels.base import Kernel, Sum, Term
from agents.gp.posteriors.base import Gradient, Prediction, gaussian_sample
from agents.gp.posteriors.compressed import FEW_OBSERVATIONS, Compressed
from agents.gp.posteriors.history import History
from agents.gp.relevance import Relevance, overlap

TABLE_SIZE = 2048
"""Up to that many arms the Gram matrix is computed once and looked up."""
SPENT = 1e-16
"""Weight at which an observation no longer counts."""


class Incremental:
    """Any kernel, any order of times.

    Args:
        kernel: Prior covariance.
        actions: Finite set or box.
        noise_variance: sigma^2 > 0.
        window: Observations older than the newest by more than this may be forgotten (see
            ``exact_window`` for when that is exact); None keeps all.
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
        self._past = History(self.actions)
        self._changed()

    @property
    def name(self) -> str:
        """Engine and window."""
        return "incremental" + (f" (window {self.window:.0f})" if self.window else "")

    def observe(self, action: Any, t: float, y: float, weight: float = 1.0) -> None:
        """Append a row to L^-1."""
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
        """When the observations that are held were made, shape (n,)."""
        return np.array(self._past.t)

    def keep(self, which: Integers) -> None:
        """Forget all observations but these, O(n^3)."""
        self._past.keep(which, self._fast, self.noise_variance)
        self.count = len(which)
        self._changed()

    def discount(self, factor: float) -> None:
        """Let all observations so far count less: their weights times ``factor``; O(n^3)."""
        positive_weight(factor)
        self._past.weight[:] *= factor
        kept = np.flatnonzero(self._past.weight > SPENT)
        self._past.keep(kept, self._fast, self.noise_variance)
        self._changed()

    def relevance(self, coming: Array, actions: Any = None) -> Relevance:
        """What each observation matters for predictions at the coming times, shape (q_t,).

        Args:
            coming: Times.
            actions: Where to predict, as in ``predict``.
        """
        L_inverse, points = self._past.L_inverse, self.actions.points(actions)
        overlaps = overlap(self._fast, self._past.points, self._past.t, points, coming)
        return Relevance(L_inverse.T @ L_inverse, L_inverse.T @ self._past.z, overlaps)

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Mean and variance of f(., t): Eq. (5) with V = L^-1 k and z = L^-1 y."""
        if self._compressed is not None and len(self._past.t) > FEW_OBSERVATIONS:
            many = self.actions.points(actions)
            if len(many.x) > self._compressed.few:
                return self._compressed.predict(self._past, t, many)
        points, V = self._at(t, actions)
        variance = self._own(points) - np.einsum("tq,tq->q", V, V)
        return Prediction(self._past.z @ V, np.maximum(variance, 0.0))

    def gradient(self, t: float, actions: Any) -> Gradient:
        """Prediction with its derivatives."""
        points, V = self._at(t, actions)
        slope = self._fast.gradient(points, np.array([t]), self._past.points, self._past.t)
        alpha = self._past.L_inverse.T @ np.column_stack((self._past.z, V))
        mean_slope = np.einsum("qtd,t->qd", slope, alpha[:, 0])
        variance_slope = -2.0 * np.einsum("qtd,tq->qd", slope, alpha[:, 1:])
        variance_slope += self._fast.diagonal_gradient(points)
        variance = self._own(points) - np.einsum("tq,tq->q", V, V)
        return Gradient(self._past.z @ V, np.maximum(variance, 0.0), mean_slope, variance_slope)

    def sample(self, t: float, rng: Rng, actions: Any = None) -> Array:
        """One draw of f(., t), shape (q,)."""
        points, V = self._at(t, actions)
        prior = self._fast.gram(points, np.array([t]), points, np.array([t]))
        return gaussian_sample(self._past.z @ V, prior - V.T @ V, rng)

    def contenders(self, t: float, beta: float) -> None:
        """This engine has no short cut to the best arm: None."""
        return None

    def _own(self, points: Points) -> Array:
        """Prior variance at each action."""
        if self._variances is None or points.arm is None:
            return self._fast.diagonal(points)
        return np.asarray(self._variances[points.arm])

    def _changed(self) -> None:
        """What was computed from the observations no longer holds."""
        self._whitened = None
        if self._compressed is not None:
            self._compressed.forget()

    def _at(self, t: float, actions: Any) -> tuple[Points, Array]:
        """Actions as points, and V = L^-1 k of shape (n, q)."""
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
        """L^-1 k of one action, from the last prediction of all arms if it was for t."""
        if self._whitened is not None and self._whitened[0] == t:
            return self._whitened[1][:, action]
        return self._at(t, action)[1][:, 0]


def tabulated(kernel: Kernel, actions: Actions) -> Kernel:
    """The same kernel with its action part looked up in a table, for a small finite set."""
    if not isinstance(actions, Finite) or len(actions) > TABLE_SIZE:
        return kernel
    a = actions.points()
    tables = [EmpiricalCovariance(term.over_actions(a, a)) for term in kernel.terms]
    terms = zip(kernel.terms, tables, strict=True)
    return Sum(tuple(Term(term.variance, (table,), term.clocks) for term, table in terms))
