"""With what probability the log chose each arm: as logged, or estimated from shares."""

from __future__ import annotations

import numpy as np

from periodic_decisions.logs.log import Integers
from periodic_decisions.logs.seasons import Seasons
from periodic_envs.arrays import Array

PRIOR_ROWS = 1.0
"""Rows of every phase that are thought up to smooth shares: they are as all phases together are."""


def share_by_phase(phase: Integers, arm: Integers, phases: int, arms: int) -> Array:
    """Share of each arm in each phase, smoothed towards its share in all rows; (phases, arms)."""
    counts = count_by_phase(phase, arm, phases, arms)
    overall = counts.sum(0) / counts.sum()
    smoothed = counts + PRIOR_ROWS * overall
    return np.asarray(smoothed / smoothed.sum(1, keepdims=True))


def count_by_phase(phase: Integers, arm: Integers, phases: int, arms: int) -> Array:
    """Number of rows of each arm in each phase, shape (phases, arms)."""
    counts = np.bincount(phase * arms + arm, minlength=phases * arms)
    return counts.reshape(phases, arms).astype(np.float64)


def estimate_probabilities(seasons: Seasons, arm: Integers, arms: int) -> Array:
    """The share in its phase of the arm of each row, shape (n,).

    It is the probability of the row where the log chose by the phase and by chance alone. Where it
    looked at more than the phase, and that tells something about the rewards, estimates are biased.
    """
    shares = share_by_phase(seasons.phase, arm, seasons.phases, arms)
    return np.asarray(shares[seasons.phase, arm])
