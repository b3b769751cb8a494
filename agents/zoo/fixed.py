"""One choice, and stay with it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.base import Problem
from agents.gp.posterior import require_finite
from agents.storage import Saveable
from agents.zoo.arms import arms_of, as_action, nearest_arm, relive

Array = NDArray[np.float64]


class Fixed(Saveable):
    """The best arm so far, after trying each once: what ignoring time and chance costs.

    Pseudo-code::

        try every arm once
        then a_t <- argmax_a mean[a]

    Deviations from the paper: none of its methods. A box is cut into ``box_arms`` points.

    Args:
        problem: What is known.
        rng: Breaks ties.
        box_arms: Number of points of a box.
    """

    name = "fixed"

    def __init__(self, problem: Problem, rng: np.random.Generator, *, box_arms: int = 20) -> None:
        self._arms = arms_of(problem, box_arms)
        self._count, self._total = np.zeros(len(self._arms)), np.zeros(len(self._arms))
        relive(self, problem.warm_start)

    def act(self, observation: Array) -> Any:
        """An untried arm, or the best so far."""
        untried = np.flatnonzero(self._count == 0)
        if len(untried):
            return as_action(self._arms, int(self._rng.choice(untried)))
        mean = self._total / self._count
        return as_action(self._arms, int(self._rng.choice(np.flatnonzero(mean == mean.max()))))

    def update(self, observation: Array, action: Any, reward: float) -> None:
        """Add to the arm's mean; order and delay do not matter, a NaN is ignored."""
        if not math.isnan(reward):
            require_finite(float(observation[0]), reward)
            arm = nearest_arm(self._arms, self._problem.checked(action))
            self._count[arm] += 1
            self._total[arm] += reward

    def state(self) -> dict[str, Any]:
        """The counts and sums."""
        return {"count": self._count, "total": self._total}

    def restore(self, state: dict[str, Any]) -> None:
        """Put ``state()`` back."""
        self._count[:], self._total[:] = state["count"], state["total"]
