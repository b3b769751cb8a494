"""Every agent against every other, on common seeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evaluation.statistics.intervals import mean_bands
from evaluation.statistics.paired import sign_flip_tests
from periodic_envs.arrays import Array


@dataclass(frozen=True)
class PairedMatrix:
    """Row minus column: mean difference, its interval and p-value, each of shape (rows, rows).

    NaN on the diagonal. P-values are uncorrected: whoever looks for the smallest of many needs
    ``holm``.
    """

    estimate: Array
    low: Array
    high: Array
    p_value: Array


def paired_matrix(
    totals: ArrayLike, *, level: float = 0.95, seed: int = 0, resamples: int = 2000
) -> PairedMatrix:
    """``paired_difference`` of every pair of rows at once.

    Args:
        totals: One number per row and run, shape (rows, runs); column r comes from one seed.
        level: Coverage of the intervals.
        seed: Seed of the bootstrap and of the test.
        resamples: Number of bootstrap samples, and of patterns of signs where not all are tried.
    """
    totals = np.asarray(totals, dtype=np.float64)
    rows = len(totals)
    first, second = np.triu_indices(rows, 1)
    found = [np.full((rows, rows), np.nan) for _ in range(4)]
    if len(first):
        differences = (totals[first] - totals[second]).T
        band = mean_bands(differences, level=level, seed=seed, resamples=resamples)
        p_value = sign_flip_tests(differences, seed=seed, resamples=resamples)
        above = (band.estimate, band.low, band.high, p_value)
        below = (-band.estimate, -band.high, -band.low, p_value)
        for matrix, upper, lower in zip(found, above, below, strict=True):
            matrix[first, second], matrix[second, first] = upper, lower
    return PairedMatrix(*found)
