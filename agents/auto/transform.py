"""Transforms of rewards to a scale on which they are modelled as Gaussian."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from agents.gp import Array, Normaliser

TRANSFORMS = ("identity", "sqrt", "log1p")
"""Names of the transforms."""


@dataclass(frozen=True)
class RewardTransform:
    """Increasing transform y = (T(reward) - mean) / scale.

    T(r) is r ("identity") or sign(r) T'(|r|). For "log1p", T'(r) = log(1 + r) is suitable for
    rewards with a standard deviation proportional to their mean. For "sqrt",
    T'(r) = 2 sqrt(r + 1/4) - 1 is suitable for counts, whose standard deviation is the square root
    of their mean. Since T is increasing, upper confidence bounds can be compared on the transformed
    scale.

    Attributes:
        transform: "identity", "sqrt" or "log1p".
        normaliser: Mean and scale of the transformed rewards.
    """

    transform: str = "identity"
    normaliser: Normaliser = field(default_factory=Normaliser)

    @classmethod
    def of(cls, rewards: Array, transform: str) -> RewardTransform:
        """Return a transform that gives the rewards mean 0 and standard deviation 1."""
        return cls(transform, Normaliser.of(cls(transform).forward(rewards)))

    def forward(self, reward: ArrayLike) -> Array:
        """Return the transformed rewards y."""
        r = np.asarray(reward, dtype=np.float64)
        if self.transform == "log1p":
            r = np.sign(r) * np.log1p(np.abs(r))
        elif self.transform == "sqrt":
            r = np.sign(r) * (2.0 * np.sqrt(np.abs(r) + 0.25) - 1.0)
        return self.normaliser.forward(r)

    def backward(self, y: ArrayLike) -> Array:
        """Return the rewards whose transforms are y."""
        transformed = self.normaliser.backward(y)
        if self.transform == "log1p":
            return np.asarray(np.sign(transformed) * np.expm1(np.abs(transformed)))
        if self.transform == "sqrt":
            return np.asarray(
                np.sign(transformed) * (((np.abs(transformed) + 1.0) / 2.0) ** 2 - 0.25)
            )
        return transformed

    def log_slope(self, reward: Array) -> float:
        """Return the sum of log dy/dreward over the rewards.

        The sum of this value and the log density of y is the log density of the rewards.
        """
        slope = -np.log(self.normaliser.scale) * np.ones(len(reward))
        if self.transform == "log1p":
            slope -= np.log1p(np.abs(reward))
        elif self.transform == "sqrt":
            slope -= 0.5 * np.log(np.abs(reward) + 0.25)
        return float(slope.sum())
