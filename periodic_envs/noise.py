"""Noise of rewards, which is drawn at reset so that it does not depend on the actions."""

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
        kind: "gaussian"; "student-t", which has ``df`` degrees of freedom and is scaled to the
            standard deviation ``std``; "heteroscedastic", which is Gaussian with a standard
            deviation that varies by a factor of three within each season and has the root mean
            square ``std``; "poisson", for rewards that are counts (it needs finitely many actions
            with non-negative mean rewards); or "none", for rewards that are measurements and need
            no added noise.
        std: Standard deviation; ignored if ``kind`` is "poisson" or "none".
        df: Degrees of freedom of the kind "student-t", greater than 2.
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
        """Noise standard deviation that agents may know; None for "poisson" and "none"."""
        return None if self.kind in ("none", "poisson") else float(self.std)

    def draw(self, rng: np.random.Generator, process: RewardProcess, times: Array) -> Array:
        """Draw the errors of the rewards, shape (T,), or Poisson rewards, shape (T, actions)."""
        if self.kind == "none":
            return np.zeros(len(times))
        if self.kind == "poisson":
            return _counts(rng, process, times)
        if self.kind == "student-t":
            # Student's t distribution has the variance df / (df - 2).
            return self.std * math.sqrt(1.0 - 2.0 / self.df) * rng.standard_t(self.df, len(times))
        errors = self.std * rng.standard_normal(len(times))
        if self.kind == "heteroscedastic":
            errors *= _swing(times / process.period)
        return errors

    def draw_many(
        self, rngs: Sequence[np.random.Generator], draws: Draws | OtherDraws, times: Array
    ) -> Array:
        """Draw the noise of many copies, shape (T, copies) or (T, copies, actions)."""
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
    """Return the standard deviations of heteroscedastic noise, divided by ``std``.

    The result is ``1 + sin(2 pi phase) / 2``, scaled to a mean square of 1.
    """
    return np.asarray((1.0 + 0.5 * np.sin(2.0 * np.pi * phase)) / np.sqrt(1.0 + 0.125))


def _counts(rng: np.random.Generator, process: Any, times: Array) -> Array:
    if not isinstance(process, FiniteProcess) or process.values.min() < 0:
        raise ValueError(
            "noise='poisson' needs finitely many actions with non-negative mean rewards, which "
            "this world does not have: choose noise='gaussian'"
        )
    # The counts of all actions are drawn, so that all agents face the same counts.
    means = process.values[process.rows[times.astype(np.intp)]]
    return rng.poisson(means).astype(np.float64)
