"""Discounted UCB."""

from __future__ import annotations

import math
from typing import Any

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import positive, share
from agents.zoo.arms.arm_agent import ArmAgent
from agents.zoo.arms.rewards import Means

FORGOTTEN, LARGE = 1e-200, 1e100
"""Weight below which a reward is ignored, and largest stored weight."""


class DUCB(ArmAgent):
    """Discounted UCB: UCB in which a reward from k steps ago has the weight gamma^k.

    Pseudo-code::

        try every arm once
        N[a], mean[a] <- discounted by gamma per step;  N <- sum_a N[a]
        a_t <- argmax_a mean[a] + 2 B sqrt(xi log N / N[a])

    Reference: [@garivier2011upper], with gamma = 1 - sqrt(U / T) / 4 for U changes (U = 1 here),
    and xi > 1/2. The default xi = 0.6 is common in later comparisons; we could not confirm the
    value in the paper's simulations.

    Deviations from the paper: rewards need not lie in [0, 1]. Instead of the range of the rewards,
    B is 2 sigma, because rewards in an interval of width 2 sigma are sigma-sub-Gaussian. The weight
    of a reward depends on the time of its decision, so a late reward has the same weight as a
    reward without delay.

    Args:
        gamma: Discount gamma per step; by default 1 - 1 / (4 sqrt(T)) for the horizon T.
        xi: Factor xi of exploration.
        common: Arguments of every agent for arms, see :class:`ArmAgent`.
    """

    name = "d-ucb"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        gamma: float | None = None,
        xi: float = 0.6,
        **common: Any,
    ) -> None:
        usual = 1.0 - 0.25 / math.sqrt(problem.likely_horizon)
        self._gamma = usual if gamma is None else share("gamma", gamma)
        self._most = math.log(LARGE) / -math.log(self._gamma)
        self._xi = positive("xi", xi)
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Create the discounted statistics of the arms, without rewards.

        The stored weights gamma^(zero - t) grow with time, so that old sums need not be rescaled.
        ``zero`` is moved before the weights become too large.
        """
        self._means, self._now, self._zero = Means(self.n_arms), -math.inf, -math.inf

    def choose(self, t: float, observation: Array) -> int:
        """Return an untried arm, or the arm with the greatest bound."""
        means, now, n = self._means, self._now, 0.0
        if not means.untried:
            now = now if now > t - 1.0 else t - 1.0
            if now - self._zero > self._most:
                self._move(now)
            fade = self._gamma ** (now - self._zero)  # N[a] = fade count[a]
            n = fade * sum(means.count)
        spread = math.sqrt(self._xi * math.log(n) / fade) if n > 1.0 else 0.0
        return self.highest_bound(means, 2.0 * self.scale.width * spread)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Add the reward with the weight for the time of its decision, even if it is late."""
        if t > self._now:
            self._now = t
        if t - self._zero > self._most:
            self._move(t)
        weight = self._gamma ** (self._zero - t)
        if weight > FORGOTTEN:
            self._means.add(arm, reward, weight)

    def _move(self, t: float) -> None:
        """Rescale the stored weights, so that a reward of time t has the weight 1."""
        self._means.fade(self._gamma ** (t - self._zero), FORGOTTEN)
        self._zero = t
