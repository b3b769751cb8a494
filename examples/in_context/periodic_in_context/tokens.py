"""Tokens, which contain the features of a decision except its relations to other decisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from periodic_in_context.relations import Floats

CONTENT = 10
_NOISE_KNOWN, _LOG_NOISE, _NOISE_UNIT = 7, 8, 3.0
"""Positions of the flag and of the logarithm of a known noise, and divisor of the logarithm."""
FIRST_SCALE = 4
"""Number of rewards from which the first reward scale is computed, if the scale is unknown."""
MAX_SCALED_REWARD = 8.0
"""Maximum magnitude of a scaled reward; larger rewards are clipped."""
MIN_NOISE, MAX_NOISE = 0.01, 10.0
"""Bounds of a known noise, in standard deviations of the rewards."""


@dataclass(frozen=True)
class Situation:
    """Features of a world that never change.

    Attributes:
        n_arms: Number of arms.
        has_features: True if the arms have coordinates.
        period: Length of the season in steps, or None.
        noise: Standard deviation of the noise in scaled rewards, or None.
    """

    n_arms: int
    has_features: bool
    period: float | None
    noise: float | None

    def content(self) -> Floats:
        """Return the content of a token without a reward, shape (10,)."""
        found = np.zeros(CONTENT, np.float32)
        found[3:6] = self.has_features, self.period is not None, np.log(self.n_arms) / 4.0
        if self.period is not None:
            found[6] = np.log(self.period) / 4.0
        if self.noise is not None:
            noise = np.clip(self.noise, MIN_NOISE, MAX_NOISE)
            found[_NOISE_KNOWN], found[_LOG_NOISE] = 1.0, np.log(noise) / _NOISE_UNIT
        return found


def known_noise(content: Floats) -> Floats:
    """Return the noise standard deviations in tokens of shape (..., 10); NaN if unknown.

    The standard deviations refer to scaled rewards.
    """
    noise = np.exp(_NOISE_UNIT * content[..., _LOG_NOISE])
    found: Floats = np.where(content[..., _NOISE_KNOWN] > 0.0, noise, np.float32(np.nan))
    return found


def with_reward(content: Floats, reward: float, *, warm: bool, count: int) -> Floats:
    """Return the token of a past decision.

    Args:
        content: Content of a token without a reward.
        reward: Scaled reward of the decision.
        warm: True if the decision is part of the warm start.
        count: Number of earlier decisions.
    """
    found = with_count(content, count)
    found[0], found[1], found[2] = cut_off(reward), 1.0, warm
    return found


def with_count(content: Floats, count: int) -> Floats:
    """Return the token of a query about the mean reward of an arm after ``count`` decisions."""
    found: Floats = content.copy()
    found[9] = np.log1p(count) / 6.0
    return found


def cut_off(reward: float) -> float:
    """Return a scaled reward, clipped to the range for which the network was trained."""
    return float(np.clip(reward, -MAX_SCALED_REWARD, MAX_SCALED_REWARD))
