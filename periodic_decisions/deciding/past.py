"""What was seen so far at the same place of the season, to hold beliefs against."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from agents.arrays import Array
from periodic_decisions.deciding.knowledge import Knowledge
from periodic_decisions.deciding.learner import ASKED

MIN_REWARDS = 3
"""Rewards that a mean is made of at least before a belief is doubted because of it."""


def mean_so_far(known: Knowledge, steps: Sequence[int]) -> tuple[Array, Array]:
    """Mean reward of each arm at the same place of the longest season, and of how many rewards.

    Only rewards that are remembered count. Without a season nothing is the same place.

    Args:
        known: What was seen.
        steps: Which steps are asked about.

    Returns:
        Two arrays of shape (steps, arms); the first is NaN where nothing was seen.
    """
    shape = (len(steps), len(known.arms))
    total, count = np.zeros(shape), np.zeros(shape)
    told = [event for event in known.journal.events if event[1] != ASKED]
    if told and known.settings.periods:
        period = max(known.settings.periods)
        asked, inverse = np.unique(np.floor(np.asarray(steps) % period), return_inverse=True)
        names = [known.names[arm] for _, arm, _ in told]
        seen = np.floor(np.array([step for step, _, _ in told]) % period)
        rows = np.searchsorted(asked, seen).clip(max=len(asked) - 1)
        there = (asked[rows] == seen) & np.isin(names, known.arms)
        place = {name: i for i, name in enumerate(known.arms)}
        cells = rows[there], [place[name] for name in np.array(names, dtype=object)[there]]
        sums, counts = np.zeros((2, len(asked), shape[1]))
        np.add.at(sums, cells, np.array([reward for _, _, reward in told])[there])
        np.add.at(counts, cells, 1.0)
        total, count = sums[inverse], counts[inverse]
    return np.divide(total, count, out=np.full(shape, np.nan), where=count > 0), count


def doubts(
    known: Knowledge, times: Sequence[datetime], beliefs: Array, mean: Array, count: Array
) -> list[str]:
    """A sentence if means so far lie outside the intervals of a plan; else nothing.

    Args:
        known: Arms and seasons.
        times: Of the steps of the plan.
        beliefs: Expectation, low and high for each step and arm, shape (steps, arms, 3).
        mean: See :func:`mean_so_far`.
        count: See :func:`mean_so_far`.
    """
    expected, low, high = np.moveaxis(beliefs, -1, 0)
    outside = (count >= MIN_REWARDS) & ((mean < low) | (mean > high))
    if not outside.any():
        return []
    distance = np.where(outside, np.abs(mean - expected) / np.maximum(high - low, 1e-300), -1.0)
    row, arm = divmod(int(distance.argmax()), len(known.arms))
    season = known.settings.seasons[int(np.argmax(known.settings.periods))]
    period = f"{max(known.settings.periods):.6g}"
    steps = f"{int(outside.any(1).sum()):,} of {len(times):,} steps"
    return [
        f"At {steps} an arm's mean reward so far, at the same point in the season of {season}, "
        f"lies outside its interval. The largest gap: {known.arms[arm]} at {times[row]}, "
        f"{expected[row, arm]:.4g} expected, {mean[row, arm]:.4g} so far. Either the model of "
        f"{known.settings.agent} is too smooth for such peaks, or rewards have changed; "
        f"phase-ucb:period={period} is an agent that does not smooth."
    ]
