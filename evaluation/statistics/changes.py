"""Regret around changes of a world: costs of a change, and time until recovery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from periodic_envs.arrays import Array

FACTOR = 1.5
"""Regret within this factor of that before the first change counts as recovered."""


@dataclass(frozen=True)
class ChangeCosts:
    """Costs of the changes of one run; NaN in a run without changes.

    Regret is per step over a whole season, of the length that it has at that time: so seasons of
    any length can be compared. It is back once a season has at most ``FACTOR`` times the regret of
    the last season before the *first* change, and it was back after every earlier change, too. An
    agent that never recovers from a change is therefore not back after the next one, neither
    because it was as bad before it, nor because the next one undoes the first.

    Attributes:
        before: Regret per step in the last season before the first change.
        after_first: Regret per step in the first season after it.
        recovery_first: Steps from the first change to the beginning of the first season in which
            regret is back; 0 if that is the one right after it. If it is not back before the next
            change, or the end, all steps until then: with many of these the mean is too low.
        recovered_first: 1 if it is back before the next change or the end, else 0.
        recovery: ``recovery_first`` of every change, on average.
        recovered: Share of the changes after which it is back.
    """

    before: float
    after_first: float
    recovery_first: float
    recovered_first: float
    recovery: float
    recovered: float


def change_costs(
    regret: ArrayLike, changes: ArrayLike, *, seasons: Sequence[int], factor: float = FACTOR
) -> ChangeCosts:
    """Return the costs of the changes of one run.

    Args:
        regret: Regret of each step, shape (steps,).
        changes: Places of the first step after each change, ascending, shape (k,).
        seasons: Steps of a season before the first change and after each, k + 1 of them. Where two
            changes are closer to each other than a season, all steps between them stand for one.
        factor: Regret counts as recovered up to this factor of that before the first change.
    """
    regret = np.asarray(regret, dtype=np.float64)
    places = np.asarray(changes, dtype=np.int64).tolist()
    if len(seasons) != len(places) + 1:
        raise ValueError(
            f"seasons must have {len(places) + 1} lengths for {len(places)} changes, "
            f"got {len(seasons)}"
        )
    if not places:
        return ChangeCosts(*[float("nan")] * 6)
    first = places[0]
    before = float(regret[max(0, first - seasons[0]) : first].mean())
    # Round-off of sums is no regret: the oracle is always back at its 0.
    level = factor * before + 1e-9
    stretches = [regret[start:end] for start, end in pairwise([*places, len(regret)])]
    costs = _stretch_costs(stretches, seasons[1:], level)
    means = [sum(values) / len(costs) for values in zip(*costs, strict=True)]
    return ChangeCosts(before, *costs[0], *means[1:])


def _stretch_costs(
    stretches: Sequence[Array], seasons: Sequence[int], level: float
) -> list[tuple[float, float, float]]:
    """Return the first regret, the steps until it is back and if it is, for each stretch."""
    costs = []
    back = True
    for stretch, season in zip(stretches, seasons, strict=True):
        means = _window_means(stretch, season)
        found = np.flatnonzero(means <= level)
        back = back and len(found) > 0
        costs.append((float(means[0]), float(found[0] if back else len(stretch)), float(back)))
    return costs


def worst_window(regret: ArrayLike, *, window: int) -> float:
    """Return the largest regret over consecutive steps of a run.

    Args:
        regret: Regret of each step, shape (steps,).
        window: Number of steps; all of the run if it has fewer.
    """
    steps = np.asarray(regret, dtype=np.float64)
    return float(_window_means(steps, window).max()) * min(window, len(steps))


def _window_means(values: Array, window: int) -> Array:
    """Return means over all windows within the values; over all of them if they are fewer."""
    window = min(window, len(values))
    sums = np.concatenate([[0.0], np.cumsum(values)])
    means: Array = (sums[window:] - sums[:-window]) / window
    return means
