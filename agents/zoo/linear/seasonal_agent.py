"""Base of ``linucb`` and ``lints``, linear bandits with harmonics of the season as features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import not_negative, number, positive, whole
from agents.zoo.arms.arm_agent import ArmAgent
from agents.zoo.gp.prior import main_period
from agents.zoo.linear.ridge import Ridge, RidgeTable


class SeasonFeatures:
    """Features of a time: a constant, and cosines and sines of the harmonics of each season.

    The features are ``z_t = (1, a cos 2 pi k t / tau, a sin 2 pi k t / tau)`` for k = 1..H and each
    tau. All cosines come before all sines. If there are several seasons, the features include the
    harmonics of each season, but no products of harmonics.

    Args:
        problem: Problem, which provides the seasons.
        period: Period tau in steps; None to use all seasons of the problem.
        count: Number H of harmonics; a season of fewer than 2 H + 1 steps has fewer harmonics.
        amplitude: Amplitude a of the harmonics; with sqrt(2), the norm of z_t is sqrt(d) at all
            times.
    """

    def __init__(
        self, problem: Problem, period: float | None, count: int, amplitude: float = 1.0
    ) -> None:
        multiples = range(1, whole("harmonics", count) + 1)
        known = problem.periods if period is None else ()
        periods = [number("period", p) for p in known] or [main_period(problem, period)]
        # At whole steps, higher harmonics would be aliases of lower ones.
        waves = [k / p for p in periods for k in multiples if 2 * k < p or k == 1]
        self._frequencies, self._amplitude = np.array(waves), amplitude
        self._newest: tuple[float, Array] = (math.nan, np.empty(0))

    @property
    def dim(self) -> int:
        """Number of features."""
        return 1 + 2 * len(self._frequencies)

    def __call__(self, t: float) -> Array:
        """Return z_t, shape (d,)."""
        if self._newest[0] != t:  # called twice a step: to choose, and to learn
            angles, n = 2.0 * np.pi * self._frequencies * t, len(self._frequencies)
            z = np.empty(1 + 2 * n)
            z[0], z[1 : n + 1], z[n + 1 :] = 1.0, np.cos(angles), np.sin(angles)
            z[1:] *= self._amplitude
            z.setflags(write=False)
            self._newest = (t, z)
        return self._newest[1]


class SeasonalAgent(ArmAgent):
    """Base of ``linucb`` and ``lints``; subclasses define the scores of the arms.

    Pseudo-code::

        z_t <- (1, cos 2 pi k t / tau, sin 2 pi k t / tau) for k = 1..H, each tau
        unless the reward scale is known, choose at random until ten rewards are known
        a_t <- argmax_a scores(z_t' theta_a, sqrt(z_t' V_a^-1 z_t)), ties at random
        y <- (reward - mean) / deviation, by the rewards so far, this one included
        V_a <- V_a + z_t z_t',  b_a <- b_a + y z_t,  theta_a <- V_a^-1 b_a;  at first V_a = lam I

    Rewards are standardised once, when they arrive, as in other libraries. If the problem states
    the scale and the noise of the rewards, these values are used, and the first choices are not
    random.

    Args:
        period: Period tau in steps; by default, all seasons of the problem are used.
        harmonics: Number H of harmonics; a season of fewer than 2 H + 1 steps has fewer harmonics.
        regulariser: Penalty lam.
        width: Width alpha of the exploration, in standard deviations of the rewards.
        first_pulls: Number of rewards of random arms before arms are compared, if the scale of the
            rewards is unknown.
        common: Arguments of every agent for arms, see :class:`ArmAgent`.
    """

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        period: float | None = None,
        harmonics: int = 3,
        regulariser: float = 1.0,
        width: float = 1.0,
        first_pulls: int = 10,
        **common: Any,
    ) -> None:
        self.features = SeasonFeatures(problem, period, harmonics)
        self.lam, self.width = positive("regulariser", regulariser), not_negative("width", width)
        self._first_pulls = int(not_negative("first_pulls", first_pulls))
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Create a regression for each arm."""
        self.models = [Ridge(self.features.dim, self.lam) for _ in range(self.n_arms)]
        self._table = RidgeTable(self.models)

    def scores(self, mean: Array, deviation: Array) -> Array:
        """Return the scores of the arms from means and deviations of standardised rewards."""
        raise NotImplementedError

    def choose(self, t: float, observation: Array) -> int:
        """Return the arm with the greatest score.

        Until the scale of the rewards is known or ``first_pulls`` rewards have arrived, the result
        is a random arm.
        """
        if not self.scale.rests_on(self._first_pulls):
            return int(self._rng.integers(self.n_arms))
        return self.best_of(self.scores(*self._table.predict(self.features(t))))

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Add the reward to the regression of the arm."""
        self._table.add(arm, self.features(t), self.scale.standardised(reward))
