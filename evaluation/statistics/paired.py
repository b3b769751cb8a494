"""Comparison of agents on common seeds: size and significance of differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.statistics.intervals import Band, Interval, mean_bands, mean_interval, require_runs
from periodic_envs.arrays import Array

_ENUMERATED = 16
"""Maximum number of runs for which all 2^runs sign patterns are enumerated."""
_ROWS = 4096
"""Maximum number of random sign patterns in memory at a time."""
_FURTHEST, _GRID = 50.0, 64
"""Maximum factor between an estimated ratio and its bounds, and number of grid points per bound."""


@dataclass(frozen=True)
class PairedDifference(Interval):
    """Mean of a - b over common seeds, with its confidence interval and p-value.

    The p-value is not corrected for multiple comparisons; see ``holm``.
    """

    p_value: float


def paired_difference(
    a: ArrayLike, b: ArrayLike, *, level: float = 0.95, seed: int = 0, resamples: int = 9999
) -> PairedDifference:
    """Return the mean of ``a - b`` with a studentised bootstrap interval and a sign-flip test.

    Entry i of ``a`` and entry i of ``b`` must come from the same seed, that is, from the same world
    with the same noise. The difficulty of a seed then cancels in the difference. The interval and
    the test are different methods and may disagree in borderline cases.

    Args:
        a: One number per run, shape (runs,).
        b: Numbers of the runs on the same seeds in the same order, shape (runs,).
        level: Coverage of the interval.
        seed: Seed of the bootstrap and of the test.
        resamples: Number of bootstrap samples, and of random sign patterns.
    """
    a, b = _paired(a, b)
    interval = mean_interval(a - b, level=level, seed=seed, resamples=resamples)
    p_value = sign_flip_test(a - b, seed=seed, resamples=resamples)
    return PairedDifference(interval.estimate, interval.low, interval.high, p_value)


def paired_ratio(
    a: ArrayLike, b: ArrayLike, *, level: float = 0.95, seed: int = 0, resamples: int = 5000
) -> Interval:
    """Return the ratio of the means of ``a`` and ``b`` over common seeds, with an interval.

    A ratio r is in the interval if 0 is in the interval of the mean of ``a - r b``, as in Fieller's
    theorem [@fieller1954some], with the studentised bootstrap instead of Student's t. The interval
    is consistent with ``paired_difference``: for equal ``level``, ``seed`` and ``resamples``, it
    excludes 1 if the interval of the difference excludes 0.

    Args:
        a: One non-negative number per run, shape (runs,).
        b: Non-negative numbers of the runs on the same seeds in the same order, shape (runs,). The
            mean must be positive.
        level: Coverage of the interval.
        seed: Seed of the bootstrap.
        resamples: Number of bootstrap samples.

    Returns:
        The interval, whose bounds are between 0 and infinity. The bounds are NaN for one run.
    """
    a, b = _paired(a, b)
    if not b.mean() > 0:
        raise ValueError(f"the mean of b must be positive, got {b.mean()}")
    ratio = float(a.mean() / b.mean())
    if len(a) == 1:
        return Interval(ratio, np.nan, np.nan)
    if ratio == 0.0:
        return Interval(0.0, 0.0, 0.0)

    def inside(r: Array) -> NDArray[np.bool_]:
        values = a[:, None] - r * b[:, None]
        band = mean_bands(values, level=level, seed=seed, resamples=resamples)
        return np.asarray((band.low <= 0.0) & (band.high >= 0.0))

    coarse = ratio * np.geomspace(1.0 / _FURTHEST, _FURTHEST, 2 * _GRID + 1)
    known = inside(coarse)
    known[_GRID] = True  # the interval includes the ratio itself
    first = int(np.argmax(known))
    last = len(known) - 1 - int(np.argmax(known[::-1]))
    # Each bound is between two neighbours on the coarse grid: search between them on a finer grid.
    below, above = max(first - 1, 0), min(last + 1, len(known) - 1)
    finer = np.concatenate(
        (
            np.linspace(coarse[below], coarse[first], _GRID),
            np.linspace(coarse[last], coarse[above], _GRID),
        )
    )
    members = finer[inside(finer)]
    low, high = members.min(initial=coarse[first]), members.max(initial=coarse[last])
    # If the interval reaches an end of the coarse grid, its bound may lie beyond the grid, and is
    # set to 0 or infinity.
    return Interval(ratio, 0.0 if first == 0 else low, np.inf if last == len(known) - 1 else high)


def _paired(a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(
            "a and b must have the same shape (runs,), with one entry per common seed, "
            f"got {a.shape} and {b.shape}"
        )
    return a, b


def sign_flip_test(differences: ArrayLike, *, seed: int = 0, resamples: int = 9999) -> float:
    """Return the two-sided p-value of the sign-flip test of symmetry about 0.

    For up to 16 runs, all sign patterns are enumerated and the p-value is exact. For more runs,
    ``resamples`` random patterns and the observed pattern are used [@phipson2010permutation], so
    that the p-value is never 0 and the test keeps its level. The level holds if the distribution of
    the differences is symmetric about 0. For skewed differences with mean 0, the test rejects too
    often: at a level of 5 %, it rejects in 7 to 10 % of cases for 10 to 30 exponential differences,
    and more often for differences with heavier tails. The interval of ``paired_difference``
    concerns only the mean.

    As a test statistic, the mean is equivalent to Student's t: flips do not change the sum of
    squares, so the mean and t order the patterns in the same way.

    Args:
        differences: Differences a - b on common seeds, shape (runs,).
        seed: Seed of the random sign patterns.
        resamples: Number of random sign patterns.
    """
    differences = np.asarray(differences, dtype=np.float64)[:, None]
    return float(sign_flip_tests(differences, seed=seed, resamples=resamples)[0])


def sign_flip_tests(differences: Array, *, seed: int, resamples: int) -> Array:
    """Return the ``sign_flip_test`` of every column of differences (runs, columns)."""
    runs = require_runs(differences)  # NaN is not allowed, since it would count as significant
    # With the tolerance, sums that differ only in the order of additions count as equal.
    observed = np.abs(differences.sum(0)) - 1e-12 * np.abs(differences).sum(0)
    if runs <= _ENUMERATED:
        # Opposite patterns have equal absolute sums, so half of the patterns suffice.
        patterns = np.arange(2 ** (runs - 1))[:, None] >> np.arange(runs) & 1
        return np.asarray(_as_extreme(patterns, differences, observed).mean(0))
    rng = np.random.default_rng(seed)
    sizes = [min(_ROWS, resamples - start) for start in range(0, resamples, _ROWS)]
    draws = (rng.integers(0, 2, (size, runs), dtype=np.int8) for size in sizes)
    hits = sum(_as_extreme(patterns, differences, observed).sum(0) for patterns in draws)
    return np.asarray((hits + 1) / (resamples + 1))


def _as_extreme(patterns: NDArray[np.integer], differences: Array, observed: Array) -> Array:
    """Return 1 where sign flips give a sum of differences as extreme as ``observed``, otherwise 0.

    A sum is as extreme as ``observed`` if its absolute value is at least ``observed``. Each row of
    ``patterns``, shape (n, runs), is a pattern of sign flips: 1 flips the sign of the difference of
    a run, and 0 does not. The result has shape (n, columns).
    """
    sums = differences.sum(0) - 2.0 * (patterns @ differences)
    return np.asarray(np.abs(sums) >= observed, dtype=np.float64)


def holm(p_values: ArrayLike) -> Array:
    """Return p-values adjusted by Holm's step-down correction [@holm1979simple].

    Rejecting all hypotheses with adjusted p-values of at most alpha controls the family-wise error
    rate at alpha, for any dependence between the tests.
    """
    p_values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p_values, kind="stable")
    remaining = np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(remaining * p_values[order]), 1.0)
    return adjusted


@dataclass(frozen=True)
class PairedMatrix(Band):
    """Mean differences, row minus column, with intervals and p-values.

    All arrays have shape (rows, rows), with NaN on the diagonal. P-values are not corrected for
    multiple comparisons; see ``holm``.
    """

    p_value: Array


def paired_matrix(
    totals: ArrayLike, *, level: float = 0.95, seed: int = 0, resamples: int = 2000
) -> PairedMatrix:
    """Return the ``paired_difference`` of every pair of rows.

    Args:
        totals: One number per row and run, shape (rows, runs). Each column comes from one seed.
        level: Coverage of the intervals.
        seed: Seed of the bootstrap and of the test.
        resamples: Number of bootstrap samples, and of random sign patterns.
    """
    totals = np.asarray(totals, dtype=np.float64)
    rows = len(totals)
    first, second = np.triu_indices(rows, 1)
    matrices = [np.full((rows, rows), np.nan) for _ in range(4)]
    if len(first):
        differences = (totals[first] - totals[second]).T
        band = mean_bands(differences, level=level, seed=seed, resamples=resamples)
        p_value = sign_flip_tests(differences, seed=seed, resamples=resamples)
        above = (band.estimate, band.low, band.high, p_value)
        below = (-band.estimate, -band.high, -band.low, p_value)
        for matrix, upper, lower in zip(matrices, above, below, strict=True):
            matrix[first, second], matrix[second, first] = upper, lower
    return PairedMatrix(*matrices)
