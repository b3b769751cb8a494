"""Maximum a posteriori estimates of the variances of a kernel that is a sum of known terms.

G_i is the covariance of the observations under term i, where the noise counts as the last term, and
K = sum_i e^theta_i G_i. The formula of the log evidence is given in ``agents/gp/evidence.py``. The
derivative of the log evidence is

    d log p / d theta_i = 1/2 e^theta_i { alpha^T G_i alpha - trace(K^-1 G_i) },   alpha = K^-1 y.

The G_i are computed once, so the cost of an iteration is that of one factorisation and inverse,
O(n^3). Each theta_i has a normal prior with mean 0, the value for the template.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from agents.auto.history import History
from agents.gp import Actions, Array, Kernel, Sum, Term
from agents.gp.evidence import HOPELESS

SPREAD, SPREAD_OF_NOISE = 1.0, 0.7
"""Standard deviations of the priors on the logarithms of variances, and of the noise variance."""
ITERATIONS = 8
"""Maximum number of iterations of the optimiser."""
MAX_REFIT_OBSERVATIONS = 128
"""Maximum number of observations for a refit: the oldest and the newest, in equal numbers."""
MIN_NOISE = 0.05
"""Minimum noise variance, as a share of the variance of the rewards. Without a minimum, the fitted
noise would vanish if an instrument repeats one value, and the agent would be too certain of its
observations to explore again."""
MAX_LOG_FACTOR = 5.0
"""Maximum magnitude of theta_i, the logarithm of the factor on the variance of term i."""


@dataclass(frozen=True)
class Refit:
    """Hyper-parameters with their log evidence, which includes the log density of their prior."""

    kernel: Kernel
    noise_variance: float
    log_evidence: float


class Grams:
    """Cache of covariance matrices of the observations, one for each term, with variance 1."""

    def __init__(self, actions: Actions, history: History) -> None:
        self._points, self._t = actions.points(history.action), history.t
        self._known: dict[Any, Array] = {}

    def of(self, kernel: Kernel) -> Array:
        """Return the covariance under each term of a kernel, shape (terms, n, n)."""
        return np.stack([term.variance * self._of(term) for term in kernel.terms])

    def _of(self, term: Term) -> Array:
        key = (term.actions, term.clocks)
        if key not in self._known:
            one, a, t = Sum((replace(term, variance=1.0),)), self._points, self._t
            self._known[key] = one.gram(a, t, a, t)
        return self._known[key]


def refit(
    kernel: Kernel, grams: Grams, y: Array, noise_variance: float, *, move: bool = True
) -> Refit:
    """Fit the variances of all terms and of the noise, or compute the evidence of a template.

    Args:
        kernel: Template, the kernel at theta = 0.
        grams: Covariance matrices of the observations, one for each term.
        y: Rewards on the scale of the kernel.
        noise_variance: Noise variance of the template.
        move: Fit the variances; if false, only the evidence of the template is computed.
    """
    G = np.concatenate([grams.of(kernel), noise_variance * np.eye(len(y))[None]])
    known = (G, y, np.append(np.full(len(G) - 1, SPREAD), SPREAD_OF_NOISE))
    theta = np.zeros(len(G))
    if move:
        far = MAX_LOG_FACTOR
        least = min(0.0, float(np.log(MIN_NOISE / noise_variance)))
        bounds = [(-far, far)] * (len(theta) - 1) + [(least, far)]
        options = {"maxiter": ITERATIONS}
        from scipy.optimize import minimize  # slow to import, and not always needed

        optimum = minimize(
            _loss, theta, known, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        theta = np.asarray(optimum.x)
    loss = _loss(theta, *known)[0]
    *factors, noise = np.exp(theta).tolist()
    terms = [
        replace(term, variance=term.variance * factor)
        for term, factor in zip(kernel.terms, factors, strict=True)
    ]
    return Refit(Sum(tuple(terms)), noise_variance * noise, -loss)


def _loss(theta: Array, grams: Array, y: Array, spread: Array) -> tuple[float, Array]:
    """Return the negative log posterior of theta, up to a constant, and its gradient.

    The gradient is that of the negative value, shape (terms + 1,).
    """
    factor, n = np.exp(theta), len(y)
    K = np.tensordot(factor, grams, 1)
    L, wrong = lapack.dpotrf(K, lower=1)
    if wrong:
        return HOPELESS, np.zeros(len(theta))
    inverse: NDArray[np.float64] = lapack.dpotri(L, lower=1)[0]
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    alpha = inverse @ y
    # d(-log p) / d theta_i = e^theta_i / 2 sum_jk (K^-1 - alpha alpha^T)_jk (G_i)_jk
    W = inverse - np.outer(alpha, alpha)
    slope = 0.5 * factor * (grams.reshape(len(grams), -1) @ W.ravel())
    log_det = 2.0 * float(np.log(np.diagonal(L)).sum())
    value = 0.5 * (float(y @ alpha) + log_det + n * np.log(2 * np.pi))
    pull = theta / spread**2  # gradient of the negative log density of the normal prior
    return value + 0.5 * float(theta @ pull), slope + pull
