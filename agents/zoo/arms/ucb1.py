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
    """UCB1: the arm whose mean may be largest, at a confidence that grows with time.

    Pseudo-code::

        try every arm once
        a_t <- argmax_a mean[a] + B sqrt(xi log n / n[a]),   n = sum_a n[a]

    Reference: [@auer2002finite], xi = 2.

    Deviations from the paper: rewards need not lie in [0, 1]. Instead of their range, B is 2
    sigma, the width of bounded rewards of the same sub-Gaussian scale. Ties are broken at random. n
    counts rewards, so that late and missing ones are allowed.

    Args:
        xi: Exploration.
        common: Those of :class:`ArmAgent`.
    """

    name = "ucb1"

    def __init__(self, problem: Problem, rng: Rng, *, xi: float = 2.0, **common: Any) -> None:
        self._xi = positive("xi", xi)
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Begin without any rewards."""
        self._means, self._n = Means(self.n_arms), 0

    def choose(self, t: float, observation: Array) -> int:
        """Return an untried arm, or the greatest bound."""
        width = self.scale.width * math.sqrt(self._xi * math.log(self._n)) if self._n > 1 else 0.0
        return self.highest_bound(self._means, width)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Add to the arm's mean; order and delay do not matter."""
        self._means.add(arm, reward)
        self._n += 1
