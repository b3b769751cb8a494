"""Variances by maximum a posteriori, where the kernel is a sum of known parts.

With G_i the covariance of the observations under term i, K = sum_i e^theta_i G_i, the noise among
the terms, the log evidence is that of ``agents/gp/evidence.py``, and

    d log p / d theta_i = 1/2 e^theta_i { alpha^T G_i alpha - trace(K^-1 G_i) },   alpha = K^-1 y.

The G_i are computed once, so an iteration is a factorisation and little else. Each theta_i has a
normal prior around 0: the template.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.optimize import minimize

from agents.auto.past import Past
from agents.gp import Actions, Array, Kernel, Sum
from agents.gp.evidence import HOPELESS

SPREAD = 0.5
"""Standard deviation of the prior on the logarithm of a variance."""
ITERATIONS = 8
MOST = 96
"""Observations that are looked at: the newest."""


@dataclass(frozen=True)
class Refit:
    """Hyper-parameters, and the log evidence (prior included) that they have."""

    kernel: Kernel
    noise_variance: float
    log_evidence: float


def refit(
    kernel: Kernel,
    actions: Actions,
    past: Past,
    y: Array,
    noise_variance: float,
    *,
    move: bool = True,
) -> Refit:
    """Move the variances of all terms and of the noise, or only say how good they are.

    Args:
        kernel: The template.
        actions: Where the actions come from.
        past: Observations.
        y: Their rewards on the scale of the kernel.
        noise_variance: Of the template.
        move: Whether to move them.
    """
    grams = _grams(kernel, actions, past, noise_variance)
    theta = np.zeros(len(grams))
    if move:
        options = {"maxiter": ITERATIONS}
        bounds = [(-5.0, 5.0)] * len(theta)
        found = minimize(
            _loss, theta, (grams, y), jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        theta = np.asarray(found.x)
    loss = _loss(theta, grams, y)[0]
    factor = np.exp(theta).tolist()
    terms = [
        replace(p, variance=p.variance * f) for p, f in zip(kernel.terms, factor, strict=False)
    ]
    return Refit(Sum(tuple(terms)), noise_variance * factor[-1], -loss)


def _grams(kernel: Kernel, actions: Actions, past: Past, noise_variance: float) -> Array:
    """G_i, the noise last, shape (terms + 1, n, n)."""
    a, t = actions.points(past.action), past.t
    parts = [Sum((term,)).gram(a, t, a, t) for term in kernel.terms]
    return np.stack([*parts, noise_variance * np.eye(len(t))])


def _loss(theta: Array, grams: Array, y: Array) -> tuple[float, Array]:
    """Minus the log posterior of theta up to a constant, and its gradient."""
    factor, n = np.exp(theta), len(y)
    K = np.tensordot(factor, grams, 1)
    L, wrong = lapack.dpotrf(K, lower=1)
    if wrong:
        return HOPELESS, np.zeros(len(theta))
    inverse: NDArray[np.float64] = lapack.dpotri(L, lower=1)[0]
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    alpha = inverse @ y
    W = inverse - np.outer(alpha, alpha)
    slope = 0.5 * factor * (grams.reshape(len(grams), -1) @ W.ravel())
    log_det = 2.0 * float(np.log(np.diagonal(L)).sum())
    value = 0.5 * (float(y @ alpha) + log_det + n * np.log(2 * np.pi))
    return value + 0.5 * float(theta @ theta) / SPREAD**2, slope + theta / SPREAD**2
