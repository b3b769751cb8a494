"""GP agents that look at the clock."""

from __future__ import annotations

import math
from typing import Any

from agents.zoo.gp.gp_agent import GPAgent


class ClockedGPAgent(GPAgent):
    """Base of the GP agents that forget by time: they know how late it is.

    Attributes:
        now: The latest time so far; minus infinity before the first.
    """

    now: float = -math.inf

    def state(self) -> dict[str, Any]:
        """Also the time."""
        return {**super().state(), "now": self.now if math.isfinite(self.now) else None}

    def restore(self, state: dict[str, Any]) -> None:
        """Put ``state()`` back."""
        super().restore(state)
        self.now = -math.inf if state["now"] is None else float(state["now"])
