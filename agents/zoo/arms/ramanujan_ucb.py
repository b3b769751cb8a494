"""Bandit based on Ramanujan sums, for unknown periods."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import not_negative
from agents.zoo.arms.arm_agent import ArmAgent
from agents.zoo.gp.prior import longest_period
from agents.zoo.linear.ridge import Ridge


class RamanujanUCB(ArmAgent):
    """Ramanujan-UCB: the rewards of each arm are fitted by Ramanujan sums of short periods.

    Pseudo-code::

        c_q(t) <- sum over k <= q without common divisor of cos(2 pi k t / q)
        z_t <- (c_q(t - j) for each period q <= P and shift j < phi(q)), weighed by q^-2
        theta_a <- least coefficients that explain arm a's rewards by z at their times
        a_t <- argmax_a z_t' theta_a + c sigma sqrt(log t) / n_a

    Reference: [@thaker2024nonstationary]. The dictionary, the weights q^-2 on the coefficients (a
    penalty q^4 on their squares), c = 2 and the bonus are those of the authors' code. The bonus is
    proportional to 1 / n_a, not to 1 / sqrt(n_a).

    Deviations from the paper: the authors take the smallest coefficients that explain the rewards
    exactly, including their noise. This is impossible if an arm has more rewards than the
    dictionary has columns. Here, ridge regression is used instead, with a penalty that depends on
    the noise. In the limit of zero noise, the result is the same. Rewards are centred on their mean
    if it is known, otherwise on the middle of their range so far. The bonus is in units of sigma.
    Untried arms are chosen first. Time is rounded down to whole steps. A box is discretised into
    ``box_arms`` points.

    Args:
        max_period: Longest period P, at most 48. The default is the problem's main period, rounded
            up, or 24 if it is unknown. The authors use periods of up to 11 steps.
        bonus: Factor c of the bonus.
        common: Arguments of every agent for arms, see :class:`ArmAgent`.
    """

    name = "ramanujan-ucb"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        max_period: int | None = None,
        bonus: float = 2.0,
        **common: Any,
    ) -> None:
        self._bonus = not_negative("bonus", bonus)
        longest = longest_period(problem, max_period, most=48)
        self._sums = [ramanujan_sum(q) for q in range(1, longest + 1)]
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Create a regression for each arm."""
        size = len(self.features(0.0))
        low, high = self.scale.interval
        spread = self.scale.sigma / (high - low) if high > low else 0.0
        # Variance of the noise relative to that of the rewards, whose deviation is a quarter of the
        # interval. If the scale is unknown, the relative deviation is assumed to be 1/10.
        lam = (4.0 * spread) ** 2 or 0.01
        self.models = [Ridge(size, lam) for _ in range(self.n_arms)]
        self._count = np.zeros(self.n_arms)

    def features(self, t: float) -> Array:
        """Return the features z_t of time t."""
        step = math.floor(t)
        parts = []
        for values in self._sums:
            q = len(values)
            shifts = np.arange(round(values[0]))  # c_q(0) = phi(q)
            parts.append(values[(step - shifts) % q] / q**2)
        return np.concatenate(parts)

    def choose(self, t: float, observation: Array) -> int:
        """Return an untried arm, or the arm with the greatest sum of prediction and bonus."""
        untried = np.flatnonzero(self._count == 0)
        if len(untried):
            return self.any_of(untried)
        z, middle = self.features(t), sum(self.scale.interval) / 2.0
        mean = np.array([z @ model.coefficients(middle) for model in self.models])
        width = self._bonus * self.scale.sigma * math.sqrt(math.log(self._count.sum()))
        return self.best_of(mean + width / self._count)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Add the reward to the regression of the arm."""
        self.models[arm].add(self.features(t), reward)
        self._count[arm] += 1


def ramanujan_sum(q: int) -> Array:
    """Return the Ramanujan sums c_q(0), ..., c_q(q - 1), which are whole numbers.

    >>> ramanujan_sum(4).tolist()
    [2.0, 0.0, -2.0, 0.0]
    """
    k = np.arange(1, q + 1)
    k = k[np.gcd(k, q) == 1]
    waves = np.cos(2.0 * np.pi * np.outer(np.arange(q), k) / q)
    sums: Array = np.round(waves.sum(axis=1)) + 0.0
    return sums
