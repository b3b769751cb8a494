"""Tokens: the features of a decision besides its relations to others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from periodic_in_context.relations import Floats

CONTENT = 10
_NOISE_KNOWN, _LOG_NOISE, _NOISE_UNIT = 7, 8, 3.0
"""Where a known noise stands in a token, and what its logarithm is divided by."""
FIRST_SCALE = 4
"""Rewards that make a scale, where none is known."""
MAX_SCALED_REWARD = 8.0
"""Rewards further than this from the mean, in standard deviations, are cut off."""
MIN_NOISE, MAX_NOISE = 0.01, 10.0
"""Bounds of a known noise, in standard deviations of the rewards."""


@dataclass(frozen=True)
class Situation:
    """Features of a world that never change.

    Attributes:
        n_arms: How many arms there are.
        has_features: Whether they have coordinates.
        period: The season, or None.
        noise: Standard deviation of the noise in scaled rewards, or None.
    """

    n_arms: int
    has_features: bool
    period: float | None
    noise: float | None

    def content(self) -> Floats:
        """The content of a token without a reward, shape (10,)."""
        found = np.zeros(CONTENT, np.float32)
        found[3:6] = self.has_features, self.period is not None, np.log(self.n_arms) / 4.0
        if self.period is not None:
            found[6] = np.log(self.period) / 4.0
        if self.noise is not None:
            noise = np.clip(self.noise, MIN_NOISE, MAX_NOISE)
            found[_NOISE_KNOWN], found[_LOG_NOISE] = 1.0, np.log(noise) / _NOISE_UNIT
        return found


def known_noise(content: Floats) -> Floats:
    """The noise that tokens (..., 10) tell, in scaled rewards; NaN where it is not known."""
    noise = np.exp(_NOISE_UNIT * content[..., _LOG_NOISE])
    found: Floats = np.where(content[..., _NOISE_KNOWN] > 0.0, noise, np.float32(np.nan))
    return found


def with_reward(content: Floats, reward: float, *, warm: bool, count: int) -> Floats:
    """The token of a past decision.

    Args:
        content: Of the situation.
        reward: What it gave, scaled.
        warm: True for decisions of another policy before the start.
        count: Decisions before it.
    """
    found = with_count(content, count)
    found[0], found[1], found[2] = cut_off(reward), 1.0, warm
    return found


def with_count(content: Floats, count: int) -> Floats:
    """The token of a question: what would an arm give now, after so many rewards?"""
    found: Floats = content.copy()
    found[9] = np.log1p(count) / 6.0
    return found


def cut_off(reward: float) -> float:
    """A scaled reward within the bounds that the network was trained for."""
    return float(np.clip(reward, -MAX_SCALED_REWARD, MAX_SCALED_REWARD))
