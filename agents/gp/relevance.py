"""Relevance of each observation for future predictions: the criterion of W-DBO.

With A = (K + noise)^-1, alpha = A y and b(x) = A k(., x), dropping observation i changes the
posterior mean at x by b_i(x) alpha_i / A_ii and its variance by b_i(x)^2 / A_ii. Between Gaussians
the squared Wasserstein distance is at most the squared change of the mean plus the change of the
variance. On average over all actions and future times x, with G_ij the mean of k(x_i, x) k(x_j, x),

    W_i^2 = (alpha_i^2 / A_ii^2 + 1 / A_ii) (A G A)_ii,      W^2 = alpha . G alpha + trace(A G),

where W is the distance after dropping all observations; the relevance of i is W_i / W.
[@bardou2024too] integrates over all of space and time, in closed form for two kernels. This module
averages over a finite number of points instead, which is possible for any kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from agents.arrays import Array
from agents.gp.actions import Integers, Points
from agents.gp.kernels.base import Kernel, Term
from agents.gp.kernels.time import Decay, Periodic, TimeSquaredExponential

REACH = 6.0
"""Number of time scales after which a squared exponential is exp(-18), and a decay exp(-6)."""
MOMENTS = 128
"""Number of representative future times."""


@dataclass(frozen=True, eq=False)
class Relevance:
    """Relevance of observations that may be dropped one by one.

    Attributes:
        A: Inverse covariance of the observations, noise included, shape (n, n).
        alpha: A y, shape (n,).
        G: Mean of k(x_i, x) k(x_j, x) over actions and future times x, for each pair of
            observations, shape (n, n).
    """

    A: Array
    alpha: Array
    G: Array

    def __call__(self) -> Array:
        """Return W_i / W of each observation, shape (n,)."""
        own = np.diagonal(self.A)
        lost = (self.alpha**2 / own**2 + 1.0 / own) * ((self.A @ self.G) * self.A).sum(axis=1)
        known = float(self.alpha @ self.G @ self.alpha + (self.A * self.G).sum())
        return np.asarray(np.sqrt(np.maximum(lost, 0.0) / max(known, np.finfo(float).tiny)))

    def without(self, i: int) -> Relevance:
        """Return the relevance of the other observations after observation i is dropped.

        The arrays are computed by rank-one updates, which cost O(n^2).
        """
        rest: Integers = np.delete(np.arange(len(self.alpha)), i)
        share = self.A[rest, i] / self.A[i, i]
        return Relevance(
            self.A[np.ix_(rest, rest)] - np.outer(share, self.A[i, rest]),
            self.alpha[rest] - share * self.alpha[i],
            self.G[np.ix_(rest, rest)],
        )


def overlap(kernel: Kernel, past: Points, t: Array, actions: Points, coming: Array) -> Array:
    """Return G, the mean of k(x_i, x) k(x_j, x) over actions and future times, shape (n, n)."""
    lag = np.subtract.outer(t, coming)
    X = [p.variance * p.over_actions(past, actions) for p in kernel.terms]
    T = [p.over_time(lag) for p in kernel.terms]
    pairs = [(i, j) for i in range(len(X)) for j in range(len(X))]
    total = sum(((X[i] @ X[j].T) * (T[i] @ T[j].T) for i, j in pairs), np.zeros((len(t), len(t))))
    return np.asarray(total) / (len(actions.x) * len(coming))


def time_scale(kernel: Kernel) -> float:
    """Return the memory of a kernel: its length-scale in time, or the period if it has no decay.

    The memory of a product is the shortest memory of its decaying factors, and the memory of a sum
    is the longest memory of its terms.

    Raises:
        ValueError: If a term is constant in time, or its time kernel is not supported.
    """
    return max(_of_term(term)[0] for term in kernel.terms)


def coming_times(kernel: Kernel, t: float) -> Array:
    """Return the times after t for which relevance is computed, shape (128,).

    The times cover ``REACH`` times the memory of a decaying term, or one period of a purely
    periodic term, whichever is longest among the terms.
    """
    reach = max(_of_term(term)[1] for term in kernel.terms)
    return t + reach * (np.arange(MOMENTS) + 0.5) / MOMENTS


def _of_term(term: Term) -> tuple[float, float]:
    """Return the memory of a term, and the time span for which its relevance is computed."""
    forgets = [k.length_scale for k in term.clocks if isinstance(k, TimeSquaredExponential)]
    forgets += [-1.0 / k.log_rho for k in term.clocks if isinstance(k, Decay)]
    if forgets:
        return min(forgets), REACH * min(forgets)
    periods = [k.period for k in term.clocks if isinstance(k, Periodic)]
    if not periods or not math.isfinite(max(periods)):
        raise ValueError(
            "relevance needs a decaying or periodic time kernel in every term, "
            f"got the time kernels {term.clocks}"
        )
    return max(periods), max(periods)
