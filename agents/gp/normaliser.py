"""Rewards in their own unit, and in the unit of the posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from agents.arrays import Array


@dataclass(frozen=True)
class Normaliser:
    """An affine change of unit: reward = mean + scale * y.

    A posterior has prior mean 0 and works on y; this holds the prior mean and the scale.
    """

    mean: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean) and 0 < self.scale < np.inf):
            raise ValueError(f"need a finite mean and a positive scale, got {self}")

    @classmethod
    def of(cls, rewards: ArrayLike) -> Normaliser:
        """Sample mean and standard deviation; scale 1 if all rewards are equal to round-off."""
        values = np.asarray(rewards, dtype=np.float64)
        if not values.size:
            return cls()
        scale = float(values.std())
        varied = scale > 1e-9 * max(1.0, float(np.abs(values).max()))
        return cls(float(values.mean()), scale if varied else 1.0)

    def forward(self, reward: ArrayLike) -> Array:
        """Rewards to y."""
        return (np.asarray(reward, dtype=np.float64) - self.mean) / self.scale

    def backward(self, y: ArrayLike) -> Array:
        """y, or a posterior mean, to rewards."""
        return self.mean + self.scale * np.asarray(y, dtype=np.float64)
