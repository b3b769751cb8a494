"""The best arm after one trial of each."""

from __future__ import annotations

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.zoo.arms.arm_agent import ArmAgent
from agents.zoo.arms.rewards import Means


class Fixed(ArmAgent):
    """The best arm so far, after trying each once: what ignoring time and chance costs.

    Pseudo-code::

        try every arm once
        then a_t <- argmax_a mean[a]

    Deviations from the paper: there is no paper. A box is cut into ``box_arms`` points.

    Args:
        box_arms: Number of points of a box.
    """

    name = "fixed"

    def __init__(self, problem: Problem, rng: Rng, *, box_arms: int = 20) -> None:
        super().__init__(problem, rng, box_arms=box_arms)

    def start(self) -> None:
        """Begin without any rewards."""
        self._means = Means(self.n_arms)

    def choose(self, t: float, observation: Array) -> int:
        """Return an untried arm, or the best so far."""
        return self.highest_bound(self._means, 0.0)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Add to the arm's mean; order and delay do not matter."""
        self._means.add(arm, reward)
