"""Moments, steps and seasons, in summer and in winter."""

from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pytest

from periodic_decisions.decider.settings import (
    DeciderError,
    StepClock,
    duration_text,
    parse_duration,
)
from tests.errors import raises

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MADRID = "Europe/Madrid"
SPRING = "2026-03-29"
"""Clocks go from 02:00 to 03:00."""
AUTUMN = "2026-10-25"
"""Clocks go from 03:00 back to 02:00."""


def madrid(step: timedelta = HOUR, season: timedelta = DAY) -> StepClock:
    return StepClock.of(step, [season], MADRID)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h", 3600),
        ("15 min", 900),
        ("1 day", 86400),
        ("week", 7 * 86400),
        ("1.5 Hours", 5400),
        (" 30s ", 30),
        (timedelta(hours=2), 7200),
        (pd.Timedelta("2h"), 7200),
    ],
)
def test_parse_duration(text: Any, seconds: float) -> None:
    assert parse_duration("step", text) == timedelta(seconds=seconds)
    assert type(parse_duration("step", text)) is timedelta


@pytest.mark.parametrize(
    "bad", ["", "1", "h h", "-1h", "0 min", "1 month", 3600, None, pd.NaT, "9e9h"]
)
def test_parse_duration_refuses_other_text(bad: Any) -> None:
    with raises(DeciderError, "invalid-duration"):
        parse_duration("step", bad)


@pytest.mark.parametrize(
    "text", ["1 hour", "90 minutes", "1 week", "10 days", "3 seconds", "100000.5 seconds"]
)
def test_duration_text_inverts_parse_duration(text: str) -> None:
    assert duration_text(parse_duration("step", text)) == text


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-07-01 09:00", "2026-07-01 09:00:00+02:00"),
        ("2026-07-01T07:00Z", "2026-07-01 09:00:00+02:00"),
        ("2026-07-01T03:00-04:00", "2026-07-01 09:00:00+02:00"),
        (datetime(2026, 7, 1, 9), "2026-07-01 09:00:00+02:00"),
        (datetime(2026, 7, 1, 7, tzinfo=timezone.utc), "2026-07-01 09:00:00+02:00"),
        (pd.Timestamp("2026-07-01 09:00"), "2026-07-01 09:00:00+02:00"),
        (pd.Timestamp("2026-07-01 03:00", tz="America/New_York"), "2026-07-01 09:00:00+02:00"),
        (np.datetime64("2026-07-01T09:00"), "2026-07-01 09:00:00+02:00"),
        (date(2026, 7, 1), "2026-07-01 00:00:00+02:00"),
        (f"{SPRING} 02:30", "2026-03-29 03:30:00+02:00"),  # a skipped hour
    ],
)
def test_moment_reads_many_forms(value: Any, moment: str) -> None:
    assert str(madrid().moment(value)) == moment


@pytest.mark.parametrize("bad", ["", "yesterday", "2026-13-01", 5, None, pd.NaT, "0001-01-01", []])
def test_moment_refuses_other_values(bad: Any) -> None:
    with raises(DeciderError, "invalid-time"):
        madrid().moment(bad)


def test_moment_refuses_an_offset_without_a_zone() -> None:
    with raises(DeciderError, "missing-timezone"):
        StepClock.of(HOUR, [DAY], None).moment("2026-07-01 09:00+02:00")


@pytest.mark.parametrize("name", ["Europe/Nowhere", "", "../etc/passwd", "Europe", 5])
def test_clock_refuses_unknown_zones(name: Any) -> None:
    with raises(DeciderError, "unknown-timezone"):
        StepClock.of(HOUR, [DAY], name)


@pytest.mark.parametrize("hour", [0, 9])
def test_count_follows_the_wall_clock_by_day(hour: int) -> None:
    clock = madrid()
    origin = clock.origin(clock.moment("2026-01-15 17:42"))
    moments = pd.date_range(f"2026-01-15 {hour:02}:00", "2026-12-31", tz=MADRID)
    assert {clock.count(clock.moment(moment), origin) % 24 for moment in moments} == {hour}


def test_count_follows_the_wall_clock_by_week() -> None:
    clock = madrid(season=timedelta(weeks=1))
    origin = clock.origin(clock.moment("2026-01-05"))
    mondays = pd.date_range("2026-01-05", "2026-12-28", freq="7D")
    assert {clock.count(clock.moment(day), origin) % 168 for day in mondays} == {0}


def test_count_follows_elapsed_time_for_tides() -> None:
    clock = madrid(step=timedelta(minutes=30), season=timedelta(hours=12.4))
    origin = clock.origin(clock.moment(f"{SPRING} 00:00"))
    before, after = (clock.count(clock.moment(f"{SPRING} {h}"), origin) for h in ("01:00", "04:00"))
    assert after - before == 4  # two hours have passed


def test_moment_of_a_repeated_hour_follows_fold() -> None:
    clock = madrid()
    first = clock.moment(f"{AUTUMN} 02:30")
    second = clock.moment(datetime(2026, 10, 25, 2, 30, fold=1))
    assert (str(first)[-6:], str(second)[-6:]) == ("+02:00", "+01:00")
    stamp = pd.Timestamp(f"{AUTUMN} 02:30+01:00").tz_convert(MADRID)
    assert str(clock.moment(stamp)) == str(second)
    origin = clock.origin(first)
    assert clock.count(first, origin) == clock.count(second, origin) == 2


def test_count_of_times_within_a_step() -> None:
    clock = madrid(step=timedelta(minutes=15))
    origin = clock.origin(clock.moment("2026-05-05 10:07"))
    steps = [clock.count(clock.moment(f"2026-05-05 {t}"), origin) for t in ("09:00", "09:14:59")]
    assert steps == [36, 36]


def test_origin_of_weeks_is_a_monday() -> None:
    clock = StepClock.of(timedelta(weeks=1), [], None)
    assert clock.origin(datetime(2026, 11, 19, 12)) == datetime(2026, 11, 16)


def hours(clock: StepClock, start: str, steps: int) -> list[str]:
    moment = clock.moment(start)
    begins = clock.steps_from(moment, clock.origin(moment), steps)
    return [f"{begin:%H:%M%z}" for begin in begins]


def test_steps_from_skips_an_hour_in_spring() -> None:
    expected = ["00:00+0100", "01:00+0100", "03:00+0200", "04:00+0200"]
    assert hours(madrid(), f"{SPRING} 00:20", 4) == expected


def test_steps_from_repeats_an_hour_in_autumn() -> None:
    expected = ["01:00+0200", "02:00+0200", "02:00+0100", "03:00+0100"]
    assert hours(madrid(), f"{AUTUMN} 01:00", 4) == expected
    half = hours(madrid(step=timedelta(minutes=30)), f"{AUTUMN} 02:00", 5)
    assert half == ["02:00+0200", "02:30+0200", "02:00+0100", "02:30+0100", "03:00+0100"]
    assert hours(madrid(), "2026-10-25T02:10+01:00", 2) == ["02:00+0100", "03:00+0100"]


@pytest.mark.parametrize("day", [SPRING, AUTUMN])
def test_steps_from_keeps_long_steps_on_the_wall_clock(day: str) -> None:
    quarters = hours(madrid(step=timedelta(hours=6), season=DAY), f"{day} 00:00", 6)
    assert [text[:5] for text in quarters] == ["00:00", "06:00", "12:00", "18:00", "00:00", "06:00"]
    assert {text[:5] for text in hours(madrid(step=DAY, season=7 * DAY), day, 5)} == {"00:00"}
