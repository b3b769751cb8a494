"""Optimism in the face of uncertainty, in a world that does not change."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from agents.base import Problem
from agents.zoo.arm_agent import ArmAgent
from agents.zoo.settings import positive

Array = NDArray[np.float64]


class UCB1(ArmAgent):
    """UCB1: the arm whose mean may be largest, at a confidence that grows with time.

    Pseudo-code::

        try every arm once
        a_t <- argmax_a mean[a] + B sqrt(xi log n / n[a]),   n = sum_a n[a]

    Reference: [@auer2002finite], xi = 2.

    Deviations from the paper: rewards need not lie in [0, 1]; B = 2 sigma is the width of bounded
    rewards of the same sub-Gaussian scale (:mod:`agents.zoo.reward_scale`). Ties are broken at
    random. n counts rewards, so that late and missing ones are allowed.

    Args:
        problem: What is known.
        rng: Breaks ties.
        xi: Exploration.
        common: Those of :class:`ArmAgent`.
    """

    name = "ucb1"
    kept: ClassVar[tuple[str, ...]] = ("_count", "_total", "_n")

    def __init__(
        self, problem: Problem, rng: np.random.Generator, *, xi: float = 2.0, **common: Any
    ) -> None:
        self._xi = positive("xi", xi)
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Counts and sums of rewards, as lists: quicker than arrays for a few arms."""
        self._count, self._total, self._n = [0] * self.n_arms, [0.0] * self.n_arms, 0

    def choose(self, t: float, observation: Array) -> int:
        """An untried arm, or the greatest bound."""
        return self.highest_bound(self._count, self._total, self.width(self._n))

    def width(self, n: int) -> float:
        """What is divided by the root of a count: B sqrt(xi log n)."""
        return self.scale.width * math.sqrt(self._xi * math.log(n)) if n > 1 else 0.0

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Add to the arm's mean; order and delay do not matter."""
        self._count[arm] += 1
        self._total[arm] += reward
        self._n += 1
