"""The scale on which rewards are believed to be Gaussian."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from agents.gp import Array, Normaliser

TRANSFORMS = ("identity", "log1p")


@dataclass(frozen=True)
class RewardTransform:
    """reward -> y = (T(reward) - mean) / scale, with T increasing.

    T is the identity, or sign(r) log(1 + |r|): log1p for rewards from 0 on, its mirror image below.
    A bound on y is a bound on the reward, so upper confidence bounds may be compared as they are.

    Attributes:
        transform: "identity" or "log1p".
        normaliser: Of the transformed rewards.
    """

    transform: str = "identity"
    normaliser: Normaliser = field(default_factory=Normaliser)

    @classmethod
    def of(cls, rewards: Array, transform: str) -> RewardTransform:
        """By the mean and the standard deviation of some rewards."""
        return cls(transform, Normaliser.of(cls(transform).forward(rewards)))

    def forward(self, reward: ArrayLike) -> Array:
        """Rewards to y."""
        r = np.asarray(reward, dtype=np.float64)
        bent = np.sign(r) * np.log1p(np.abs(r)) if self.transform == "log1p" else r
        return self.normaliser.forward(bent)

    def backward(self, y: ArrayLike) -> Array:
        """y to rewards."""
        bent = self.normaliser.backward(y)
        return np.sign(bent) * np.expm1(np.abs(bent)) if self.transform == "log1p" else bent

    def log_slope(self, reward: Array) -> float:
        """Sum of log dy / dreward: what makes evidences on different scales comparable."""
        slope = -np.log(self.normaliser.scale) * np.ones(len(reward))
        if self.transform == "log1p":
            slope -= np.log1p(np.abs(reward))
        return float(slope.sum())
