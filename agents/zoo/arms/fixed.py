"""Best arm so far, after one trial of each arm."""

from __future__ import annotations

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.zoo.arms.arm_agent import ArmAgent
from agents.zoo.arms.rewards import Means


class Fixed(ArmAgent):
    """Best arm so far, after one trial of each arm: a baseline that ignores time and noise.

    Pseudo-code::

        try every arm once
        then a_t <- argmax_a mean[a]

    Deviations from the paper: this baseline does not come from a paper. A box is discretised into
    ``box_arms`` points.

    Args:
        box_arms: Number of points to which a box is discretised.
    """

    name = "fixed"

    def __init__(self, problem: Problem, rng: Rng, *, box_arms: int = 20) -> None:
        super().__init__(problem, rng, box_arms=box_arms)

    def start(self) -> None:
        """Create the statistics of the arms, without rewards."""
        self._means = Means(self.n_arms)

    def choose(self, t: float, observation: Array) -> int:
        """Return an untried arm, or the arm with the greatest mean so far."""
        return self.highest_bound(self._means, 0.0)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Update the mean of the arm; the order and the delay of rewards do not matter."""
        self._means.add(arm, reward)
