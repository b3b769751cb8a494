"""How high everything is at the moment, as the agent can know it: a running mean of its rewards.

What lifts all arms does not lift them alike: in a city full of smog streets are worse off than
parks. So an arm may have a slope of its own against the reward level (``structures.py``). The
reward level of a moment is what was known when it was decided, and a context like any other.
"""

from __future__ import annotations

import numpy as np

from agents.auto.history import MAX_HISTORY, History
from agents.auto.transform import RewardTransform
from agents.gp import Array, ContextLinear
from agents.state import Stateful

RATE = 0.2
"""Weight of the newest reward."""
FLAT = 1e-6
"""Relative spread of the rewards below which there is no reward level."""


class RewardLevel(Stateful):
    """A running mean, on a logarithmic scale, and what it was when decisions were made.

    Attributes:
        mean: Of the rewards; None before the first.
        decided: The mean at the times of decisions whose rewards have not come yet.
    """

    kept = ("mean", "decided")

    def __init__(self) -> None:
        self.mean: float | None = None
        self.decided: dict[float, float] = {}

    def decide(self, t: float) -> Array:
        """The reward level as a context, shape (1,), to be remembered until the reward comes."""
        if self.mean is not None:
            self.decided[t] = self.mean
            if len(self.decided) > MAX_HISTORY:
                del self.decided[next(iter(self.decided))]
        return self.now

    @property
    def now(self) -> Array:
        """The reward level as a context, shape (1,)."""
        return _bent(np.array([self.mean or 0.0]))

    def rise(self, t: float, reward: float) -> Array:
        """Take in a reward; returns the reward level at its decision, or now if there was none.

        Before the first reward nothing is known of any reward level: it is its own.
        """
        before = reward if self.mean is None else self.mean
        self.mean = before + RATE * (reward - before)
        return _bent(np.array([self.decided.pop(t, before)]))


def line(history: History) -> ContextLinear:
    """Slopes against the reward level, in units of what the rewards so far have been."""
    bent = _bent(history.reward)
    centre, spread = float(bent.mean()), float(bent.std())
    return ContextLinear(centre, spread if spread > FLAT * (1.0 + abs(centre)) else 1.0)


def _bent(reward: Array) -> Array:
    return RewardTransform("log1p").forward(reward)
