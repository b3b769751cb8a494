"""What is known of f(a, t) but its value: it is at most so much.

The belief about one value f ~ N(m, v), cut off above at c, has with z = (c - m) / sqrt(v)

    Z = Phi(z),    r = phi(z) / Phi(z),    mean m - sqrt(v) r,    variance v {1 - r (z + r)}.

The factor 1[f <= c] is replaced by a scaled Gaussian, exp(g) N(y; f, s2), that leads to the same Z,
mean and variance: assumed-density filtering [@minka2001expectation].
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr

from agents.arrays import Array
from agents.gp.posteriors.state_space import StateSpace

MIN_EXCEEDING_PROBABILITY = 0.03
"""Arms that exceed the bound with less than this probability are left alone."""
MIN_VARIANCE_SHARE = 1e-3
"""Share of the noise below which no variance is believed: what is known so well is not pushed."""
MAX_PUSHED_ARMS = 5
"""Arms that are pushed down for one bound."""


class Factor(NamedTuple):
    """exp(log_scale) N(y; f, variance)."""

    y: float
    variance: float
    log_scale: float


def at_most(mean: float, variance: float, bound: float) -> Factor:
    """The Gaussian factor in the place of f <= bound, for a belief N(mean, variance) about f."""
    deviation = math.sqrt(variance)
    z = (bound - mean) / deviation
    log_z = float(log_ndtr(z))
    r = math.exp(-0.5 * z * z - 0.5 * math.log(2 * math.pi) - log_z)
    shrink = min(max(1.0 - r * (z + r), 1e-3), 1.0 - 1e-9)  # new variance over old
    own = variance * shrink / (1.0 - shrink)
    y = mean - deviation * r / (1.0 - shrink)
    total = variance + own
    density = -0.5 * ((y - mean) ** 2 / total + math.log(2 * math.pi * total))
    return Factor(y, own, log_z - density)


def none_above(posterior: StateSpace, arm: int, t: float, bounds: Array) -> float:
    """Take in that at time t every arm b but one was at most bounds[b].

    The likeliest to exceed its bound is pushed down first, until none is likely to. That is worked
    out on the joint belief about the arms at t; the state learns the factors at the end.

    Args:
        posterior: Of finitely many arms.
        arm: The one of which it is not said.
        t: When.
        bounds: Shape (n,).

    Returns:
        The log probability of that under the belief before.
    """
    before = posterior.log_evidence
    mean, C = posterior.joint(t)
    least = MIN_VARIANCE_SHARE * posterior.noise_variance
    open_arms = np.arange(len(bounds)) != arm
    arms: list[int] = []
    factors: list[Factor] = []
    for _ in range(MAX_PUSHED_ARMS):
        deviation = np.sqrt(np.maximum(np.diagonal(C), least))
        above = ndtr((mean - bounds) / deviation) * open_arms
        b = int(above.argmax())
        if above[b] < MIN_EXCEEDING_PROBABILITY:
            break
        factor = at_most(float(mean[b]), float(deviation[b]) ** 2, float(bounds[b]))
        gain = C[b] / (deviation[b] ** 2 + factor.variance)
        mean = mean + gain * (factor.y - mean[b])
        C = C - np.outer(gain, C[b])
        open_arms[b] = False
        arms.append(b)
        factors.append(factor)
    if arms:
        posterior.weigh_all(arms, t, np.array(factors))
    return posterior.log_evidence - before
