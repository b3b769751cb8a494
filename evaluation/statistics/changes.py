"""Regret around changes of a world: what a change costs, and how long it takes to recover."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from periodic_envs.arrays import Array

FACTOR = 1.5
"""Regret within this factor of what it was before a change is back where it was."""


@dataclass(frozen=True)
class ChangeCosts:
    """What the changes of one run cost, on average over them; NaN in a run without changes.

    Attributes:
        before: Regret per step in the last season before a change.
        after: Regret per step in the first season after it.
        recovery: Steps from a change to the beginning of the first season, a window of its length,
            whose regret per step is at most ``FACTOR`` times that before the change; 0 if it is
            the first one. A change that is not recovered from before the next one, or the end,
            counts with all steps until then, so with many of these the mean is too low.
        recovered: Share of the changes that are recovered from.
    """

    before: float
    after: float
    recovery: float
    recovered: float


def change_costs(
    regret: ArrayLike, changes: ArrayLike, *, window: int, factor: float = FACTOR
) -> ChangeCosts:
    """What changes cost in one run.

    Args:
        regret: Regret of each step, shape (steps,).
        changes: Places of the first step after each change, ascending, shape (k,).
        window: Steps of a season. Where two changes are closer to each other, as many as there are.
        factor: What is taken for recovered.
    """
    regret = np.asarray(regret, dtype=np.float64)
    edges = [0, *np.asarray(changes, dtype=np.int64).tolist(), len(regret)]
    costs = [
        _one_change(regret[start:change], regret[change:end], window, factor)
        for start, change, end in zip(edges, edges[1:], edges[2:], strict=False)
    ]
    means = np.mean(costs, axis=0) if costs else np.full(4, np.nan)
    return ChangeCosts(*means.tolist())


def _one_change(
    earlier: Array, later: Array, window: int, factor: float
) -> tuple[float, float, float, float]:
    """The attributes of ``ChangeCosts`` for one change, from the regret before and after it."""
    before = float(earlier[-window:].mean())
    means = _window_means(later, window)
    # Round-off of sums is no regret: the oracle is always back at its 0.
    back = np.flatnonzero(means <= factor * before + 1e-9)
    recovery = float(back[0]) if len(back) else float(len(later))
    return before, float(means[0]), recovery, float(len(back) > 0)


def worst_window(regret: ArrayLike, *, window: int) -> float:
    """The largest regret over any so many steps one after the other of a run.

    Args:
        regret: Regret of each step, shape (steps,).
        window: Steps; all of the run if it has fewer.
    """
    steps = np.asarray(regret, dtype=np.float64)
    return float(_window_means(steps, window).max()) * min(window, len(steps))


def _window_means(values: Array, window: int) -> Array:
    """Means over all windows within the values; over all of them if they are fewer."""
    window = min(window, len(values))
    sums = np.concatenate([[0.0], np.cumsum(values)])
    means: Array = (sums[window:] - sums[:-window]) / window
    return means
