"""LinUCB on harmonics of the season, with confidence widths from theory."""

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
    """LinUCB with a model for every arm and the theorem's width, on harmonics of the season.

    Pseudo-code::

        z_t <- (1, sqrt 2 cos 2 pi k t / tau, sqrt 2 sin 2 pi k t / tau) for k = 1..H, each tau
        theta_a <- ridge regression of arm a's rewards on z at their times
        a_t <- argmax_a z_t' theta_a + (sigma r_a + sqrt(lam) S) sqrt(z_t' V_a^-1 z_t)
        r_a = sqrt(2 log(1 / delta) + d log(1 + n_a |z|^2 / (lam d)))

    Reference: [@li2010contextual] for LinUCB with a model for each arm, [@abbasi2011improved] for
    the radius. lam = 1 and S = 1 as usual there; delta = 1 / T. For the narrow, constant width that
    practitioners give it see ``linucb``.

    Deviations from the paper: this is none of the paper's methods. It is the reference for what
    smoothness in time is worth without smoothness in actions. Three harmonics are our choice: a
    periodic kernel of length-scale 1 has more than 99 % of its variance in them. All seasons of the
    problem have harmonics in z, without products. A box is discretised.

    Args:
        period: tau; by default all seasons of the problem.
        harmonics: H, fewer for a season of less than 2 H + 1 steps.
        regulariser: lam, the penalty.
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
        """Number of features of a time."""
        return self.features.dim

    def choose(self, t: float, observation: Array) -> int:
        """Return the arm of the greatest bound."""
        mean, deviation = self._table.predict(self.features(t), self.middle)
        radius = self.scale.sigma * self._noise + self.penalty
        return self.best_of(mean + self.width * radius * deviation)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Add to the arm's regression."""
        self._table.add(arm, self.features(t), reward)
        self._noise[arm] = self.noise_radius(self.models[arm])
