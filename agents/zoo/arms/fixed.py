"""One choice, and stay with it."""

from __future__ import annotations

import numpy as np

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.zoo.arms.arm_agent import ArmAgent


class Fixed(ArmAgent):
    """The best arm so far, after trying each once: what ignoring time and chance costs.

    Pseudo-code::

        try every arm once
        then a_t <- argmax_a mean[a]

    Deviations from the paper: none of its methods. A box is cut into ``box_arms`` points.

    Args:
        box_arms: Number of points of a box.
    """

    name = "fixed"
    family = "baselines"
    kept = ("_count", "_total")

    def __init__(self, problem: Problem, rng: Rng, *, box_arms: int = 20) -> None:
        super().__init__(problem, rng, box_arms=box_arms)

    def start(self) -> None:
        """Counts and sums of rewards."""
        self._count, self._total = np.zeros(self.n_arms), np.zeros(self.n_arms)

    def choose(self, t: float, observation: Array) -> int:
        """An untried arm, or the best so far."""
        untried = np.flatnonzero(self._count == 0)
        return self.any_of(untried) if len(untried) else self.best_of(self._total / self._count)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Add to the arm's mean; order and delay do not matter."""
        self._count[arm] += 1
        self._total[arm] += reward
