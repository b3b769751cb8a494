"""UCB1 for stationary rewards."""

from __future__ import annotations

import math
from typing import Any

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import positive
from agents.zoo.arms.arm_agent import ArmAgent
from agents.zoo.arms.rewards import Means


class UCB1(ArmAgent):
    """UCB1: the arm with the greatest upper confidence bound; the confidence level grows with time.

    Pseudo-code::

        try every arm once
        a_t <- argmax_a mean[a] + B sqrt(xi log n / n[a]),   n = sum_a n[a]

    Reference: [@auer2002finite], with xi = 2.

    Deviations from the paper: rewards need not lie in [0, 1]. Instead of the range of the rewards,
    B is 2 sigma, because rewards in an interval of width 2 sigma are sigma-sub-Gaussian. Ties are
    broken at random. The count n is the number of rewards, not of steps, so that rewards may be
    late or missing.

    Args:
        xi: Factor xi of exploration.
        common: Arguments of every agent for arms, see :class:`ArmAgent`.
    """

    name = "ucb1"

    def __init__(self, problem: Problem, rng: Rng, *, xi: float = 2.0, **common: Any) -> None:
        self._xi = positive("xi", xi)
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Create the statistics of the arms, without rewards."""
        self._means, self._n = Means(self.n_arms), 0

    def choose(self, t: float, observation: Array) -> int:
        """Return an untried arm, or the arm with the greatest bound."""
        width = self.scale.width * math.sqrt(self._xi * math.log(self._n)) if self._n > 1 else 0.0
        return self.highest_bound(self._means, width)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Update the mean of the arm; the order and the delay of rewards do not matter."""
        self._means.add(arm, reward)
        self._n += 1
