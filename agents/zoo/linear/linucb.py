"""LinUCB with harmonics of the season as features, and with a constant width."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import not_negative
from agents.zoo.linear.seasonal_agent import SeasonalAgent


class LinUCB(SeasonalAgent):
    """LinUCB with a model per arm, seasonal harmonics as features, and a constant width.

    Pseudo-code::

        z_t <- (1, cos 2 pi k t / tau, sin 2 pi k t / tau) for k = 1..H, each tau
        theta_a <- ridge regression of arm a's rewards, standardised as they came, on z
        a_t <- argmax_a z_t' theta_a + alpha sqrt(noise + z_t' V_a^-1 z_t)
        first ten rewards at random, unless the reward scale is known; ties at random

    Reference: [@li2010contextual], Algorithm 1 (disjoint models, lam = 1). With the default
    settings (width alpha = 1 and noise = 1), this agent is equivalent to ``bandit.LinUCBDisjoint``
    from the library river with the defaults of that library, applied to standardised rewards. The
    agent ``fourier-linucb`` uses widths from theory instead.

    Deviations from the paper: in the paper and in the library MABWiser, the width describes the
    uncertainty of the mean reward: alpha sqrt(z' V^-1 z). The setting noise = 0 selects this width.
    By default, the width here describes the uncertainty of a single reward, so the agent explores
    less once the mean rewards are known well. The paper's alpha = 1 + sqrt(log(2 / delta) / 2) is
    at least 1.58; both libraries use alpha = 1 by default. If the problem has several seasons, z
    contains the harmonics of each season, but no products of harmonics. Rewards are standardised
    when they arrive, with the mean and the standard deviation that the problem states or, if these
    are unknown, with those of the rewards so far. A box is discretised into ``box_arms`` points.

    Args:
        noise: Term ``noise`` in the width: the variance of a reward around its mean, in units of
            the variance of all rewards.
        common: Arguments of every agent with harmonics, see :class:`SeasonalAgent`.
    """

    name = "linucb"

    def __init__(self, problem: Problem, rng: Rng, *, noise: float = 1.0, **common: Any) -> None:
        self._noise = not_negative("noise", noise)
        super().__init__(problem, rng, **common)

    def scores(self, mean: Array, deviation: Array) -> Array:
        """Return the upper confidence bounds of the arms."""
        bounds: Array = mean + self.width * np.sqrt(self._noise + np.square(deviation))
        return bounds
