"""Coverage of 95 % intervals for a mean: percentile, BCa, Student's t, and studentised bootstrap.

    python -m studies.interval_coverage [--samples 4000]

With the default number of samples, the standard error of a coverage is at most 0.8 percentage
points. The package uses the studentised bootstrap.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
from scipy import stats

from evaluation.statistics.intervals import mean_bands
from periodic_envs.arrays import Array

TAILS = np.array([0.025, 0.975])
DISTRIBUTIONS: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], Array], float]] = {
    "normal": (lambda rng, shape: rng.standard_normal(shape), 0.0),
    "gamma, shape 2": (lambda rng, shape: rng.gamma(2.0, size=shape), 2.0),
    "log-normal": (lambda rng, shape: rng.lognormal(size=shape), math.exp(0.5)),
    "30 % fail": (
        lambda rng, shape: 10.0 * (rng.random(shape) < 0.3) + 0.01 * rng.standard_normal(shape),
        3.0,
    ),
}


def percentile(x: Array, rng: np.random.Generator) -> Array:
    """Return the percentile interval: quantiles of the resampled means."""
    return np.asarray(np.quantile(x[rng.integers(0, len(x), (1000, len(x)))].mean(1), TAILS))


def bca(x: Array, rng: np.random.Generator) -> Array:
    """Return the BCa interval: quantiles corrected for bias and acceleration."""
    means = x[rng.integers(0, len(x), (1000, len(x)))].mean(1)
    deviation = x - x.mean()
    bias = stats.norm.ppf(np.clip((means < x.mean()).mean(), 0.001, 0.999))
    acceleration = (deviation**3).sum() / (6.0 * (deviation**2).sum() ** 1.5)
    z = bias + stats.norm.ppf(TAILS)
    return np.asarray(np.quantile(means, stats.norm.cdf(bias + z / (1.0 - acceleration * z))))


def student(x: Array, rng: np.random.Generator) -> Array:
    """Return Student's t interval, from the mean and its standard error."""
    error = x.std(ddof=1) / math.sqrt(len(x))
    return np.asarray(x.mean() + stats.t.ppf(TAILS, len(x) - 1) * error)


def main() -> None:
    """Simulate the coverage of all intervals and print it."""
    parser = argparse.ArgumentParser(description="Coverage of intervals for a mean.")
    parser.add_argument("--samples", type=int, default=4000)
    samples = parser.parse_args().samples
    print("runs  distribution    percentile  BCa   Student  studentised")
    for runs in (5, 10, 20, 50, 100):
        for name, (draw, truth) in DISTRIBUTIONS.items():
            rng = np.random.default_rng(0)
            x = draw(rng, (runs, samples))
            covered = []
            for method in (percentile, bca, student):
                low, high = np.transpose([method(column, rng) for column in x.T])
                covered.append(np.mean((low <= truth) & (truth <= high)))
            band = mean_bands(x, level=0.95, seed=0, resamples=1000)
            covered.append(np.mean((band.low <= truth) & (truth <= band.high)))
            a, b, c, d = (100.0 * share for share in covered)
            print(f"{runs:<5d} {name:<15s} {a:<11.1f} {b:<5.1f} {c:<8.1f} {d:.1f}", flush=True)


if __name__ == "__main__":
    main()
