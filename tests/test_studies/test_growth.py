"""Growth of regret: exact powers, edges of its window, and coverage of its interval."""

import numpy as np
import pytest
from scipy.stats import t

from studies.growth import growth_exponent


def regret_of(curve: np.ndarray, runs: int = 3) -> np.ndarray:
    """Runs whose cumulative regret is this curve."""
    return np.tile(np.diff(curve, prepend=0.0), (runs, 1))


@pytest.mark.parametrize("exponent", [0.25, 0.5, 1.0])
def test_growth_exponent_of_exact_powers(exponent) -> None:
    curve = np.arange(0.0, 401.0) ** exponent
    regret = np.outer([1.0, 2.0, 5.0, 0.5, 3.0], np.diff(curve))
    growth = growth_exponent(regret)
    np.testing.assert_allclose([growth.estimate, growth.low, growth.high], exponent, atol=1e-9)


def test_growth_exponent_without_an_answer() -> None:
    assert np.isnan(growth_exponent(np.zeros((5, 100))).estimate)
    assert np.isnan(growth_exponent(np.ones((5, 1))).estimate)
    single = growth_exponent(np.ones((1, 100)))
    assert single.estimate == pytest.approx(1.0)
    assert np.isnan(single.low)
    with pytest.raises(ValueError, match="start"):
        growth_exponent(np.ones((5, 100)), start=1.0)


@pytest.mark.parametrize(("runs", "low"), [(4, 0.87), (8, 0.90), (30, 0.90)])
def test_growth_intervals_cover(runs, low) -> None:
    """At 95 %, between ``low`` and 98.5 %: 600 studies of noisy runs whose mean grows as sqrt(t).

    The standard error is at most 1.2 percent and coverages measured with other seeds are 91 % (4
    runs, Student's t) and 94 %; false alarms in fewer than 1 of 100 seeds.
    """
    rng = np.random.default_rng(2)
    root = np.diff(np.sqrt(np.arange(201.0)))
    hits = 0
    for i in range(600):
        early, late = rng.gamma(2.0, 0.5, size=(2, runs, 1))
        share = np.linspace(0.0, 1.0, 200)
        regret = root * (early * (1.0 - share) + late * share)
        growth = growth_exponent(regret, seed=i, resamples=400)
        hits += growth.low <= 0.5 <= growth.high
    assert low <= hits / 600 <= 0.985


def test_growth_exponent_is_that_of_the_window() -> None:
    """Regret grows as T until the middle, and as the root of T from there on."""
    t = np.arange(1.0, 1001.0)
    curve = np.where(t <= 500, t, 500 * np.sqrt(t / 500))
    assert growth_exponent(regret_of(curve), start=0.5).estimate == pytest.approx(0.5, abs=1e-9)
    assert 0.5 < growth_exponent(regret_of(curve), start=0.1).estimate < 1.0


def test_growth_exponent_does_not_depend_on_the_unit() -> None:
    regret = np.random.default_rng(0).exponential(size=(6, 100))
    plain = growth_exponent(regret)
    for unit in (1e-6, 1e6):
        growth = growth_exponent(unit * regret)
        expected = [plain.estimate, plain.low, plain.high]
        np.testing.assert_allclose([growth.estimate, growth.low, growth.high], expected)


def test_growth_exponent_needs_regret_where_its_window_begins() -> None:
    """The regret of any run is enough there, and later regret is not."""
    curve = np.arange(1.0, 101.0)
    regret = np.vstack([np.zeros((1, 100)), regret_of(curve)])
    assert growth_exponent(regret).estimate == pytest.approx(1.0, abs=1e-9)
    late = np.zeros((3, 100))
    late[0, 50:] = 1.0
    assert np.isnan(growth_exponent(late, start=0.1).estimate)
    assert np.isnan(growth_exponent(1.0 - np.eye(1, 100), start=0.0).estimate)


@pytest.mark.parametrize("runs", [2, 3])
def test_growth_of_few_runs_by_hand(runs: int) -> None:
    """Two steps: the slope is log2 of the ratio of means, its error that of the delta method."""
    first, second = np.array([[1.0, 2.0, 4.0], [6.0, 5.0, 9.0]])[:, :runs]
    growth = growth_exponent(np.stack([first, second - first], axis=1), start=0.0)
    slope = np.log2(second.mean() / first.mean())
    influence = (second / second.mean() - first / first.mean()) / np.log(2.0)
    half = t.ppf(0.975, runs - 1) * np.sqrt(np.mean(influence**2) / (runs - 1))
    expected = [slope - half, slope, slope + half]
    np.testing.assert_allclose([growth.low, growth.estimate, growth.high], expected)


def test_growth_exponent_skips_samples_without_regret() -> None:
    regret = np.random.default_rng(0).uniform(0.5, 1.5, size=(6, 50))
    regret[:3, 0] = 0.0
    growth = growth_exponent(regret, start=0.0)  # a logarithm of 0 would warn
    assert np.isfinite([growth.estimate, growth.low, growth.high]).all()
