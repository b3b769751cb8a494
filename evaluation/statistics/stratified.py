"""The bootstrap of scores (runs, tasks): runs are drawn again within each task."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy import stats

from evaluation.statistics.intervals import Band, resample_counts, tail_probabilities
from periodic_envs.arrays import Array

Statistic = Callable[[Array], Array]
"""From how often each run counts, (samples, runs, tasks), to numbers (samples, k)."""


def stratified_band(
    statistic: Statistic, runs: int, tasks: int, *, level: float, seed: int, resamples: int
) -> Band:
    """Percentile intervals of k statistics, for few runs moved outwards.

    Resamples of n runs vary (n - 1) / n as much as they should, and with few runs the spread itself
    is uncertain: the percentiles are those of a Student's t of ``tasks * (runs - 1)`` degrees of
    freedom, stretched accordingly [@hesterberg2015teachers]. One run has no interval (NaN).

    Args:
        statistic: A function of the counts; all 1 for the estimate itself.
        runs: Runs per task.
        tasks: Tasks, drawn independently of each other.
        level: Coverage of each interval by itself.
        seed: Seed of the bootstrap.
        resamples: Number of bootstrap samples.
    """
    estimate = statistic(np.ones((1, runs, tasks)))[0]
    tails = np.array(tail_probabilities(level))
    if runs == 1:
        return Band(estimate, np.full_like(estimate, np.nan), np.full_like(estimate, np.nan))
    counts = _seeded_counts(runs, tasks, resamples, seed)
    stretch = np.sqrt(runs / (runs - 1))
    tails = stats.norm.cdf(stretch * stats.t.ppf(tails, tasks * (runs - 1)))
    low, high = np.quantile(statistic(counts), tails, axis=0)
    return Band(estimate, low, high)


@lru_cache(maxsize=4)
def _seeded_counts(runs: int, tasks: int, resamples: int, seed: int) -> Array:
    """The counts (resamples, runs, tasks) of a seed, kept: every agent needs the same ones."""
    rng = np.random.default_rng(seed)
    counts = np.stack([resample_counts(runs, resamples, rng) for _ in range(tasks)], axis=2)
    counts.flags.writeable = False
    return counts


def entry_mean(values: Array) -> Statistic:
    """The mean of values (k, runs, tasks) over runs and tasks."""
    k, runs, tasks = values.shape
    flat = values.reshape(k, runs * tasks).T

    def statistic(counts: Array) -> Array:
        return np.asarray(counts.reshape(len(counts), -1) @ flat / (runs * tasks))

    return statistic


def middle_mean(scores: Array) -> Statistic:
    """The mean of the middle half of scores (runs, tasks)."""
    order = np.argsort(scores, axis=None)
    ascending = scores.ravel()[order]
    cut = scores.size // 4
    size = scores.size - 2 * cut

    def statistic(counts: Array) -> Array:
        # With copies in a row, those at places cut .. size + cut - 1 are kept.
        last = np.cumsum(counts.reshape(len(counts), -1)[:, order], axis=1)
        kept = np.diff(np.clip(last, cut, cut + size), axis=1, prepend=cut)
        return (kept @ ascending / size)[:, None]

    return statistic


def pair_mean(wins: Array) -> Statistic:
    """The mean of wins (runs of x, runs of y, tasks) over all pairs and tasks."""
    runs, _, tasks = wins.shape

    def statistic(counts: Array) -> Array:
        of_x = [counts[:, :, task] @ wins[:, :, task] for task in range(tasks)]
        total = (np.stack(of_x, axis=2) * counts).sum((1, 2))
        return np.asarray(total[:, None] / (runs**2 * tasks))

    return statistic
