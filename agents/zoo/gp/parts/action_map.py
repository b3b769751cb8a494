"""Actions as the environment takes them, and as a kernel sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.base import Problem


@dataclass(frozen=True)
class ActionSpaceMap:
    """Arms are the same on both sides; a box is [-1, 1] outside and as wide as it is inside.

    Attributes:
        problem: Says which actions there are.
    """

    problem: Problem

    def from_space(self, action: Any) -> Any:
        """From the action space to the coordinates of the kernel: one action, or several."""
        if self.problem.n_actions is not None:
            return action
        return np.asarray(action, dtype=np.float64) * self.problem.action_half_width

    def to_space(self, action: Any) -> Any:
        """From the coordinates of the kernel to an action that can be taken."""
        if self.problem.n_actions is not None:
            return int(action)
        scaled = np.asarray(action) / self.problem.action_half_width
        return np.clip(scaled, -1.0, 1.0).astype(np.float32)

    def asked(self, actions: Any) -> Any:
        """The actions of a question, in the coordinates of the kernel; None means all arms."""
        if actions is not None:
            return self.from_space(actions)
        if self.problem.n_actions is None:
            raise ValueError("actions must be given for a box: an array (q, d) in [-1, 1]")
        return None
