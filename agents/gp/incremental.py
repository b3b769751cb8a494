"""Incremental posterior: exact for any kernel, O(t^2) a step.

With L the Cholesky factor of K + sigma^2 I, a new observation appends one row to L^-1,

    v = L^-1 k,   s = k(x, x) + sigma^2 - v . v,   row = [-(v^T L^-1), 1] / sqrt(s),

which takes matrix-vector products only; appending to L takes triangular solves, four times slower.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from agents.gp.action_kernels import EmpiricalCovariance
from agents.gp.arrays import Actions, Array, Finite, Points
from agents.gp.kernel import Kernel, Sum, Term
from agents.gp.posterior import Gradient, Prediction, State, gaussian_sample, require_finite

TABLE_SIZE = 2048
"""Up to that many arms the Gram matrix is computed once and looked up."""


class Incremental:
    """Any kernel, any order of times.

    Args:
        kernel: Prior covariance.
        actions: Finite set or box.
        noise_variance: sigma^2 > 0.
        window: Observations older than the newest by more than this may be forgotten (see
            ``window.py`` for when that is exact); None keeps all.
    """

    def __init__(
        self, kernel: Kernel, actions: Actions, noise_variance: float, window: float | None = None
    ) -> None:
        self.kernel, self.actions, self.noise_variance = kernel, actions, noise_variance
        self.window = window
        self.count, self.log_evidence = 0, 0.0
        self._fast = tabulated(kernel, actions)
        self._n, self._limit = 0, 64
        self._chosen, self._t, self._y = actions.buffer(64), np.zeros(64), np.zeros(64)
        self._z, self._L_inverse = np.zeros(64), np.zeros((64, 64))

    @property
    def name(self) -> str:
        """Engine and window."""
        return "incremental" + (f" (window {self.window:.0f})" if self.window else "")

    def observe(self, action: Any, t: float, y: float) -> None:
        """Append a row to L^-1."""
        require_finite(t, y)
        point = self.actions.points(action)
        k, v = self._whitened(point, t)
        s = float(self._fast.diagonal(point)[0]) + self.noise_variance - float(v[:, 0] @ v[:, 0])
        innovation = (y - float(v[:, 0] @ self._z[: self._n])) / math.sqrt(s)
        self.log_evidence -= 0.5 * (innovation**2 + math.log(2 * math.pi * s))
        self._append(v[:, 0], s, innovation)
        self._chosen[self._n], self._t[self._n], self._y[self._n] = action, t, y
        self._n, self.count = self._n + 1, self.count + 1
        if self.window is not None and self._n >= self._limit:
            self._forget(self.window)

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Mean and variance of f(., t): Eq. (5) with V = L^-1 k and z = L^-1 y."""
        points = self.actions.points(actions)
        _, V = self._whitened(points, t)
        variance = self._fast.diagonal(points) - np.einsum("tq,tq->q", V, V)
        return Prediction(V.T @ self._z[: self._n], np.maximum(variance, 0.0))

    def gradient(self, t: float, actions: Any) -> Gradient:
        """Prediction with its derivatives."""
        points, n = self.actions.points(actions), self._n
        _, V = self._whitened(points, t)
        slope = self._fast.gradient(points, np.full(len(points.x), t), self._past(), self._t[:n])
        alpha = self._L_inverse[:n, :n].T @ np.column_stack((self._z[:n], V))
        variance = np.maximum(self._fast.diagonal(points) - np.einsum("tq,tq->q", V, V), 0.0)
        mean_slope = np.einsum("qtd,t->qd", slope, alpha[:, 0])
        variance_slope = -2.0 * np.einsum("qtd,tq->qd", slope, alpha[:, 1:])
        return Gradient(V.T @ self._z[:n], variance, mean_slope, variance_slope)

    def sample(self, t: float, rng: np.random.Generator, actions: Any = None) -> Array:
        """One draw of f(., t), shape (q,)."""
        points = self.actions.points(actions)
        _, V = self._whitened(points, t)
        when = np.full(len(points.x), t)
        covariance = self._fast.gram(points, when, points, when) - V.T @ V
        return gaussian_sample(V.T @ self._z[: self._n], covariance, rng)

    def state(self) -> State:
        """Observations in memory and L^-1, cut to size."""
        n = self._n
        arrays = {"chosen": self._chosen[:n], "t": self._t[:n], "y": self._y[:n]}
        arrays |= {"z": self._z[:n], "L_inverse": self._L_inverse[:n, :n]}
        numbers = {"count": self.count, "log_evidence": self.log_evidence, "limit": self._limit}
        return {k: v.copy() for k, v in arrays.items()} | numbers | {"window": self.window}

    def restore(self, state: State) -> None:
        """Continue from ``state()``."""
        self.count, self.log_evidence = int(state["count"]), float(state["log_evidence"])
        self._limit, self._n = int(state["limit"]), 0
        n = len(state["t"])
        self._reserve(n)
        self._n = n
        self._chosen[:n], self._t[:n], self._y[:n] = state["chosen"], state["t"], state["y"]
        self._z[:n], self._L_inverse[:n, :n] = state["z"], state["L_inverse"]

    def _past(self) -> Points:
        return self.actions.points(self._chosen[: self._n])

    def _whitened(self, points: Points, t: float) -> tuple[Array, Array]:
        """k = covariance of the past with the points at t, and L^-1 k; both (n, q)."""
        n = self._n
        k = self._fast.gram(self._past(), self._t[:n], points, np.full(len(points.x), t))
        return k, self._L_inverse[:n, :n] @ k

    def _append(self, v: Array, s: float, innovation: float) -> None:
        n = self._n
        self._reserve(n + 1)
        self._L_inverse[n, :n] = (v @ self._L_inverse[:n, :n]) / -math.sqrt(s)
        self._L_inverse[n, n] = 1.0 / math.sqrt(s)
        self._z[n] = innovation

    def _reserve(self, size: int) -> None:
        """Grow the buffers by doubling, so that copying costs O(1) per entry in the long run."""
        old = len(self._t)
        if size <= old:
            return
        extra = max(old, size - old)
        for name in ("_chosen", "_t", "_y", "_z"):
            array = getattr(self, name)
            setattr(self, name, np.concatenate((array, np.zeros_like(array, shape=(extra, *array.shape[1:])))))
        self._L_inverse = np.pad(self._L_inverse, ((0, extra), (0, extra)))

    def _forget(self, window: float) -> None:
        """Drop what is older than the window, and factorise the rest afresh."""
        n = self._n
        keep = np.flatnonzero(self._t[:n] >= self._t[:n].max() - window)
        m = len(keep)
        self._limit = max(64, m + m // 2)
        for array in (self._chosen, self._t, self._y):
            array[:m] = array[keep]
        self._n = m
        past, t = self._past(), self._t[:m]
        L = cholesky(self._fast.gram(past, t, past, t) + self.noise_variance * np.eye(m), lower=True)
        self._L_inverse[:m, :m] = solve_triangular(L, np.eye(m), lower=True)
        self._z[:m] = self._L_inverse[:m, :m] @ self._y[:m]


def tabulated(kernel: Kernel, actions: Actions) -> Kernel:
    """The same kernel with its action part looked up in a table, for a small finite set."""
    if not isinstance(actions, Finite) or len(actions) > TABLE_SIZE:
        return kernel
    a = actions.points()
    tables = [EmpiricalCovariance(term.over_actions(a, a)) for term in kernel.terms]
    return Sum(
        tuple(Term(p.variance, (k,), p.clocks) for p, k in zip(kernel.terms, tables, strict=True))
    )
