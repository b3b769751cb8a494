"""Statistics of scores of many runs on many tasks, after [@agarwal2021deep].

Scores have shape (runs, tasks); higher is better. Intervals resample runs within each task, since
seeds of different tasks are independent, and resample the same runs for all compared agents, which
share the world of a run. The estimators are those of rliable, with two changes: the seed is used,
and percentiles are moved outwards for few runs, whose resamples have too little spread.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtrit

from evaluation.statistics.intervals import Band, Interval, seeded_counts, tail_probabilities
from periodic_envs.arrays import Array


def normalised_regret(total: ArrayLike, *, uniform: ArrayLike) -> Array:
    """Return regret on a scale where 0 is the oracle and 1 choosing uniformly at random.

    The arguments broadcast. The result is NaN if choosing at random has no regret.
    """
    uniform = np.asarray(uniform, dtype=np.float64)
    return np.asarray(total) / np.where(uniform > 0.0, uniform, np.nan)


def score_of_regret(total: ArrayLike, *, uniform: ArrayLike) -> Array:
    """Return 1 - normalised regret: 1 is the oracle, 0 choosing uniformly at random."""
    return 1.0 - normalised_regret(total, uniform=uniform)


def iqm(
    scores: ArrayLike, *, level: float = 0.95, seed: int = 0, resamples: int = 2000
) -> Interval:
    """Return the interquartile mean: the mean of the middle half of all runs * tasks scores.

    ``floor(runs * tasks / 4)`` scores are cut off at each end, as ``scipy.stats.trim_mean`` does.

    Args:
        scores: Shape (runs, tasks).
        level: Coverage of the interval.
        seed: Seed of the bootstrap.
        resamples: Number of bootstrap samples.
    """
    scores = _checked(scores, ("runs", "tasks"))
    return stratified_band(
        middle_mean(scores), *scores.shape, level=level, seed=seed, resamples=resamples
    )[0]


def performance_profile(
    scores: ArrayLike,
    thresholds: ArrayLike,
    *,
    level: float = 0.95,
    seed: int = 0,
    resamples: int = 2000,
) -> Band:
    """Return the share of runs above each threshold, averaged over tasks.

    Args:
        scores: Shape (runs, tasks).
        thresholds: Shape (thresholds,).
        level: Pointwise coverage at each threshold.
        seed: Seed of the bootstrap.
        resamples: Number of bootstrap samples.

    Returns:
        Arrays of shape (thresholds,).
    """
    scores = _checked(scores, ("runs", "tasks"))
    above = (scores > np.asarray(thresholds)[:, None, None]).astype(np.float64)
    return stratified_band(
        entry_mean(above), *scores.shape, level=level, seed=seed, resamples=resamples
    )


def probability_of_improvement(
    x: ArrayLike, y: ArrayLike, *, level: float = 0.95, seed: int = 0, resamples: int = 2000
) -> Interval:
    """Return the probability that a run of x scores higher than one of y on a random task.

    Per task, all pairs of a run of x and a run of y are compared (the Mann-Whitney statistic); ties
    count half.

    Args:
        x: Scores of one agent, shape (runs, tasks).
        y: Scores of the other on the same seeds, shape (runs, tasks).
        level: Coverage of the interval.
        seed: Seed of the bootstrap.
        resamples: Number of bootstrap samples.
    """
    x, y = _checked(x, ("runs", "tasks")), _checked(y, ("runs", "tasks"))
    if x.shape != y.shape:
        raise ValueError(f"x and y must be on common seeds, got shapes {x.shape} and {y.shape}")
    wins = (np.sign(x[:, None] - y[None]) + 1.0) / 2.0
    return stratified_band(pair_mean(wins), *x.shape, level=level, seed=seed, resamples=resamples)[
        0
    ]


def mean_ranks(
    scores: ArrayLike, *, level: float = 0.95, seed: int = 0, resamples: int = 2000
) -> Band:
    """Return the mean rank of each agent over all runs of all tasks: 1 is best, ties share ranks.

    Agents are ranked within each run of a task, in which they share a world.

    Args:
        scores: Shape (agents, runs, tasks).
        level: Pointwise coverage for each agent.
        seed: Seed of the bootstrap.
        resamples: Number of bootstrap samples.

    Returns:
        Arrays of shape (agents,).
    """
    scores = _checked(scores, ("agents", "runs", "tasks"))
    ranks = entry_mean(ranks_of(scores))
    return stratified_band(ranks, *scores.shape[1:], level=level, seed=seed, resamples=resamples)


def ranks_of(scores: Array) -> Array:
    """Return ranks along the first axis: 1 is best, ties share the mean of their ranks."""
    better, not_worse = (
        np.array([beats(scores, own).sum(0) for own in scores])
        for beats in (np.greater, np.greater_equal)
    )
    return np.asarray((better + not_worse + 1) / 2.0)


def middle_half(scores: Array) -> Array:
    """Return the interquartile means of the rows of scores (rows, runs): see ``iqm``."""
    size = scores.shape[1]
    return np.asarray(np.sort(scores, axis=1)[:, size // 4 : size - size // 4].mean(1))


def _checked(scores: ArrayLike, axes: tuple[str, ...]) -> Array:
    """Return scores as an array of floats, after validation of axes and values."""
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != len(axes) or array.size == 0:
        raise ValueError(f"scores must have shape ({', '.join(axes)}), got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("scores must be finite")
    return array


Statistic = Callable[[Array], Array]
"""Function of the counts of runs (samples, runs, tasks) that returns numbers (samples, k)."""


def stratified_band(
    statistic: Statistic, runs: int, tasks: int, *, level: float, seed: int, resamples: int
) -> Band:
    """Return percentile intervals of k statistics, moved outwards for few runs.

    The variance of resamples of n runs is too small by a factor of (n - 1) / n, and uncertain for
    few runs. The percentiles are therefore those of Student's t with ``tasks * (runs - 1)`` degrees
    of freedom, scaled accordingly [@hesterberg2015teachers]. One run has no interval (NaN).

    Args:
        statistic: Function of the counts, which are all 1 for the estimate.
        runs: Number of runs per task.
        tasks: Number of tasks, which are resampled independently.
        level: Pointwise coverage of each interval.
        seed: Seed of the bootstrap.
        resamples: Number of bootstrap samples.
    """
    estimate = statistic(np.ones((1, runs, tasks)))[0]
    tails = np.array(tail_probabilities(level))
    if runs == 1:
        return Band(estimate, np.full_like(estimate, np.nan), np.full_like(estimate, np.nan))
    counts = seeded_counts(runs, tasks, resamples, seed)
    stretch = np.sqrt(runs / (runs - 1))
    tails = ndtr(stretch * stdtrit(tasks * (runs - 1), tails))
    low, high = np.quantile(statistic(counts), tails, axis=0)
    return Band(estimate, low, high)


def entry_mean(values: Array) -> Statistic:
    """Return the mean of values (k, runs, tasks) over runs and tasks, as a statistic."""
    k, runs, tasks = values.shape
    flat = values.reshape(k, runs * tasks).T

    def statistic(counts: Array) -> Array:
        return np.asarray(counts.reshape(len(counts), -1) @ flat / (runs * tasks))

    return statistic


def middle_mean(scores: Array) -> Statistic:
    """Return the mean of the middle half of scores (runs, tasks), as a statistic."""
    order = np.argsort(scores, axis=None)
    ascending = scores.ravel()[order]
    cut = scores.size // 4
    size = scores.size - 2 * cut

    def statistic(counts: Array) -> Array:
        # Sorted with duplicates, entries cut .. size + cut - 1 are included.
        last = np.cumsum(counts.reshape(len(counts), -1)[:, order], axis=1)
        included = np.diff(np.clip(last, cut, cut + size), axis=1, prepend=cut)
        return (included @ ascending / size)[:, None]

    return statistic


def pair_mean(wins: Array) -> Statistic:
    """Return the mean of wins (runs of x, runs of y, tasks) over all pairs, as a statistic."""
    runs, _, tasks = wins.shape

    def statistic(counts: Array) -> Array:
        of_x = [counts[:, :, task] @ wins[:, :, task] for task in range(tasks)]
        total = (np.stack(of_x, axis=2) * counts).sum((1, 2))
        return np.asarray(total[:, None] / (runs**2 * tasks))

    return statistic
