"""LinUCB on harmonics of the season, with a constant width."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import not_negative
from agents.zoo.linear.seasonal_agent import SeasonalAgent


class LinUCB(SeasonalAgent):
    """LinUCB with a model for every arm and a constant width, on harmonics of the season.

    Pseudo-code::

        z_t <- (1, cos 2 pi k t / tau, sin 2 pi k t / tau) for k = 1..H, each tau
        theta_a <- ridge regression of arm a's rewards, standardised as they came, on z
        a_t <- argmax_a z_t' theta_a + alpha sqrt(noise + z_t' V_a^-1 z_t)
        first ten rewards at random, unless the reward scale is known; ties at random

    Reference: [@li2010contextual], Algorithm 1 (disjoint models, lam = 1). With the defaults it is
    ``bandit.LinUCBDisjoint`` of the library river at its own, alpha = 1 and noise = 1, on
    standardised rewards; ``fourier-linucb`` has the width that a theorem asks for.

    Deviations from the paper: its width is that of the mean, alpha sqrt(z' V^-1 z), which is noise
    = 0 and what the library MABWiser has; the default is that of a reward, which explores less
    where little is left to learn. Its alpha = 1 + sqrt(log(2 / delta) / 2) is at least 1.58; 1 is
    the default of both libraries. All seasons of the problem have harmonics in z. Rewards
    are standardised at arrival by mean and deviation so far, or by the problem's if known. A box is
    discretised.

    Args:
        noise: Variance of a reward about its mean in the width, in squared deviations of rewards.
        common: Arguments of every such agent, see :class:`SeasonalAgent`.
    """

    name = "linucb"

    def __init__(self, problem: Problem, rng: Rng, *, noise: float = 1.0, **common: Any) -> None:
        self._noise = not_negative("noise", noise)
        super().__init__(problem, rng, **common)

    def scores(self, mean: Array, deviation: Array) -> Array:
        """Return upper confidence bounds."""
        bounds: Array = mean + self.width * np.sqrt(self._noise + np.square(deviation))
        return bounds
