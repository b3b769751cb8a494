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
    return by_slot(values, *phase_index(len(values), period))


def by_slot(
    values: Array, season: NDArray[np.intp], slot: NDArray[np.intp], n_slots: int
) -> tuple[Array, Array]:
    """Return sums and numbers of the values that are known in each (season, slot, arm)."""
    seasons, arms = int(season.max()) + 1, values.shape[1]
    place, size = season * n_slots + slot, seasons * n_slots
    sums, counts = np.zeros((2, arms, size))
    in_all = np.bincount(place, minlength=size)
    for arm, column in enumerate(np.ascontiguousarray(values.T)):
        known = ~np.isnan(column)
        if known.all():
            sums[arm], counts[arm] = np.bincount(place, column, size), in_all
        else:
            sums[arm] = np.bincount(place[known], column[known], size)
            counts[arm] = np.bincount(place[known], minlength=size)
    shape = (seasons, n_slots, arms)
    return sums.T.copy().reshape(shape), counts.T.copy().reshape(shape)


def without_gaps(values: Array) -> Array:
    """Bridge the gaps of every arm by straight lines, however long they are."""
    steps = np.arange(len(values))
    known = [np.flatnonzero(~np.isnan(column)) for column in values.T]
    pairs = zip(values.T, known, strict=True)
    return np.stack([np.interp(steps, k, column[k]) for column, k in pairs], axis=1)
