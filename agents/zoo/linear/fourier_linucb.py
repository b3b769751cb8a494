"""LinUCB with harmonics of the season as features, and with confidence widths from theory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.zoo.linear.linear_agent import LinearAgent
from agents.zoo.linear.ridge import RidgeTable
from agents.zoo.linear.seasonal_agent import SeasonFeatures


class FourierLinUCB(LinearAgent):
    """LinUCB with a model per arm, seasonal harmonics as features, and widths from theory.

    Pseudo-code::

        z_t <- (1, sqrt 2 cos 2 pi k t / tau, sqrt 2 sin 2 pi k t / tau) for k = 1..H, each tau
        theta_a <- ridge regression of arm a's rewards on z at their times
        a_t <- argmax_a z_t' theta_a + (sigma r_a + sqrt(lam) S) sqrt(z_t' V_a^-1 z_t)
        r_a = sqrt(2 log(1 / delta) + d log(1 + n_a |z|^2 / (lam d)))

    Reference: [@li2010contextual] for LinUCB with a model for each arm, and [@abbasi2011improved]
    for the radius. The values lam = 1 and S = 1 are usual, and delta is 1 / T. The agent ``linucb``
    has the narrow, constant width that is usual in practice.

    Deviations from the paper: this agent is not one of the methods of [@cai2021periodic]. It is a
    baseline that shows the value of smoothness over time without smoothness over actions. The
    default of three harmonics is our choice: three harmonics contain more than 99 % of the variance
    of a periodic kernel of length-scale 1. If the problem has several seasons, z contains the
    harmonics of each season, but no products of harmonics. A box is discretised into ``box_arms``
    points.

    Args:
        period: Period tau in steps; by default, all seasons of the problem are used.
        harmonics: Number H of harmonics; a season of fewer than 2 H + 1 steps has fewer harmonics.
        regulariser: Penalty lam.
        common: Arguments of every linear agent, see :class:`LinearAgent`.
    """

    name = "fourier-linucb"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        period: float | None = None,
        harmonics: int = 3,
        regulariser: float = 1.0,
        **common: Any,
    ) -> None:
        self.features = SeasonFeatures(problem, period, harmonics, math.sqrt(2.0))
        super().__init__(problem, rng, regulariser=regulariser, **common)

    def start(self) -> None:
        """Create a regression for each arm."""
        self.models = [self.new_ridge() for _ in range(self.n_arms)]
        self.longest = math.sqrt(self.dim)
        self._table = RidgeTable(self.models)
        self._noise = np.array([self.noise_radius(model) for model in self.models])

    @property
    def dim(self) -> int:
        """Number of features z_t of a time."""
        return self.features.dim

    def choose(self, t: float, observation: Array) -> int:
        """Return the arm with the greatest bound."""
        mean, deviation = self._table.predict(self.features(t), self.middle)
        radius = self.scale.sigma * self._noise + self.penalty
        return self.best_of(mean + self.width * radius * deviation)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Add the reward to the regression of the arm."""
        self._table.add(arm, self.features(t), reward)
        self._noise[arm] = self.noise_radius(self.models[arm])
