"""Variances by maximum a posteriori, where the kernel is a sum of known parts.

With G_i the covariance of the observations under term i, K = sum_i e^theta_i G_i, the noise among
the terms, the log evidence is that of ``agents/gp/evidence.py``, and

    d log p / d theta_i = 1/2 e^theta_i { alpha^T G_i alpha - trace(K^-1 G_i) },   alpha = K^-1 y.

The G_i are computed once, so an iteration is a factorisation and little else. Each theta_i has a
normal prior around 0: the template. A season that takes a share of a term is a part of its own, and
what it leaves another: their variances say how large the share is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.optimize import minimize

from agents.auto.history import History
from agents.gp import Actions, Array, Kernel, Sum, Term, TruncatedPeriodic
from agents.gp.evidence import HOPELESS

SPREAD, SPREAD_OF_SHARES = 0.5, 1.0
"""Standard deviation of the prior on the logarithm of a variance; on those two that share a term:
how much of a world repeats differs more from world to world than anything else."""
ITERATIONS = 8
MAX_REFIT_OBSERVATIONS = 96
"""Observations that are looked at: half of them the first that are kept, half the newest."""


@dataclass(frozen=True)
class Refit:
    """Hyper-parameters, and the log evidence (prior included) that they have."""

    kernel: Kernel
    noise_variance: float
    log_evidence: float


def refit(
    kernel: Kernel,
    actions: Actions,
    history: History,
    y: Array,
    noise_variance: float,
    *,
    move: bool = True,
) -> Refit:
    """Move the variances of all terms and of the noise, or only say how good they are.

    Args:
        kernel: The template.
        actions: Where the actions come from.
        history: Observations.
        y: Their rewards on the scale of the kernel.
        noise_variance: Of the template.
        move: Whether to move them.
    """
    parts = [_parts(term) for term in kernel.terms]
    grams = _grams(
        [part for of_term in parts for part in of_term], actions, history, noise_variance
    )
    spread = np.array([SPREAD_OF_SHARES if len(of) > 1 else SPREAD for of in parts for _ in of])
    known = (grams, y, np.append(spread, SPREAD))
    theta = np.zeros(len(grams))
    if move:
        options = {"maxiter": ITERATIONS}
        bounds = [(-5.0, 5.0)] * len(theta)
        found = minimize(
            _loss, theta, known, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        theta = np.asarray(found.x)
    loss = _loss(theta, *known)[0]
    factor = iter(np.exp(theta).tolist())
    terms = [
        _joined(term, [part.variance * next(factor) for part in of_term])
        for term, of_term in zip(kernel.terms, parts, strict=True)
    ]
    return Refit(Sum(tuple(terms)), noise_variance * next(factor), -loss)


def _parts(term: Term) -> list[Term]:
    """What is the same at all times and what repeats, if a season takes a share; else the term."""
    season = _sharing(term)
    if season is None:
        return [term]
    others = tuple(clock for clock in term.clocks if clock is not season)
    level = replace(term, variance=term.variance * (1.0 - season.share), clocks=others)
    clocks = (*others, replace(season, share=1.0))
    return [level, replace(term, variance=term.variance * season.share, clocks=clocks)]


def _joined(term: Term, variances: list[float]) -> Term:
    """The term with the variances of its parts: the reverse of ``_parts``."""
    season, total = _sharing(term), sum(variances)
    if season is None:
        return replace(term, variance=total)
    shared = replace(season, share=variances[1] / total)
    clocks = tuple(shared if clock is season else clock for clock in term.clocks)
    return replace(term, variance=total, clocks=clocks)


def _sharing(term: Term) -> TruncatedPeriodic | None:
    """The season of a term that leaves a share to what is the same at all times."""
    seasons = (
        clock for clock in term.clocks if isinstance(clock, TruncatedPeriodic) and clock.share < 1.0
    )
    return next(seasons, None)


def _grams(parts: list[Term], actions: Actions, history: History, noise_variance: float) -> Array:
    """G_i, the noise last, shape (parts + 1, n, n)."""
    a, t = actions.points(history.action), history.t
    grams = [Sum((part,)).gram(a, t, a, t) for part in parts]
    return np.stack([*grams, noise_variance * np.eye(len(t))])


def _loss(theta: Array, grams: Array, y: Array, spread: Array) -> tuple[float, Array]:
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
    pull = theta / spread**2
    return value + 0.5 * float(theta @ pull), slope + pull
