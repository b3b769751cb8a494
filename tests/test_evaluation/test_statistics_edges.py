"""Edge cases of the statistics, found by ``make mutation``."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm, t

from evaluation.statistics import (
    MIN_RUNS,
    curve_band,
    iqm,
    mean_interval,
    mean_ranks,
    middle_half,
    paired_difference,
    paired_matrix,
    paired_ratio,
    performance_profile,
    probability_of_improvement,
    sign_flip_test,
)
from evaluation.statistics.intervals import _REACH, studentised
from evaluation.statistics.scores import stratified_band


def test_sign_flips_are_exact_up_to_16_runs() -> None:
    """Up to 16 runs all patterns are tried; with one more they are sampled."""
    rng = np.random.default_rng(0)
    differences = rng.normal(0.3, 1.0, 17)
    for runs, exact in ((16, True), (17, False)):
        p_values = {sign_flip_test(differences[:runs], seed=seed) for seed in range(3)}
        assert (len(p_values) == 1) == exact


def test_paired_ratio_is_not_negative() -> None:
    ratio = paired_ratio([0.0, 0.0, 0.0], [1.0, 2.0, 3.0])
    assert (ratio.estimate, ratio.low, ratio.high) == (0.0, 0.0, 0.0)
    runs = np.random.default_rng(0).normal(0.2, 1.0, size=20)
    ratio = paired_ratio(runs, np.full(20, 0.5))
    assert ratio.estimate == pytest.approx(2 * runs.mean())
    assert 0.0 == ratio.low < ratio.estimate < ratio.high


def test_mean_interval_of_few_runs_is_students_t() -> None:
    runs = np.geomspace(1.0, 100.0, MIN_RUNS)
    for number in range(2, MIN_RUNS + 1):
        values, shaped = runs[:number], number == MIN_RUNS
        interval = mean_interval(values, level=0.9)
        half = t.ppf(0.95, number - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
        students = [interval.estimate - half, interval.estimate + half]
        assert np.allclose([interval.low, interval.high], students) == (not shaped)


@pytest.mark.parametrize(("shift", "reached"), [(0.0, 0.0), (1.0, -1.0), (-1.0, 1.0)])
def test_studentised_handles_samples_of_equal_values(shift: float, reached: float) -> None:
    one, many = np.ones(1), np.ones((1, 100))
    band = studentised(0.0 * one, one, shift * many, 0.0 * many, runs=10, level=0.95)
    furthest = _REACH * t.ppf(0.975, 9)
    np.testing.assert_allclose([band.low[0], band.high[0]], reached * furthest)


def test_stratified_band_has_tails_of_students_t() -> None:
    """A uniform statistic has quantiles that are their own probabilities."""
    band = stratified_band(
        lambda counts: np.linspace(0.0, 1.0, len(counts))[:, None],
        runs=5,
        tasks=2,
        level=0.95,
        seed=0,
        resamples=2000,
    )
    tail = norm.cdf(np.sqrt(5 / 4) * t.ppf(0.025, df=2 * 4))
    np.testing.assert_allclose([band.low[0], band.high[0]], [tail, 1 - tail], rtol=1e-9)


RUNS = np.random.default_rng(1).exponential(size=(40, 3))
SEEDED: list[Callable[..., Any]] = [
    partial(performance_profile, RUNS, np.linspace(0, 2, 20)),
    partial(iqm, RUNS),
    partial(mean_ranks, RUNS.T[..., None]),
    partial(probability_of_improvement, RUNS[:, :1], RUNS[:, 1:2]),
    partial(mean_interval, RUNS[:, 0]),
    partial(curve_band, RUNS),
    partial(paired_difference, RUNS[:, 0], RUNS[:, 1]),
    partial(paired_ratio, RUNS[:, 0], RUNS[:, 1]),
    partial(paired_matrix, RUNS.T),
]


@pytest.mark.parametrize("bounds", SEEDED, ids=lambda bounds: bounds.func.__name__)
def test_intervals_have_seed_zero_by_default(bounds: Callable[..., Any]) -> None:
    plain, seeded, other = bounds(), bounds(seed=0), bounds(seed=1)
    np.testing.assert_array_equal(plain.low, seeded.low)
    np.testing.assert_array_equal(plain.high, seeded.high)
    assert not np.array_equal(plain.low, other.low, equal_nan=True)


def test_sign_flips_have_seed_zero_by_default() -> None:
    runs = RUNS[:, 0] - 0.8
    assert sign_flip_test(runs) == sign_flip_test(runs, seed=0) != sign_flip_test(runs, seed=1)


@pytest.mark.parametrize(
    ("interval_of", "resamples"),
    [
        (lambda x, **how: mean_interval(x[0, :, 0], **how), 5000),
        (lambda x, **how: curve_band(x[0], **how).low, 1000),
        (lambda x, **how: paired_difference(x[0, :, 0], x[1, :, 0], **how), 9999),
        (lambda x, **how: paired_ratio(x[0, :, 0], x[1, :, 0], **how), 5000),
        (lambda x, **how: paired_matrix(x[..., 0], **how).low, 2000),
        (lambda x, **how: paired_matrix(x[..., 0], **how).p_value, 2000),
        (lambda x, **how: iqm(x[0], **how), 2000),
        (lambda x, **how: performance_profile(x[0], [1.0, 1.1], **how).low, 2000),
        (lambda x, **how: probability_of_improvement(x[0], x[1], **how), 2000),
        (lambda x, **how: mean_ranks(x, **how).low, 2000),
    ],
)
def test_intervals_have_the_published_defaults(
    interval_of: Callable[..., Any], resamples: int
) -> None:
    """Figures change with the seed and the number of resamples; published ones use the defaults."""
    scores = np.random.default_rng(0).gamma(2.0, 1.0, (3, 20, 4))
    explicit = interval_of(scores, level=0.95, seed=0, resamples=resamples)
    np.testing.assert_equal(interval_of(scores), explicit)


def test_random_sign_flips_count_every_pattern() -> None:
    """Every pattern of equal runs is as extreme as the observed one."""
    assert sign_flip_test(np.zeros(17)) == 1.0
    assert sign_flip_test(np.full(40, 1.0)) == 1 / 10_000


def test_middle_half_drops_a_quarter_at_each_end() -> None:
    assert middle_half(np.array([[9.0, 1.0, 2.0, -5.0]])) == [1.5]
    assert middle_half(np.arange(10.0)[None] ** 2) == [np.mean(np.arange(2.0, 8.0) ** 2)]
