"""Tests of the search for seasons, of the gain from knowing them, and of ``check_series``.

False alarms, measured over seeds 0-299 of the twelve kinds of noise below in tables of 60 x 2,
200 x 3 and 672 x 5 steps and arms: a season is found in at most 1.3 % of the tables of any kind and
size, and in 0.4 % of all.
"""

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest

from periodic_decisions.seasons.check import check_series
from periodic_decisions.seasons.figure import check_figure
from periodic_decisions.seasons.find import (
    autocorrelation,
    find_seasons,
    neighbours,
    strength_of,
)
from periodic_decisions.seasons.schedule import measure_gain
from periodic_decisions.tables.series import Series, read_series
from periodic_envs.worlds.replay import EXAMPLE

STEPS = np.arange(672)[:, None]


def noise(kind: str, seed: int, shape: tuple[int, int]) -> np.ndarray:
    """Return series without seasons."""
    rng = np.random.default_rng(seed)
    n = shape[0]
    errors = rng.standard_normal(shape)
    common = rng.standard_normal((n, 1))
    if kind == "gaps":
        errors[rng.random(shape) < 0.15] = np.nan
    return {
        "white": errors,
        "gaps": errors,
        "common": 0.3 * errors + common,
        "walk": errors.cumsum(0),
        "common walk": 0.2 * errors.cumsum(0) + common.cumsum(0),
        "walk and noise": errors.cumsum(0) + 3 * common,
        "trend": 0.05 * np.arange(n)[:, None] + errors,
        "pure trend": np.arange(n)[:, None] * np.arange(1.0, shape[1] + 1),
        "parabola": np.arange(n)[:, None] ** 2.0 * np.arange(1.0, shape[1] + 1),
        "jumps": (rng.random(shape) < 0.02).cumsum(0) + 0.3 * errors,
        "heavy tails": rng.standard_t(2, shape),
        "smooth walk": errors.cumsum(0).cumsum(0),
    }[kind]


KINDS = [
    "white", "gaps", "common", "walk", "common walk", "walk and noise", "trend", "pure trend",
    "parabola", "jumps", "heavy tails", "smooth walk",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_find_seasons_finds_none_in_noise(kind: str) -> None:
    """At most two of 40 tables have a season: at the highest rate, one in 60 seeds fails."""
    alarms = [
        find_seasons(noise(kind, seed, shape)).seasons
        for seed in range(20)
        for shape in ((60, 2), (200, 3))
    ]
    assert sum(map(bool, alarms)) <= 2


@pytest.mark.parametrize("period", [2, 3, 7, 12, 24, 96, 168, 12.42, 24.1])
@pytest.mark.parametrize("drift", ["none", "trend", "walk"])
def test_find_seasons_finds_a_season_in_noise(period: float, drift: str) -> None:
    rng = np.random.default_rng(3)
    values = 1.5 * np.cos(2 * np.pi * (STEPS / period + [0.0, 0.2, 0.5]))
    values = values + 0.5 * rng.standard_normal(values.shape)
    if drift == "trend":
        values += 0.01 * STEPS
    if drift == "walk":
        values += 0.1 * rng.standard_normal(values.shape).cumsum(0)
    best = find_seasons(values).best
    assert best is not None
    # The longest has only four repetitions: a difference of 5 % is hardly significant.
    assert best.period == pytest.approx(period, rel=0.005 if period < 50 else 0.05)
    if float(period).is_integer() and period < 50:
        assert best.period == period
    assert best.strength > 0.3
    assert best.p_value < 1e-6


def test_find_seasons_finds_spikes_and_squares() -> None:
    rng = np.random.default_rng(0)
    spikes = 4.0 * (STEPS % 24 == 5) + rng.standard_normal((672, 3))
    assert [season.period for season in find_seasons(spikes).seasons] == [24]
    weekly = 8.0 * (STEPS % 168 == 50) + rng.standard_normal((672, 3))
    assert find_seasons(weekly).best.period == 168
    squares = np.where(STEPS % 24 < 12, 1.0, -1.0) * [1.0, -1.0]
    (season,) = find_seasons(squares).seasons
    assert season.period == 24
    assert season.strength > 0.95


def test_find_seasons_finds_day_and_week() -> None:
    table = pd.read_csv(EXAMPLE).iloc[:, 1:].to_numpy(dtype=float)
    assert [season.period for season in find_seasons(table).seasons] == [168, 24]
    holed = np.where(np.random.default_rng(0).random(table.shape) < 0.2, np.nan, table)
    assert [season.period for season in find_seasons(holed).seasons] == [168, 24]


@pytest.mark.parametrize("values", [np.ones((50, 2)), np.ones((3, 2)), np.eye(4), np.eye(7)])
def test_find_seasons_accepts_little_data(values: np.ndarray) -> None:
    assert find_seasons(values).seasons == ()


def test_strength_of_is_out_of_sample() -> None:
    rng = np.random.default_rng(0)
    white = rng.standard_normal((400, 4))
    assert strength_of(white, 100.0) < 0.02  # in sample a quarter would be explained
    season = np.tile(rng.standard_normal((100, 4)), (4, 1))
    assert strength_of(season, 100.0) == pytest.approx(1.0)
    assert strength_of(season + white, 100.0) == pytest.approx(0.4, abs=0.1)


def test_measure_gain_by_hand() -> None:
    """Two phases; the first arm is best in one, the second in the other, except in one season."""
    rewards = np.array([[3.0, 1.0], [0.0, 2.0], [3.0, 1.0], [0.0, 2.0], [3.0, 1.0], [9.0, 2.0]])
    gain = measure_gain(rewards, 2)
    assert gain.seasons == 3
    assert gain.oracle == pytest.approx((3 + 2 + 3 + 2 + 3 + 9) / 6)
    assert gain.random == pytest.approx(rewards.mean())
    # The first arm has the highest mean over all.
    assert gain.static == pytest.approx((3 + 0 + 3 + 0 + 3 + 9) / 6)
    # Others' means at the second phase: (4.5, 2), (4.5, 2), (0, 2).
    assert gain.per_phase == pytest.approx((3 + 0 + 3 + 0 + 3 + 2) / 6)
    assert gain.hindsight == pytest.approx((3 + 0 + 3 + 0 + 3 + 9) / 6)
    np.testing.assert_allclose(gain.profile, [[3, 1], [3, 2]])
    assert measure_gain(rewards[:2], 2) is None


def test_measure_gain_of_noise_is_zero() -> None:
    """An in-sample estimate for pure noise would be far above zero."""
    gains = [measure_gain(noise("white", seed, (96, 5)), 24) for seed in range(30)]
    honest = np.mean([gain.per_phase - gain.random for gain in gains])
    optimistic = np.mean([gain.hindsight - gain.static for gain in gains])
    assert abs(honest) < 0.1  # standard error 0.027
    assert optimistic > 0.4  # 0.015
    assert np.mean([gain.share for gain in gains]) < 0.05  # 0.009


def test_measure_gain_has_one_fixed_arm() -> None:
    """With arms that are nearly alike, the best of other seasons would be worse than a guess."""
    table = pd.read_csv(EXAMPLE).iloc[:, 1:].to_numpy(dtype=float)
    for rewards in (table, noise("white", 1, (96, 5))):
        gains = [measure_gain(rewards, period) for period in (2, 7, 24, 31.5)]
        assert {gain.static for gain in gains} == {rewards.mean(0).max()}


def test_measure_gain_is_never_negative() -> None:
    """The first arm is always the best but for one outlier, which misleads at its phase."""
    rewards = np.tile([1.0, 0.9], (12, 1))
    rewards[4, 1] = 9.0
    gain = measure_gain(rewards, 4)
    assert gain.static == pytest.approx(rewards[:, 1].mean())
    assert gain.per_phase < gain.static
    assert gain.share == 0.0


def series_of(values: np.ndarray, names: list[str]) -> Series:
    return read_series(pd.DataFrame(values, columns=names).assign(t=range(len(values))))


def test_check_series_without_season_has_no_gain() -> None:
    check = check_series(series_of(noise("walk", 0, (200, 2)), ["a", "b"]), source="x")
    assert (check.search.seasons, check.search.longest) == ((), 66)
    assert check_series(check.series, source="x", period=150).gain is not None
    for seasonless in (check, check_series(check.series, source="x", period=250)):
        assert seasonless.gain is None
        assert len(check_figure(seasonless).axes) == 2
        assert seasonless.lines()


def test_check_figure_draws_unusual_names(tmp_path: Path) -> None:
    """Neither mathematics nor hidden labels; many arms become a heat map."""
    values = np.cos(2 * np.pi * np.arange(96)[:, None] / 24 + np.arange(9))
    values = values + 0.1 * noise("white", 0, values.shape)
    names = ["$x_{", "_hidden", r"\frac", "%", "<b>", "#", "{", "^", "$$"]
    for n in (3, 9):
        check = check_series(series_of(values[:, :n], names[:n]), source="$a_{.csv")
        figure = check_figure(check)
        figure.savefig(tmp_path / f"{n}.svg")
        images = [axes for axes in figure.axes if axes.images]
        assert len(images) == (0 if n == 3 else 2)
        if n == 3:
            labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
            assert [label.strip().replace("\\$", "$") for label in labels] == names[:3]
    assert "matplotlib.pyplot" not in vars(matplotlib)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_autocorrelation_has_no_unit(unit: float) -> None:
    """By hand at lags 0 to 2: 1, -1 and 1 for alternating values of any size."""
    levels = unit * np.tile([[1.0], [-1.0]], (8, 1))
    assert autocorrelation(levels, 3) == pytest.approx([1.0, -1.0, 1.0])


def test_p_value_compares_with_twelve_neighbours_at_most() -> None:
    assert [neighbours(n) for n in (10, 48, 64, 100, 10_000)] == [3, 3, 4, 6, 12]
    assert all(isinstance(neighbours(n), int) for n in (10, 100))
