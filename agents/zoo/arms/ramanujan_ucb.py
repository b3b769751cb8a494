"""Bandit on Ramanujan's sums, for unknown periods."""

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
    """Ramanujan-UCB: each arm is a sum of short periods in the Ramanujan periodicity transform.

    Pseudo-code::

        c_q(t) <- sum over k <= q without common divisor of cos(2 pi k t / q)
        z_t <- (c_q(t - j) for each period q <= P and shift j < phi(q)), weighed by q^-2
        theta_a <- least coefficients that explain arm a's rewards by z at their times
        a_t <- argmax_a z_t' theta_a + c sigma sqrt(log t) / n_a

    Reference: [@thaker2024nonstationary]; the dictionary, the weights q^-2 on coefficients (a
    penalty q^4 on their squares), c = 2 and the bonus, which falls with n_a and not with its root,
    are those of the authors' code.

    Deviations from the paper: the authors take the least coefficients that explain the rewards
    exactly (noise and all), which fails once an arm has more rewards than there are columns. Here
    it is ridge regression with the noise as its penalty, the same in the limit of no noise. Rewards
    count from their mean where it is known, else from the middle of their range so far, and the
    bonus is in units of sigma. An arm that was never tried comes first. Time is rounded down to
    whole steps. A box is cut into points.

    Args:
        max_period: P, up to 48; by default the problem's main season, rounded up, or 24 if it is
            unknown. The authors' largest period is 11.
        bonus: c.
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
        # Noise as a share of the rewards' spread, or a tenth if unknown.
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
        """Return an untried arm, or the one of the greatest prediction and bonus."""
        untried = np.flatnonzero(self._count == 0)
        if len(untried):
            return self.any_of(untried)
        z, middle = self.features(t), sum(self.scale.interval) / 2.0
        mean = np.array([z @ model.coefficients(middle) for model in self.models])
        width = self._bonus * self.scale.sigma * math.sqrt(math.log(self._count.sum()))
        return self.best_of(mean + width / self._count)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Add to the arm's regression."""
        self.models[arm].add(self.features(t), reward)
        self._count[arm] += 1


def ramanujan_sum(q: int) -> Array:
    """Return c_q(t) for t = 0..q-1: whole numbers.

    >>> ramanujan_sum(4).tolist()
    [2.0, 0.0, -2.0, 0.0]
    """
    k = np.arange(1, q + 1)
    k = k[np.gcd(k, q) == 1]
    waves = np.cos(2.0 * np.pi * np.outer(np.arange(q), k) / q)
    sums: Array = np.round(waves.sum(axis=1)) + 0.0
    return sums
