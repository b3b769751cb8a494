"""Regret by phase of the season."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from periodic_envs.arrays import Array


def phase_bins(t: ArrayLike, period: float) -> NDArray[np.intp]:
    """The bin of the season that each time falls into, shape (steps,).

    A season is cut into ``round(period)`` bins of equal length, at least one. For a whole period
    that is one bin per phase; for 12.4 it is 12 bins of 12.4/12 steps.

    >>> phase_bins([0, 1, 23, 24, 25], 24).tolist()
    [0, 1, 23, 0, 1]
    """
    bins = number_of_bins(period)
    # Nudged: 62 is five seasons of 12.4 and belongs to bin 0, whatever round-off says.
    position = np.floor(np.asarray(t, dtype=np.float64) * bins / period + 1e-9)
    return position.astype(np.intp) % bins


def number_of_bins(period: float) -> int:
    """Bins of a season."""
    return max(1, round(period))


def regret_by_phase(regret: ArrayLike, t: ArrayLike, period: float) -> Array:
    """Mean regret of a step in each bin of the season, over runs and seasons.

    Args:
        regret: Regret of each step, shape (runs, steps).
        t: Time of each step, the same in all runs, shape (steps,).
        period: The season's length in steps, whole or not; see ``phase_bins``.

    Returns:
        Shape (bins,); NaN where no step fell into a bin.
    """
    bins = number_of_bins(period)
    where = phase_bins(t, period)
    steps = np.bincount(where, minlength=bins)
    total = np.bincount(where, weights=np.asarray(regret).mean(0), minlength=bins)
    return np.where(steps > 0, total / np.maximum(steps, 1), np.nan)
