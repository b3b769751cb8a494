"""The log evidence of hyper-parameters, and its gradient.

With K(theta) the covariance of the rewards, noise included, and alpha = K^-1 (y - mu),

    log p(y | theta) = -1/2 { (y - mu)^T alpha / s^2 + log |K| + n log(2 pi s^2) },
    its derivative   =  1/2 { alpha^T K' alpha / s^2 - trace(K^-1 K') }.

K' is a central difference of the kernel matrix: exact to some eight digits, and the same for every
kernel. The prior mean mu = 1^T K^-1 y / 1^T K^-1 1 and the scale s^2 = (y - mu)^T alpha / n are set
to their best values at every theta, in closed form.

Rewards may come in several stretches that are independent of each other given theta; theta, mu and
s are common to all, and the log evidence is the sum over stretches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from agents.arrays import Array
from agents.gp.actions import Points
from agents.gp.kernels.base import Kernel
from agents.gp.normaliser import Normaliser
from agents.gp.parameters import Parameter, put

STEP = 1e-5
HOPELESS = 1e25
"""Loss where K is singular."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """Rewards that depend on each other.

    Attributes:
        points: Actions taken, n of them.
        t: Times, shape (n,).
        y: Rewards, shape (n,).
    """

    points: Points
    t: Array
    y: Array


@dataclass(frozen=True, eq=False)
class Evidence:
    """Minus the log evidence as a function of theta = log(hyper-parameters, noise variance).

    Attributes:
        kernel: Template.
        parameters: What to move in it, p of them.
        stretches: The rewards.
        fit_mean: Whether mu is fitted, or 0.
        fit_scale: Whether s is fitted, or 1.
    """

    kernel: Kernel
    parameters: list[Parameter]
    stretches: Sequence[Stretch]
    fit_mean: bool
    fit_scale: bool

    def value(self, theta: Array) -> float:
        """Minus the log evidence alone: a fraction of the work."""
        try:
            return self._value(self._factors(theta))[0]
        except LinAlgError:
            return HOPELESS

    def loss(self, theta: Array) -> tuple[float, Array]:
        """Minus the log evidence and its gradient, shape (p + 1,)."""
        try:
            factors = self._factors(theta)
        except LinAlgError:
            return HOPELESS, np.zeros(len(theta))
        loss, s2, alphas = self._value(factors)
        gradient = np.zeros(len(theta))
        for stretch, factor, alpha in zip(self.stretches, factors, alphas, strict=True):
            W = cho_solve(factor, np.eye(len(alpha))) - np.outer(alpha, alpha / s2)
            slopes = self._derivatives(theta, stretch)
            gradient += 0.5 * np.array([float((W * D).sum()) for D in slopes])
        return loss, gradient

    def _value(self, factors: Sequence[tuple[Array, bool]]) -> tuple[float, float, list[Array]]:
        """Minus the log evidence, s^2 and the alpha of each stretch."""
        mu, s2, alphas = self._profile(factors)
        n = sum(len(stretch.y) for stretch in self.stretches)
        value = 0.5 * n * math.log(2 * math.pi * s2)
        for stretch, factor, alpha in zip(self.stretches, factors, alphas, strict=True):
            log_det = 2.0 * float(np.log(np.diagonal(factor[0])).sum())
            value += 0.5 * (float((stretch.y - mu) @ alpha) / s2 + log_det)
        return value, s2, alphas

    def unpack(self, theta: Array) -> tuple[Kernel, float]:
        """Kernel and noise variance."""
        values = np.exp(theta)
        return put(self.kernel, self.parameters, values[:-1]), float(values[-1])

    def normaliser(self, theta: Array) -> Normaliser:
        """The best prior mean and scale."""
        mu, s2, _ = self._profile(self._factors(theta))
        return Normaliser(mu, math.sqrt(s2))

    def _factors(self, theta: Array) -> list[tuple[Array, bool]]:
        return [cho_factor(self._covariance(theta, part), lower=True) for part in self.stretches]

    def _profile(self, factors: Sequence[tuple[Array, bool]]) -> tuple[float, float, list[Array]]:
        """mu, s^2 and the alpha of each stretch."""
        solved = [
            cho_solve(factor, np.stack((part.y, np.ones_like(part.y)), axis=1)).T
            for factor, part in zip(factors, self.stretches, strict=True)
        ]
        rewards, ones = (sum(float(pair[i].sum()) for pair in solved) for i in (0, 1))
        mu = rewards / ones if self.fit_mean else 0.0
        alphas = [a - mu * one for a, one in solved]
        if not self.fit_scale:
            return mu, 1.0, alphas
        n = sum(len(alpha) for alpha in alphas)
        squares = zip(self.stretches, alphas, strict=True)
        s2 = sum(float((part.y - mu) @ alpha) for part, alpha in squares) / n
        return mu, max(s2, 1e-20), alphas

    def _covariance(self, theta: Array, part: Stretch) -> Array:
        kernel, noise_variance = self.unpack(theta)
        K = kernel.gram(part.points, part.t, part.points, part.t)
        return K + noise_variance * np.eye(len(part.t))

    def _derivatives(self, theta: Array, part: Stretch) -> list[Array]:
        """K' for each hyper-parameter, then for the noise variance."""
        by_kernel = [
            (self._covariance(theta + h, part) - self._covariance(theta - h, part)) / (2 * STEP)
            for h in STEP * np.eye(len(theta))[:-1]
        ]
        return [*by_kernel, math.exp(theta[-1]) * np.eye(len(part.t))]
