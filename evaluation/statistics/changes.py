"""Costs of the changes of a world, and the time until the regret has recovered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from periodic_envs.arrays import Array

FACTOR = 1.5
"""Maximum ratio of a recovered regret to the regret before the first change."""


@dataclass(frozen=True)
class ChangeCosts:
    """Costs of the first change in a run, and the regret of the worst season of the run.

    The regret per step is averaged over a season of the current length, so that seasons of
    different lengths are comparable. The regret has recovered when its average over a season is at
    most ``FACTOR`` times its average over the last season before the change.

    Attributes:
        before: Regret per step in the last season before the first change.
        after_first: Regret per step in the first season after the first change.
        recovery_first: Number of steps from the first change to the start of the first season in
            which the regret has recovered. The number is 0 if this is the first season after the
            change. If the regret does not recover before the next change or the end of the run, all
            steps until that time are counted. If the regret of many runs does not recover, the mean
            over runs is therefore too low.
        recovered_first: 1 if the regret recovers before the next change or the end of the run,
            else 0.
        worst_window: Largest total regret in a window of one initial period.
    """

    before: float
    after_first: float
    recovery_first: float
    recovered_first: float
    worst_window: float


def change_costs(regret: ArrayLike, changes: ArrayLike, *, periods: ArrayLike) -> ChangeCosts:
    """Return the costs of the first change of a run.

    Args:
        regret: Regret of each step, shape (steps,).
        changes: Indices of the first step after each change, in ascending order; at least one.
        periods: Lengths of the season in steps, before the first change and after each change. If
            the next change comes before the end of the first season after the first change, the
            regret is averaged over all steps between the two changes.
    """
    regret = np.asarray(regret, dtype=np.float64)
    first, end = [*np.asarray(changes).tolist(), len(regret)][:2]
    season, next_season = (max(1, round(period)) for period in np.asarray(periods).tolist()[:2])
    before = float(regret[max(0, first - season) : first].mean())
    after = _window_means(regret[first:end], next_season)
    # The tolerance absorbs rounding errors, so that a regret of 0 can recover to 0.
    back = np.flatnonzero(after <= FACTOR * before + 1e-9)
    recovery = back[0] if len(back) else end - first
    worst = _window_means(regret, season).max() * min(season, len(regret))
    return ChangeCosts(before, float(after[0]), float(recovery), float(len(back) > 0), float(worst))


def _window_means(values: Array, window: int) -> Array:
    """Return the mean of every ``window`` consecutive values.

    If there are fewer than ``window`` values, the result is the mean of all values.
    """
    window = min(window, len(values))
    sums = np.concatenate([[0.0], np.cumsum(values)])
    means: Array = (sums[window:] - sums[:-window]) / window
    return means
