"""Values sorted by season and phase."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from periodic_envs.arrays import Array


def phase_index(n_steps: int, period: float) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
    """Find the season and the phase bin of each step, and the number of bins: one per step."""
    bins = max(2, round(period))
    cycles = np.arange(n_steps) / period
    season = np.floor(cycles + 1e-9)
    phase = np.floor((cycles - season + 1e-9) * bins)
    return season.astype(np.intp), np.clip(phase, 0, bins - 1).astype(np.intp), bins


def by_phase(values: Array, period: float) -> tuple[Array, Array]:
    """Return sums and numbers of the values that are known in each (season, phase, arm)."""
    season, phase, bins = phase_index(len(values), period)
    place = season * bins + phase
    shape = (int(season[-1]) + 1, bins, values.shape[1])
    sums, counts = np.zeros(shape), np.zeros(shape)
    for arm, column in enumerate(values.T):
        known = ~np.isnan(column)
        size = shape[0] * bins
        sums[..., arm] = np.bincount(place[known], column[known], size).reshape(shape[:2])
        counts[..., arm] = np.bincount(place[known], minlength=size).reshape(shape[:2])
    return sums, counts


def without_gaps(values: Array) -> Array:
    """Bridge the gaps of every arm by straight lines, however long they are."""
    steps = np.arange(len(values))
    known = [np.flatnonzero(~np.isnan(column)) for column in values.T]
    pairs = zip(values.T, known, strict=True)
    return np.stack([np.interp(steps, k, column[k]) for column, k in pairs], axis=1)
