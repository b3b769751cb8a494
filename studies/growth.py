"""Growth of regret with time."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evaluation.statistics.intervals import Interval, require_runs, resample_counts, studentised
from periodic_envs.arrays import Array

_POINTS = 64
"""Number of times at which the curve is evaluated, evenly spaced in log t."""


def growth_exponent(
    regret: ArrayLike,
    *,
    start: float = 0.25,
    level: float = 0.95,
    seed: int = 0,
    resamples: int = 2000,
) -> Interval:
    """Return the exponent p of ``R(t) ~ t^p``, with its interval.

    An exponent of 1 means that nothing is learned, 1/2 is typical, and 0 means that regret no
    longer grows. The exponent is the least-squares slope of log mean cumulative regret against
    log t. By default the first quarter of the steps is skipped: the beginning of a run is
    exploration, which does not show the rate. If regret is periodic, the window should contain
    several seasons; otherwise the season affects the slope.

    The interval is a studentised bootstrap over whole runs. The exponent of a finite run differs
    from the limit for t to infinity: sqrt(t) log(t) has a slope well above 1/2 at all times that
    can be simulated.

    Args:
        regret: Regret of each step, shape (runs, steps).
        start: Share of the steps to skip at the beginning.
        level: Coverage of the interval.
        seed: Seed of the bootstrap.
        resamples: Number of bootstrap samples.

    Returns:
        Exponent with its interval. The exponent and its bounds are NaN if the mean regret before
        the window is 0, or if the window has fewer than two steps. The bounds are NaN for a single
        run.
    """
    regret = np.asarray(regret, dtype=np.float64)
    runs = require_runs(regret)
    if not 0.0 <= start < 1.0:
        raise ValueError(f"start must be at least 0 and below 1, got {start!r}")
    curves, weights = _window(np.cumsum(regret, axis=1), start)
    mean = curves.mean(0)
    if len(weights) < 2 or mean[0] <= 0.0:
        return Interval(np.nan, np.nan, np.nan)
    counts = resample_counts(runs, resamples, np.random.default_rng(seed))
    # Resamples with a regret of 0 before the window are left out, since log 0 is not finite.
    counts = counts[counts @ curves[:, 0] > 0.0]
    slope, error = _slopes(np.ones((1, runs)), curves, weights)
    slopes, errors = _slopes(counts, curves, weights)
    shift = (slopes - slope)[None]
    return studentised(slope, error, shift, errors[None], runs=runs, level=level)[0]


def _window(curves: Array, start: float) -> tuple[Array, Array]:
    """Return the curves (runs, k) at k times of the window, and the weights (k,) of the slope."""
    steps = curves.shape[1]
    first = int(start * steps) + 1
    times = np.unique(np.geomspace(first, steps, _POINTS).round().astype(np.intp))
    x = np.log(times) - np.log(times).mean()
    return curves[:, times - 1], x / max(float(x @ x), np.finfo(float).tiny)


def _slopes(counts: Array, curves: Array, weights: Array) -> tuple[Array, Array]:
    """Return the slope and its standard error for each resample.

    Row i of ``counts`` has the number of times that resample i contains each run.
    """
    runs = len(curves)
    mean = counts @ curves / runs
    # d slope / d run i = sum_k weights_k curves_ik / mean_k; these average to sum(weights) = 0.
    influence = (1.0 / mean) @ (curves * weights).T
    variance = (counts * influence**2).mean(1) / max(runs - 1, 1)
    return np.log(mean) @ weights, np.sqrt(variance)
