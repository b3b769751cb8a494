"""What an agent has decided and has not heard of yet: kept on the agent's side of every line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.base import Agent

Arrived = Sequence[tuple[int, float]]
"""Numbers of decisions, from 0 on, and their rewards, in the order in which they arrive."""


class Decisions:
    """Decisions whose rewards are under way: all but the last one only where rewards come late."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[Any, Any]] = {}
        self._count = 0

    def add(self, observation: Any, action: Any) -> None:
        """Keep the next decision."""
        self._open[self._count] = (observation, action)
        self._count += 1

    def tell(self, agent: Agent, arrived: Arrived) -> None:
        """Let the agent learn what decisions gave, each with the observation it was made on."""
        for number, reward in arrived:
            agent.update(*self._open.pop(number), reward)
