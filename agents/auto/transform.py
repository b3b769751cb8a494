"""The scale on which rewards are believed to be Gaussian."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from agents.gp import Array, Normaliser

TRANSFORMS = ("identity", "sqrt", "log1p")


@dataclass(frozen=True)
class RewardTransform:
    """reward -> y = (T(reward) - mean) / scale, with T increasing.

    T is the identity, or sign(r) T'(|r|) with T' = log(1 + r), for rewards that scatter in
    proportion to their mean, or T' = 2 sqrt(r + 1/4) - 1, for counts, which scatter with its root.
    A bound on y is a bound on the reward, so upper confidence bounds may be compared as they are.

    Attributes:
        transform: "identity", "sqrt" or "log1p".
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
        if self.transform == "log1p":
            r = np.sign(r) * np.log1p(np.abs(r))
        elif self.transform == "sqrt":
            r = np.sign(r) * (2.0 * np.sqrt(np.abs(r) + 0.25) - 1.0)
        return self.normaliser.forward(r)

    def backward(self, y: ArrayLike) -> Array:
        """y to rewards."""
        bent = self.normaliser.backward(y)
        if self.transform == "log1p":
            return np.asarray(np.sign(bent) * np.expm1(np.abs(bent)))
        if self.transform == "sqrt":
            return np.asarray(np.sign(bent) * (((np.abs(bent) + 1.0) / 2.0) ** 2 - 0.25))
        return bent

    def log_slope(self, reward: Array) -> float:
        """Sum of log dy / dreward: what makes evidences on different scales comparable."""
        slope = -np.log(self.normaliser.scale) * np.ones(len(reward))
        if self.transform == "log1p":
            slope -= np.log1p(np.abs(reward))
        elif self.transform == "sqrt":
            slope -= 0.5 * np.log(np.abs(reward) + 0.25)
        return float(slope.sum())
