"""How high everything is at the moment, as the agent can know it: a running mean of its rewards.

A tide does not lift all arms alike: in a city full of smog streets are worse off than parks. So an
arm may have a slope of its own against the tide (``structures.py``). The tide of a moment is
what was known before its reward, and it is a context like any other.
"""

from __future__ import annotations

import numpy as np

from agents.auto.past import Past
from agents.auto.scale import Scale
from agents.gp import Array, ContextLinear

RATE = 0.2
"""Weight of the newest reward."""
LEAST_SPREAD = 1e-9


class Tide:
    """A running mean, on a logarithmic scale.

    Attributes:
        mean: Of the rewards; None before the first.
    """

    mean: float | None = None

    def rise(self, reward: float) -> None:
        """Take in a reward."""
        self.mean = reward if self.mean is None else self.mean + RATE * (reward - self.mean)

    @property
    def context(self) -> Array:
        """The tide as a context, shape (1,)."""
        return _bent(np.array([self.mean or 0.0]))


def line(past: Past) -> ContextLinear:
    """Slopes against the tide, in units of what the rewards so far have been."""
    bent = _bent(past.reward)
    return ContextLinear(float(bent.mean()), max(float(bent.std()), LEAST_SPREAD))


def _bent(reward: Array) -> Array:
    return Scale("log1p").forward(reward)
