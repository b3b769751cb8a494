"""The log evidence of hyper-parameters, and its gradient.

With K(theta) the covariance of the rewards, noise included, and alpha = K^-1 (y - mu),

    log p(y | theta) = -1/2 { (y - mu)^T alpha / s^2 + log |K| + n log(2 pi s^2) },
    its derivative   =  1/2 { alpha^T K' alpha / s^2 - trace(K^-1 K') }.

K' is a central difference of the kernel matrix: exact to some eight digits, and the same for every
kernel. The prior mean mu = 1^T K^-1 y / 1^T K^-1 1 and the scale s^2 = (y - mu)^T alpha / n are set
to their best values at every theta, in closed form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from agents.gp.arrays import Array, Points
from agents.gp.kernel import Kernel
from agents.gp.normaliser import Normaliser
from agents.gp.parameters import Parameter, put

STEP = 1e-5
HOPELESS = 1e25
"""Loss where K is singular."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Minus the log evidence as a function of theta = log(hyper-parameters, noise variance).

    Attributes:
        kernel: Template.
        parameters: What to move in it, p of them.
        points: Actions taken, n of them.
        t: Times, shape (n,).
        y: Rewards, shape (n,).
        fit_mean: Whether mu is fitted, or 0.
        fit_scale: Whether s is fitted, or 1.
    """

    kernel: Kernel
    parameters: list[Parameter]
    points: Points
    t: Array
    y: Array
    fit_mean: bool
    fit_scale: bool

    def loss(self, theta: Array) -> tuple[float, Array]:
        """Minus the log evidence and its gradient, shape (p + 1,)."""
        try:
            factor = cho_factor(self._covariance(theta), lower=True)
        except LinAlgError:
            return HOPELESS, np.zeros(len(theta))
        mu, s2, alpha = self._profile(factor)
        log_det = 2.0 * float(np.log(np.diagonal(factor[0])).sum())
        n = len(self.y)
        fit = float((self.y - mu) @ alpha) / s2
        loss = 0.5 * (fit + log_det + n * math.log(2 * math.pi * s2))
        W = cho_solve(factor, np.eye(n)) - np.outer(alpha, alpha / s2)
        return loss, 0.5 * np.array([float((W * D).sum()) for D in self._derivatives(theta)])

    def unpack(self, theta: Array) -> tuple[Kernel, float]:
        """Kernel and noise variance."""
        values = np.exp(theta)
        return put(self.kernel, self.parameters, values[:-1]), float(values[-1])

    def normaliser(self, theta: Array) -> Normaliser:
        """The best prior mean and scale."""
        mu, s2, _ = self._profile(cho_factor(self._covariance(theta), lower=True))
        return Normaliser(mu, math.sqrt(s2))

    def _profile(self, factor: tuple[Array, bool]) -> tuple[float, float, Array]:
        """mu, s^2 and alpha."""
        a, one = cho_solve(factor, np.stack((self.y, np.ones_like(self.y)), axis=1)).T
        mu = float(a.sum() / one.sum()) if self.fit_mean else 0.0
        alpha = a - mu * one
        s2 = float((self.y - mu) @ alpha) / len(self.y) if self.fit_scale else 1.0
        return mu, max(s2, 1e-20), alpha

    def _covariance(self, theta: Array) -> Array:
        kernel, noise_variance = self.unpack(theta)
        K = kernel.gram(self.points, self.t, self.points, self.t)
        return K + noise_variance * np.eye(len(self.t))

    def _derivatives(self, theta: Array) -> list[Array]:
        """K' for each hyper-parameter, then for the noise variance."""
        steps = STEP * np.eye(len(theta))[:-1]
        by_kernel = [
            (self._covariance(theta + h) - self._covariance(theta - h)) / (2 * STEP) for h in steps
        ]
        return [*by_kernel, math.exp(theta[-1]) * np.eye(len(self.t))]
