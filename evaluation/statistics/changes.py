"""Costs of the changes of a world, and time until recovery."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from periodic_envs.arrays import Array

FACTOR = 1.5
"""Factor of the regret before the first change up to which regret has recovered."""


@dataclass(frozen=True)
class ChangeCosts:
    """Costs of the first change in a run, and the worst season of the run.

    Regret is averaged per step over a season of the current length, so that seasons of different
    lengths are comparable. It recovers once a season has at most ``FACTOR`` times the regret in
    the last season before the change.

    Attributes:
        before: Regret per step in the last season before the first change.
        after_first: Regret per step in the first season after it.
        recovery_first: Steps from the first change to the start of the first recovered season, 0 if
            that is the next one. Without recovery before the next change or the end, all steps
            until then: many such runs bias the mean downwards.
        recovered_first: 1 if regret recovers before the next change or the end, else 0.
        worst_window: Largest regret over a window of the initial period.
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
        changes: Places of the first step after each change, ascending, at least one.
        periods: Length of the season in steps before the first change and after each. Where the
            next change comes before the end of a season, all steps until then are used.
    """
    regret = np.asarray(regret, dtype=np.float64)
    first, end = [*np.asarray(changes).tolist(), len(regret)][:2]
    season, next_season = (max(1, round(period)) for period in np.asarray(periods).tolist()[:2])
    before = float(regret[max(0, first - season) : first].mean())
    after = _window_means(regret[first:end], next_season)
    # The tolerance absorbs rounding errors: the oracle always recovers to 0.
    back = np.flatnonzero(after <= FACTOR * before + 1e-9)
    recovery = back[0] if len(back) else end - first
    worst = _window_means(regret, season).max() * min(season, len(regret))
    return ChangeCosts(before, float(after[0]), float(recovery), float(len(back) > 0), float(worst))


def _window_means(values: Array, window: int) -> Array:
    """Return means over all windows of values, or their mean if there are fewer."""
    window = min(window, len(values))
    sums = np.concatenate([[0.0], np.cumsum(values)])
    means: Array = (sums[window:] - sums[:-window]) / window
    return means
