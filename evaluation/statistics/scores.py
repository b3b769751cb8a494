"""Statistics of the scores of many runs on many tasks, after [@agarwal2021deep].

Scores have shape (runs, tasks), and higher scores are better. Runs are resampled within each task,
since seeds of different tasks are independent. The same runs are resampled for all compared agents,
since these agents share the world of a run. The estimators are those of the package rliable, with
two changes: the bootstrap takes a seed, and intervals are wider for few runs, whose resamples
have too little spread.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtrit

from evaluation.statistics.intervals import Band, Interval, seeded_counts, tail_probabilities
from periodic_envs.arrays import Array


def normalised_regret(total: ArrayLike, *, uniform: ArrayLike) -> Array:
    """Return regret on a scale on which 0 is the oracle and 1 is choosing uniformly at random.

    The arguments are broadcast. The result is NaN where choosing at random has no regret.
    """
    uniform = np.asarray(uniform, dtype=np.float64)
    return np.asarray(total) / np.where(uniform > 0.0, uniform, np.nan)


def score_of_regret(total: ArrayLike, *, uniform: ArrayLike) -> Array:
    """Return 1 - normalised regret: 1 is the oracle, and 0 is choosing uniformly at random."""
    return 1.0 - normalised_regret(total, uniform=uniform)


def iqm(
    scores: ArrayLike, *, level: float = 0.95, seed: int = 0, resamples: int = 2000
) -> Interval:
    """Return the interquartile mean, the mean of the middle half of all scores, with an interval.

    ``floor(runs * tasks / 4)`` scores are excluded at each end, as in ``scipy.stats.trim_mean``.

    Args:
        scores: Scores, shape (runs, tasks).
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
    """Return the share of runs with a score above each threshold, averaged over tasks.

    Args:
        scores: Scores, shape (runs, tasks).
        thresholds: Thresholds, shape (thresholds,).
        level: Pointwise coverage at each threshold.
        seed: Seed of the bootstrap.
        resamples: Number of bootstrap samples.

    Returns:
        Band of arrays with shape (thresholds,).
    """
    scores = _checked(scores, ("runs", "tasks"))
    above = (scores > np.asarray(thresholds)[:, None, None]).astype(np.float64)
    return stratified_band(
        entry_mean(above), *scores.shape, level=level, seed=seed, resamples=resamples
    )


def probability_of_improvement(
    x: ArrayLike, y: ArrayLike, *, level: float = 0.95, seed: int = 0, resamples: int = 2000
) -> Interval:
    """Return the probability that a run of x scores higher than a run of y on a random task.

    In each task, every run of x is compared with every run of y (the Mann-Whitney statistic). A tie
    counts as half a win.

    Args:
        x: Scores of one agent, shape (runs, tasks).
        y: Scores of the other agent on the same seeds, shape (runs, tasks).
        level: Coverage of the interval.
        seed: Seed of the bootstrap.
        resamples: Number of bootstrap samples.
    """
    x, y = _checked(x, ("runs", "tasks")), _checked(y, ("runs", "tasks"))
    if x.shape != y.shape:
        raise ValueError(
            "x and y must have the same shape, with runs on the same seeds, "
            f"got {x.shape} and {y.shape}"
        )
    wins = (np.sign(x[:, None] - y[None]) + 1.0) / 2.0
    return stratified_band(pair_mean(wins), *x.shape, level=level, seed=seed, resamples=resamples)[
        0
    ]


def mean_ranks(
    scores: ArrayLike, *, level: float = 0.95, seed: int = 0, resamples: int = 2000
) -> Band:
    """Return the mean rank of each agent over all runs of all tasks; rank 1 is best.

    Agents are ranked within each run of a task, because they share the world of a run. Tied agents
    share the mean of their ranks.

    Args:
        scores: Scores, shape (agents, runs, tasks).
        level: Pointwise coverage for each agent.
        seed: Seed of the bootstrap.
        resamples: Number of bootstrap samples.

    Returns:
        Band of arrays with shape (agents,).
    """
    scores = _checked(scores, ("agents", "runs", "tasks"))
    ranks = entry_mean(ranks_of(scores))
    return stratified_band(ranks, *scores.shape[1:], level=level, seed=seed, resamples=resamples)


def ranks_of(scores: Array) -> Array:
    """Return ranks along the first axis: 1 is best, and ties share the mean of their ranks."""
    better, not_worse = (
        np.array([beats(scores, own).sum(0) for own in scores])
        for beats in (np.greater, np.greater_equal)
    )
    return np.asarray((better + not_worse + 1) / 2.0)


def middle_half(scores: Array) -> Array:
    """Return the interquartile mean of each row of scores (rows, runs); see ``iqm``."""
    size = scores.shape[1]
    return np.asarray(np.sort(scores, axis=1)[:, size // 4 : size - size // 4].mean(1))


def _checked(scores: ArrayLike, axes: tuple[str, ...]) -> Array:
    """Return scores as an array of floats; raise an error for invalid axes or values."""
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != len(axes) or array.size == 0:
        raise ValueError(
            f"scores must be a non-empty array of shape ({', '.join(axes)}), "
            f"got shape {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"scores must be finite, got {array[~np.isfinite(array)][0]}")
    return array


Statistic = Callable[[Array], Array]
"""Function that maps counts of runs (samples, runs, tasks) to k statistics (samples, k)."""


def stratified_band(
    statistic: Statistic, runs: int, tasks: int, *, level: float, seed: int, resamples: int
) -> Band:
    """Return percentile intervals of k statistics, widened for small numbers of runs.

    The variance of resamples of n runs is too small by a factor of (n - 1) / n, and it is uncertain
    if n is small. The levels of the percentiles are therefore computed from quantiles of Student's
    t distribution with ``tasks * (runs - 1)`` degrees of freedom, multiplied by sqrt(n / (n - 1))
    [@hesterberg2015teachers]. The bounds are NaN for one run.

    Args:
        statistic: Function of the number of times that each run is drawn. If every run is drawn
            once, the function returns the estimate.
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
    """Return the function that computes the mean of values (k, runs, tasks) over resampled runs."""
    k, runs, tasks = values.shape
    flat = values.reshape(k, runs * tasks).T

    def statistic(counts: Array) -> Array:
        return np.asarray(counts.reshape(len(counts), -1) @ flat / (runs * tasks))

    return statistic


def middle_mean(scores: Array) -> Statistic:
    """Return the function that computes the mean of the middle half of resampled scores.

    The scores have shape (runs, tasks).
    """
    order = np.argsort(scores, axis=None)
    ascending = scores.ravel()[order]
    cut = scores.size // 4
    size = scores.size - 2 * cut

    def statistic(counts: Array) -> Array:
        # Of the resampled scores in ascending order, entries cut, ..., cut + size - 1 are included.
        last = np.cumsum(counts.reshape(len(counts), -1)[:, order], axis=1)
        included = np.diff(np.clip(last, cut, cut + size), axis=1, prepend=cut)
        return (included @ ascending / size)[:, None]

    return statistic


def pair_mean(wins: Array) -> Statistic:
    """Return the function that computes the mean of wins over all pairs of resampled runs.

    The wins have shape (runs of x, runs of y, tasks).
    """
    runs, _, tasks = wins.shape

    def statistic(counts: Array) -> Array:
        # The same counts apply to x and y, since runs on the same seed are resampled together.
        of_x = [counts[:, :, task] @ wins[:, :, task] for task in range(tasks)]
        total = (np.stack(of_x, axis=2) * counts).sum((1, 2))
        return np.asarray(total[:, None] / (runs**2 * tasks))

    return statistic
