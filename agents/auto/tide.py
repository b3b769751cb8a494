"""How high everything is at the moment, as the agent can know it: a running mean of its rewards.

A tide does not lift all arms alike: in a city full of smog streets are worse off than parks. So an
arm may have a slope of its own against the tide (``structures.py``). The tide of a moment is what
was known when it was decided, and it is a context like any other.
"""

from __future__ import annotations

import numpy as np

from agents.auto.past import MOST, Past
from agents.auto.scale import Scale
from agents.gp import Array, ContextLinear

RATE = 0.2
"""Weight of the newest reward."""
FLAT = 1e-6
"""Relative spread of the rewards below which there is no tide."""


class Tide:
    """A running mean, on a logarithmic scale, and what it was when decisions were made.

    Attributes:
        mean: Of the rewards; None before the first.
        decided: The mean at the times of decisions whose rewards have not come yet.
    """

    def __init__(self) -> None:
        self.mean: float | None = None
        self.decided: dict[float, float] = {}

    def decide(self, t: float) -> Array:
        """The tide as a context, shape (1,), to be remembered until the reward comes."""
        if self.mean is not None:
            self.decided[t] = self.mean
            if len(self.decided) > MOST:
                del self.decided[next(iter(self.decided))]
        return self.now

    @property
    def now(self) -> Array:
        """The tide as a context, shape (1,)."""
        return _bent(np.array([self.mean or 0.0]))

    def rise(self, t: float, reward: float) -> Array:
        """Take in a reward; returns the tide at its decision, or now if there was none.

        Before the first reward nothing is known of any tide: it is its own.
        """
        before = reward if self.mean is None else self.mean
        self.mean = before + RATE * (reward - before)
        return _bent(np.array([self.decided.pop(t, before)]))


def line(past: Past) -> ContextLinear:
    """Slopes against the tide, in units of what the rewards so far have been."""
    bent = _bent(past.reward)
    centre, spread = float(bent.mean()), float(bent.std())
    return ContextLinear(centre, spread if spread > FLAT * (1.0 + abs(centre)) else 1.0)


def _bent(reward: Array) -> Array:
    return Scale("log1p").forward(reward)
