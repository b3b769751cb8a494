"""Reference posterior for tests: Eq. (5) by a dense solve."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agents.arrays import Array, Rng
from agents.gp.actions import Actions, Integers
from agents.gp.kernels.base import Kernel
from agents.gp.posteriors.base import Gradient, Prediction, gaussian_sample


class Dense:
    """Keeps every observation and solves from scratch at every question: O(t^3)."""

    name = "dense"

    def __init__(self, kernel: Kernel, actions: Actions, noise_variance: float) -> None:
        self.kernel, self.actions, self.noise_variance = kernel, actions, noise_variance
        self.reset()

    @property
    def count(self) -> int:
        """Number of observations."""
        return len(self._y)

    @property
    def log_evidence(self) -> float:
        """Log density N(y; 0, K + noise) of the stored observations."""
        K = self._noisy()
        fit = float(self._y @ np.linalg.solve(K, self._y)) if self.count else 0.0
        log_det = float(np.linalg.slogdet(K)[1])
        return -0.5 * (fit + log_det + self.count * math.log(2 * math.pi))

    def reset(self) -> None:
        """Forget all observations."""
        self._chosen = self.actions.buffer(0)
        self._t, self._y, self._weight = np.zeros(0), np.zeros(0), np.zeros(0)

    def observe(self, action: Any, t: float, y: float, weight: float = 1.0) -> None:
        """Take in y = f(action, t) + noise of variance sigma^2 / weight."""
        row = np.asarray(action, dtype=self._chosen.dtype).reshape(1, *self._chosen.shape[1:])
        self._chosen = np.concatenate((self._chosen, row))
        self._t, self._y = np.append(self._t, t), np.append(self._y, y)
        self._weight = np.append(self._weight, weight)

    @property
    def times(self) -> Array:
        """When the observations were made, shape (n,)."""
        return self._t

    def keep(self, which: Integers) -> None:
        """Forget all observations but these."""
        self._chosen, self._weight = self._chosen[which], self._weight[which]
        self._t, self._y = self._t[which], self._y[which]

    def discount(self, factor: float) -> None:
        """Multiply the weights of all observations so far by ``factor``."""
        self._weight = factor * self._weight

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Mean and variance of f(., t)."""
        mean, covariance = self._joint(t, actions)
        return Prediction(mean, np.diagonal(covariance))

    def gradient(self, t: float, actions: Any) -> Gradient:
        """Prediction with its derivatives."""
        points = self.actions.points(actions)
        when = np.array([t])
        k = self.kernel.gram(self._past(), self._t, points, when)
        slope = self.kernel.gradient(points, when, self._past(), self._t)
        alpha = np.linalg.solve(self._noisy(), np.column_stack((self._y, k)))
        mean_slope = np.einsum("qtd,t->qd", slope, alpha[:, 0])
        variance_slope = -2 * np.einsum("qtd,tq->qd", slope, alpha[:, 1:])
        variance_slope += self.kernel.diagonal_gradient(points)
        return Gradient(*self.predict(t, actions), mean_slope, variance_slope)

    def sample(self, t: float, rng: Rng, actions: Any = None) -> Array:
        """One draw of f(., t), shape (q,)."""
        return gaussian_sample(*self._joint(t, actions), rng)

    def contenders(self, t: float, beta: float) -> None:
        """This engine has no short cut to the best arm: None."""
        return None

    def _past(self) -> Any:
        return self.actions.points(self._chosen)

    def _noisy(self) -> Array:
        K = self.kernel.gram(self._past(), self._t, self._past(), self._t)
        return K + np.diag(self.noise_variance / self._weight)

    def _joint(self, t: float, actions: Any) -> tuple[Array, Array]:
        points = self.actions.points(actions)
        when = np.array([t])
        k = self.kernel.gram(self._past(), self._t, points, when)
        alpha = np.linalg.solve(self._noisy(), np.column_stack((self._y, k)))
        prior = self.kernel.gram(points, when, points, when)
        return k.T @ alpha[:, 0], prior - k.T @ alpha[:, 1:]  # Eq. (5)
