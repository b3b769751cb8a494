"""Uniformly random choice, which every agent should beat."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.saving import Saveable


class Random(Saveable):
    """Uniformly random choice, the baseline that learns nothing.

    Pseudo-code::

        for t = 1, 2, ...:
            a_t ~ uniform over the actions
    """

    name = "random"

    def __init__(self, problem: Problem, rng: Rng) -> None:
        self._space = problem.action_space

    def act(self, observation: Array) -> Any:
        """Draw an action uniformly at random."""
        if isinstance(self._space, spaces.Discrete):
            return int(self._rng.integers(self._space.n))
        return self._rng.uniform(-1.0, 1.0, self._space.shape).astype(np.float32)

    def update(self, observation: Array, action: Any, reward: float) -> None:
        """Ignore the reward."""
