"""Tests of schedules and slots of a calendar."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from periodic_decisions.seasons.check import Check, check_series
from periodic_decisions.seasons.find import find_seasons
from periodic_decisions.seasons.schedule import COLUMNS, SeasonalMean, plan
from periodic_decisions.seasons.slots import calendar_periods, slot_choices
from periodic_decisions.tables.series import Series, TimeGrid, read_series


def clock(first: str, step: str) -> TimeGrid:
    return TimeGrid(pd.Timestamp(first), pd.Timedelta(step))


def table(values: np.ndarray, first: str, step: str) -> Series:
    times = pd.date_range(first, periods=len(values), freq=pd.Timedelta(step))
    return read_series(pd.DataFrame(values).add_prefix("arm ").assign(time=times))


def rows_of(check: Check) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(check.schedule.csv())))


@pytest.mark.parametrize(
    ("step", "periods"),
    [
        ("15min", [4, 96, 672, 35040, 35064]),
        ("1h", [24, 168, 8760, 8766]),
        ("1D", [7, 365, 365.25]),
        ("7D", [52, 365.25 / 7]),
    ],
)
def test_calendar_periods(step: str, periods: list[float]) -> None:
    assert list(calendar_periods(clock("2024-01-03", step))) == pytest.approx(periods)
    assert calendar_periods(None) == calendar_periods(TimeGrid(0.0, 1.0)) == ()


def test_slot_choices_begin_on_monday_at_midnight() -> None:
    (week,) = slot_choices(clock("2024-01-03 05:00", "1h"), 400, 168)  # a Wednesday
    assert len(week) == 168
    assert week.label(int(week.slot[0])) == "Wed 05:00"
    assert week.label(0) == "Mon 00:00"
    assert week.season[[0, 114, 115]].tolist() == [0, 0, 1]
    assert week.span(9, 11) == "Mon 09:00-12:00"
    assert week.span(23, 23) == "Mon 23:00-24:00"
    (day,) = slot_choices(clock("2024-01-03 05:30", "1h"), 60, 24)
    assert [day.label(int(slot)) for slot in day.slot[:2]] == ["05:30", "06:30"]
    assert day.season[[18, 19]].tolist() == [0, 1]
    quarters, hours = slot_choices(clock("2024-01-03", "15min"), 400, 96)
    assert (len(quarters), len(hours)) == (96, 24)
    assert quarters.label(1) == "00:15"
    (weekdays,) = slot_choices(clock("2024-01-03", "1D"), 40, 7)
    assert [weekdays.label(i) for i in range(3)] == ["Mon", "Tue", "Wed"]
    assert weekdays.slot[0] == 2
    for plain in (slot_choices(None, 40, 7), slot_choices(clock("2024-01-03", "7h"), 40, 7)):
        assert plain[0].label(3) == "step 3"
    assert slot_choices(clock("2024-01-03", "1h"), 100, 24.339)[0].label(0) == "step 0"


def test_slot_choices_of_a_year_are_months() -> None:
    (months,) = slot_choices(clock("2023-07-01", "1D"), 800, 365)
    assert len(months) == 12
    assert months.span(0, 2) == "Jan-Mar"
    assert months.season[[0, 183, 184]].tolist() == [0, 0, 1]
    joint = slot_choices(clock("2023-07-01", "1h"), 800, 8760, joint=True)
    assert [slots.label(0) for slots in joint] == ["Jan", "Jan Mon", "Jan 00:00"]


def test_seasonal_mean_needs_three_seasons() -> None:
    assert SeasonalMean.of(np.array([1.0, np.nan, 3.0])) == SeasonalMean(2.0, seasons=2)
    mean = SeasonalMean.of(np.array([1.0, 2.0, 3.0]))
    # Student's t with two degrees of freedom: 4.303.
    assert mean.high == pytest.approx(2.0 + 4.3027 / np.sqrt(3), abs=1e-4)
    assert mean.text() == "+2 [-0.484, 4.48]"
    assert SeasonalMean(-1234.5).text() == "-1,234"


def test_seasonal_mean_has_nominal_coverage() -> None:
    """The gain of the second slot is 1; 95 of 100 intervals hold it (of 200: 183 to 197)."""
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rewards = np.tile([[3.0, 0.0], [0.0, 1.0]], (12, 1)) + 0.3 * rng.standard_normal((24, 2))
        (slots,) = slot_choices(None, 24, 2)
        _, gain = plan(rewards, slots, ["a", "b"]).over([1])
        covered += gain.low <= 1.0 <= gain.high
    assert 183 <= covered <= 197


def test_schedule_by_hand() -> None:
    """Return rewards whose other arm is better in the second slot, except in one season."""
    rewards = np.tile([[3.0, 0.0], [1.0, 2.0]], (4, 1))
    rewards[7] = [1.0, 0.0]
    check = check_series(table(rewards, "2024-01-01", "1s"), source="x", period=2)
    first, second = rows_of(check)
    assert tuple(first) == COLUMNS
    assert (first["arm"], first["gain_over_best_fixed_arm"], first["low"]) == ("arm 0", "0", "")
    assert (second["when"], second["arm"], second["expected_reward"]) == ("step 1", "arm 1", "1.5")
    assert (second["gain_over_best_fixed_arm"], second["seasons_seen"]) == ("0.5", "4")
    assert float(second["low"]) == pytest.approx(0.5 - 3.18245 * 0.5, abs=1e-4)
    words = check.schedule.lines()[-2].split()
    assert words == ["step", "1", "arm", "1", "1.5", "+0.5", "[-1.09,", "2.09]"]
    cost = check_series(table(-rewards, "2024-01-01", "1s"), source="x", period=2, objective="min")
    second = rows_of(cost)[1]
    assert (second["expected_reward"], second["gain_over_best_fixed_arm"]) == ("-1.5", "0.5")
    few = check_series(table(rewards[:4], "2024-01-01", "1s"), source="x", period=2)
    assert (rows_of(few)[1]["low"], rows_of(few)[1]["seasons_seen"]) == ("", "2")


def test_schedule_of_noise_is_one_arm() -> None:
    """Nothing is gained: one arm, always."""
    values = np.random.default_rng(0).normal([0.0, 0.5, 0.0], 1.0, (240, 3))
    for period in (None, 24, 1000):
        check = check_series(table(values, "2024-01-01", "1h"), source="x", period=period)
        assert [(row["when"], row["arm"]) for row in rows_of(check)] == [("always", "arm 1")]
        assert len(check.schedule.lines()) == 1


def test_schedule_sets_a_weekday_apart_only_if_the_data_are_clear() -> None:
    """At noon on working days arm 1 is better, on Wednesday slightly or clearly worse."""
    rng = np.random.default_rng(0)
    hours = np.arange(24 * 7 * 12)
    noon, day = hours % 24 == 12, hours // 24 % 7
    for wednesday, days in ((-0.1, {0, 1, 2, 3, 4}), (-5.0, {0, 1, 3, 4})):
        values = 0.5 * rng.standard_normal((len(hours), 2)) + [1.0, 0.0]
        values[noon & (day < 5), 1] += 3.0
        values[noon & (day == 2), 1] += wednesday - 2.0
        check = check_series(table(values, "2024-01-01", "1h"), source="x", period=168)
        other = {int(row["phase"]) for row in rows_of(check) if row["arm"] == "arm 1"}
        assert other == {24 * each + 12 for each in days}


def test_find_seasons_ranks_the_day_before_a_useless_year() -> None:
    steps = np.arange(24 * 365 * 3)[:, None] / 24
    year = 5.0 * np.cos(2 * np.pi * steps / 365)
    values = year + np.cos(2 * np.pi * (steps - np.array([0.0, 0.5])))
    values = values + 0.5 * np.random.default_rng(0).standard_normal(values.shape)
    series = table(values, "2021-01-01", "1h")
    day, year = find_seasons(series.values, grid=series.grid).seasons
    assert (day.period, year.period) == (24, 8760)
    assert year.strength > day.strength
    assert year.gain < 0.01 < 0.5 < day.gain


@pytest.mark.parametrize("seed", range(3))
def test_find_seasons_prefers_the_calendar(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps = np.arange(1500)[:, None]
    for period, expected in ((24.0, 24), (24.04, 24), (24.339, 24.339), (23.2, 23.2)):
        values = np.cos(2 * np.pi * (steps / period + [0.0, 0.3, 0.7]))
        series = table(values + rng.standard_normal(values.shape), "2024-01-01", "1h")
        best = find_seasons(series.values, grid=series.grid).best
        assert best is not None
        assert best.period == pytest.approx(expected, abs=0 if expected == 24 else 0.02)
        assert len(repr(best.period)) <= 7  # no dust
