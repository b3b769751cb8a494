"""Being told that the world has changed."""

from __future__ import annotations

import math

from agents.arrays import Array
from agents.base import Problem, time_of
from agents.checks import require
from agents.state import Stateful


class Notice(Stateful):
    """An entry of the observation that is above 0 when the world has just changed.

    Args:
        problem: Whose observations have it, or have it not: then nothing is ever told.
        entry: Its name; None if nobody listens.

    Attributes:
        since: When the world last changed.
    """

    kept = ("since",)

    def __init__(self, problem: Problem, entry: str | None) -> None:
        text = entry is None or isinstance(entry, str)
        require(text, "restart_on is the name of an entry of the observation", entry)
        self._places = [i for i, name in enumerate(problem.observation_fields) if name == entry]
        self.since = -math.inf

    @property
    def heeded(self) -> bool:
        """Whether there is an entry to listen to."""
        return bool(self._places)

    def tells(self, observation: Array) -> bool:
        """Whether an observation tells of a change, which is then remembered."""
        told = any(observation[place] > 0 for place in self._places)
        if told:
            self.since = time_of(observation)
        return told
