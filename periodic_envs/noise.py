"""Noise of rewards, drawn at reset so that it is independent of actions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.draws import Draws, OtherDraws
from periodic_envs.process import FiniteProcess, RewardProcess

KINDS = ("gaussian", "heteroscedastic", "none", "poisson", "student-t")


@dataclass(frozen=True)
class Noise:
    """Distribution of rewards around their mean.

    Attributes:
        kind: "gaussian"; "student-t" with ``df`` degrees of freedom, scaled to the same standard
            deviation; "heteroscedastic", Gaussian with a standard deviation that swings by a
            factor of three within each season and has ``std`` as its root mean square;
            "poisson", counts (finite actions with non-negative means; ``std`` is not used); or
            "none": rewards are measurements with unknown noise.
        std: standard deviation.
        df: degrees of freedom of "student-t", above 2.
    """

    kind: str = "gaussian"
    std: float = 1.0
    df: float = 3.0

    def __post_init__(self) -> None:
        checks.one_of("noise", self.kind, KINDS)
        checks.at_least("noise_std", self.std, 0.0)
        checks.greater("noise_df", self.df, 2.0)

    @property
    def public_std(self) -> float | None:
        """Standard deviation for agents; None if it is not constant or not known."""
        return None if self.kind in ("none", "poisson") else float(self.std)

    def draw(self, rng: np.random.Generator, process: RewardProcess, times: Array) -> Array:
        """Draw errors to add to the mean, shape (T,); for counts the rewards, shape (T, n)."""
        if self.kind == "none":
            return np.zeros(len(times))
        if self.kind == "poisson":
            return _counts(rng, process, times)
        if self.kind == "student-t":
            return self.std * math.sqrt(1.0 - 2.0 / self.df) * rng.standard_t(self.df, len(times))
        errors = self.std * rng.standard_normal(len(times))
        if self.kind == "heteroscedastic":
            errors *= _swing(times / process.period)
        return errors

    def draw_many(
        self, rngs: Sequence[np.random.Generator], draws: Draws | OtherDraws, times: Array
    ) -> Array:
        """Draw the noise of many copies, each from its generator: (T, copies) or (T, copies, n)."""
        if self.kind == "none":
            return np.broadcast_to(0.0, (len(times), len(rngs)))
        if self.kind == "gaussian":
            errors = np.empty((len(rngs), len(times)))
            for rng, row in zip(rngs, errors, strict=True):
                rng.standard_normal(out=row)
            return np.ascontiguousarray((self.std * errors).T)
        pairs = enumerate(rngs)
        return np.stack([self.draw(rng, draws[i], times) for i, rng in pairs], axis=1)


def _swing(phase: Array) -> Array:
    """Return 1 + sin/2, scaled to a mean square of one."""
    return np.asarray((1.0 + 0.5 * np.sin(2.0 * np.pi * phase)) / np.sqrt(1.0 + 0.125))


def _counts(rng: np.random.Generator, process: Any, times: Array) -> Array:
    if not isinstance(process, FiniteProcess) or process.values.min() < 0:
        raise ValueError(
            "noise='poisson' needs a table of non-negative mean rewards, which this world lacks; "
            "choose noise='gaussian'"
        )
    # Counts of all actions are drawn, so that comparisons are paired.
    means = process.values[process.rows[times.astype(np.intp)]]
    return rng.poisson(means).astype(np.float64)
