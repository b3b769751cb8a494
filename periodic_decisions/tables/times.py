"""Times as people write them, and the hours at which local clocks are changed.

ISO 8601, day or month first, Unix time, or plain numbers. Local times stay local, so that nine in
the morning is the same phase in summer and in winter: the hour that comes twice becomes one, the
mean of the two, and the skipped hour is a gap.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from periodic_decisions.tables.files import RawTable, as_text
from periodic_decisions.tables.grid import TimeGrid, show
from periodic_decisions.tables.values import Marks, is_number, parse_numbers, sample
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError

_OFFSET = re.compile(r"(?<=\d)\s*(Z|[+-]\d\d(:?\d\d)?)$", re.ASCII | re.I)
_ISO = re.compile(r"\d{4}-\d\d(-\d\d)?\b", re.ASCII)
_TWO_FIRST = re.compile(
    r"(?P<one>\d{1,2})(?P<mark>[./-])(?P<two>\d{1,2})(?P=mark)(?P<year>\d{4}|\d\d)"
    r"((?P<gap>,? |T)\d{1,2}:\d\d(?P<seconds>:\d\d)?(?P<space> ?)(?P<half>[AaPp][Mm])?)?",
    re.ASCII,
)
_OF_DAY = re.compile(r"\d{1,2}:\d\d(:\d\d)?( ?[ap]m)?", re.ASCII | re.I)
_UNIX = {"s": (1e9, 2e9, "seconds"), "ms": (1e12, 2e12, "milliseconds")}  # 2001 to 2033
_NO_FORMAT = (TypeError, ValueError, OverflowError, re.error)  # raised by pandas for odd formats
# Clocks are changed on a Sunday before four, north and south of the equator in these months.
_SET_BACK_MONTHS, _SET_FORWARD_MONTHS = (4, 9, 10, 11), (3, 4, 9, 10)

Times = tuple[Any, tuple[str, ...]]  # a DatetimeIndex or numbers, and notes


def is_time(values: pd.Series) -> bool:
    """Return whether the values are timestamps, or the first of them is written as one."""
    if pd.api.types.is_datetime64_any_dtype(values):
        return True
    words = [] if pd.api.types.is_numeric_dtype(values) else sample(values)[:1]
    return any(_ISO.match(word) or _TWO_FIRST.fullmatch(word) for word in words)


def is_time_of_day(values: pd.Series) -> bool:
    """Return whether the values are written like 13:00, without a date."""
    words = [] if pd.api.types.is_numeric_dtype(values) else sample(values)
    return bool(words) and all(_OF_DAY.fullmatch(word) for word in words)


def fits(values: pd.Series, time_format: str) -> bool:
    """Return whether the first values are written in this format."""
    words = sample(values)
    try:
        stamps = pd.to_datetime(pd.Series(words), format=time_format, errors="coerce", utc=True)
    except _NO_FORMAT:  # reported by ``parse_times``
        return False
    return bool(words) and bool(stamps.notna().all())


def parse_times(
    table: RawTable,
    name: str,
    *,
    time_format: str | None,
    marks: Marks,
    timezone: str | None = None,
) -> Times:
    """Return the column as timestamps or as plain numbers.

    Times with an offset are converted to UTC, or to the clocks of the time zone.
    """
    moments, notes = _parse(table, name, time_format, marks, utc=timezone is not None)
    if timezone is not None:
        if not isinstance(moments, pd.DatetimeIndex):
            raise DataError(f"timezone={timezone!r} needs times, column {name!r} has numbers")
        moments, note = _in_zone(moments, timezone)
        return moments, (*notes, note)
    aware = getattr(moments, "tz", None) is not None
    return moments, (*notes, "times were converted to UTC") if aware else notes


def _in_zone(moments: pd.DatetimeIndex, zone: str) -> tuple[pd.DatetimeIndex, str]:
    """Return the times as shown by the clocks of the zone, and a note."""
    try:
        pd.Timestamp("2000-01-01").tz_localize(zone)
        if moments.tz is None:
            return moments, f"times are those of clocks in {zone}"
        local = moments.tz_convert(zone).tz_localize(None)
    except (KeyError, ValueError, TypeError, OSError, AttributeError) as error:
        raise DataError(
            f"there is no time zone {zone!r}: give a name such as 'Europe/Madrid' or 'UTC'"
        ) from error
    return local, f"times were converted to those of clocks in {zone}"


def clock_changes(
    grid: TimeGrid, steps: NDArray[np.intp], zone: str | None, *, back: bool
) -> NDArray[np.bool_]:
    """Return for each step whether clocks show it twice (``back``), or skip it.

    Without a zone the calendar decides: before four o'clock on a Sunday in the months in which
    clocks are changed somewhere.
    """
    local = isinstance(grid.first, pd.Timestamp) and grid.first.tzinfo is None
    if not local or grid.step > pd.Timedelta("1h") or not len(steps):
        return np.zeros(len(steps), dtype=np.bool_)
    times = _times(grid, steps)
    if zone is not None:
        twice: Any = "NaT" if back else np.zeros(len(times), dtype=np.bool_)
        skipped = "shift_forward" if back else "NaT"
        return np.asarray(times.tz_localize(zone, ambiguous=twice, nonexistent=skipped).isna())
    months = _SET_BACK_MONTHS if back else _SET_FORWARD_MONTHS
    sunday = (times.day_of_week == 6) & (times.hour < 4) & times.month.isin(months)
    hours = times.floor("h")[sunday].unique()
    # More than one such hour in a month is not a change of the clock.
    once = not pd.Index(zip(hours.year, hours.month, strict=True)).duplicated().any()
    return np.asarray(sunday) & once


def change_lines(grid: TimeGrid, back: NDArray[np.intp], forward: NDArray[np.intp]) -> list[str]:
    """Describe the steps that came twice, and those that clocks skipped."""
    lines = []
    if len(back):
        lines.append(
            f"clocks were set back at {_hours(grid, back)}: the hour that came twice is the mean "
            "of the two"
        )
    if len(forward):
        lines.append(f"clocks were set forward at {_hours(grid, forward)}: that hour is a gap")
    return lines


def _hours(grid: TimeGrid, steps: NDArray[np.intp]) -> str:
    hours = _times(grid, steps).floor("h").unique()
    more = f" and {len(hours) - 2} more times" if len(hours) > 2 else ""
    return ", ".join(show(hour) for hour in hours[:2]) + more


def _times(grid: TimeGrid, steps: NDArray[np.intp]) -> pd.DatetimeIndex:
    return pd.DatetimeIndex([grid.first + int(step) * grid.step for step in steps])


def _parse(
    table: RawTable, name: str, time_format: str | None, marks: Marks, *, utc: bool
) -> Times:
    values = table.columns[name]
    if pd.api.types.is_datetime64_any_dtype(values):
        stamps = pd.DatetimeIndex(values)
        return _stamps(table, name, stamps if stamps.tz is None else stamps.tz_convert("UTC"))
    if time_format is None and is_number(values):
        return _from_numbers(table, name, parse_numbers(table, name, marks), utc=utc)
    rows, words = pd.factorize(np.array(as_text(values), dtype=object))
    aware = _all_aware(words, name)
    notes: tuple[str, ...] = ()
    if time_format is None:
        time_format = _find_format(table, name, words, rows)
        if time_format is not None:
            first = "day" if time_format.startswith("%d") else "month"
            notes = (f"times are written {first} first ({time_format})",)
    try:
        unique = pd.to_datetime(
            pd.Series(words), format=time_format or "ISO8601", errors="coerce", utc=aware
        )
        moments = pd.DatetimeIndex(unique)[rows]
    except _NO_FORMAT as error:
        raise DataError(f"cannot read the times in column {name!r}: {error}") from error
    return _stamps(table, name, moments, notes, written=words[rows])


def _all_aware(words: NDArray[Any], name: str) -> bool:
    aware = np.array([len(word) > 11 and bool(_OFFSET.search(word)) for word in words])
    if aware.any() and not aware.all():
        raise DataError(
            f"some times in column {name!r} have a time zone ({words[aware][0][:40]!r}) and some "
            f"have none ({words[~aware][0][:40]!r})"
        )
    return bool(aware.all())


def _from_numbers(table: RawTable, name: str, numbers: Array, *, utc: bool) -> Times:
    _refuse_gaps(table, name, numbers)
    # 20180331 and 20180401 are one day apart, but not as numbers.
    months, days = numbers // 100 % 100, numbers % 100
    plausible = (numbers > 19e6) & (numbers < 21e6) & (months >= 1) & (months <= 12)
    if np.all(plausible & (days >= 1) & (days <= 31)):
        raise DataError(
            f"the times in column {name!r} look like dates written 20180331: write 2018-03-31, or "
            "give time_format='%Y%m%d'"
        )
    for unit, (low, high, word) in _UNIX.items():
        if np.all((numbers >= low) & (numbers <= high) & (numbers == np.rint(numbers))):
            stamps = pd.to_datetime(numbers.astype(np.int64), unit=unit, utc=utc)
            return _stamps(table, name, stamps, (f"times are Unix time, in {word} since 1970",))
    return numbers, ()


def _find_format(
    table: RawTable, name: str, words: NDArray[Any], rows: NDArray[np.intp]
) -> str | None:
    """Return the format of dates that do not begin with the year; None for ISO 8601."""
    found = [match for match in map(_TWO_FIRST.fullmatch, words) if match]
    if not found:
        return None
    word = found[0].group()
    day_first, month_first = _formats(word)
    ones, twos = (max(int(match[part]) for match in found) for part in ("one", "two"))
    if ones > 12 or found[0]["mark"] == ".":  # months never come first with dots
        return day_first
    if twos > 12:
        return month_first
    row = int((words[rows] == word).argmax())
    raise DataError(
        f"{table.place(row)} has {word!r} in the time column {name!r}, where day and month may be "
        f"either way round: give time_format={day_first!r} or {month_first!r}"
    )


def _formats(word: str) -> tuple[str, str]:
    """Return the formats of a date, day first and month first, with its hours if it has any."""
    match = _TWO_FIRST.fullmatch(word)
    assert match is not None
    year, mark, clock = "%Y" if len(match["year"]) == 4 else "%y", match["mark"], ""
    if match["gap"]:
        seconds = ":%S" if match["seconds"] else ""
        hours, half = ("%I", match["space"] + "%p") if match["half"] else ("%H", "")
        clock = f"{match['gap']}{hours}:%M{seconds}{half}"
    return f"%d{mark}%m{mark}{year}{clock}", f"%m{mark}%d{mark}{year}{clock}"


def _stamps(
    table: RawTable, name: str, stamps: Any, notes: tuple[str, ...] = (), written: Any = None
) -> Times:
    """Return timestamps without a gap, in nanoseconds."""
    _refuse_gaps(table, name, stamps, written)
    try:
        return stamps.as_unit("ns"), notes
    except ValueError as error:
        raise DataError(f"column {name!r} has a time outside the years 1678 to 2261") from error


def _refuse_gaps(table: RawTable, name: str, times: Any, written: Any = None) -> None:
    missing = np.asarray(pd.isna(times))
    if not missing.any():
        return
    row = int(missing.argmax())
    word = "" if written is None else written[row][:40]
    how = f"={_formats(word)[0]!r}" if _TWO_FIRST.fullmatch(word) else ""
    raise DataError(
        f"{table.place(row)} has {repr(word) if word else 'nothing'} in the time column {name!r}: "
        f"write all times as 2018-03-01 13:00 or as plain numbers, or give time_format{how}"
    )
