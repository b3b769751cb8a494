"""Times as people write them: ISO 8601, day or month first, Unix time, or plain numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from periodic_decisions.tables.daylight import in_zone
from periodic_decisions.tables.formats import Table, as_text
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
_UNIX = {"s": (1e9, 2e9, "seconds"), "ms": (1e12, 2e12, "milliseconds")}
"""From 2001 to 2033."""
_NO_FORMAT = (TypeError, ValueError, OverflowError, re.error)
"""How pandas refuses a format: it makes a regular expression of it."""


Times = tuple[Any, tuple[str, ...]]
"""A DatetimeIndex or an array of plain numbers, and in words how they were read, if not plain."""


def is_time(values: pd.Series) -> bool:
    """Whether the values are timestamps, or the first of them is written as one."""
    if pd.api.types.is_datetime64_any_dtype(values):
        return True
    words = [] if pd.api.types.is_numeric_dtype(values) else sample(values)[:1]
    return any(_ISO.match(word) or _TWO_FIRST.fullmatch(word) for word in words)


def is_time_of_day(values: pd.Series) -> bool:
    """Whether the values are written like 13:00, without a date."""
    words = [] if pd.api.types.is_numeric_dtype(values) else sample(values)
    return bool(words) and all(_OF_DAY.fullmatch(word) for word in words)


def fits(values: pd.Series, time_format: str) -> bool:
    """Whether the first values are written in this format."""
    words = sample(values)
    try:
        stamps = pd.to_datetime(pd.Series(words), format=time_format, errors="coerce", utc=True)
    except _NO_FORMAT:  # reading on says so
        return False
    return bool(words) and bool(stamps.notna().all())


def parse_times(
    table: Table, name: str, *, time_format: str | None, marks: Marks, timezone: str | None = None
) -> Times:
    """The column as timestamps or as plain numbers.

    Where an offset is given, times are in UTC, or as clocks of the zone show them.
    """
    moments, notes = _parse(table, name, time_format, marks, utc=timezone is not None)
    if timezone is not None:
        if not isinstance(moments, pd.DatetimeIndex):
            raise DataError(f"timezone={timezone!r} needs times, column {name!r} has numbers")
        moments, note = in_zone(moments, timezone)
        notes = (*notes, note)
    elif getattr(moments, "tz", None) is not None:
        notes = (*notes, "times were converted to UTC")
    return moments, notes


def _parse(table: Table, name: str, time_format: str | None, marks: Marks, *, utc: bool) -> Times:
    values = table.columns[name]
    if pd.api.types.is_datetime64_any_dtype(values):
        stamps = pd.DatetimeIndex(values)
        aware = stamps.tz is not None
        return _stamps(table, name, stamps.tz_convert("UTC") if aware else stamps)
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
        stamps = pd.to_datetime(
            pd.Series(words), format=time_format or "ISO8601", errors="coerce", utc=aware
        )
        moments = pd.DatetimeIndex(stamps)[rows]
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


def _from_numbers(table: Table, name: str, numbers: Array, *, utc: bool) -> Times:
    _refuse_gaps(table, name, numbers)
    _refuse_compact_dates(numbers, name)
    for unit, (low, high, word) in _UNIX.items():
        if np.all((numbers >= low) & (numbers <= high) & (numbers == np.rint(numbers))):
            stamps = pd.to_datetime(numbers.astype(np.int64), unit=unit, utc=utc)
            return _stamps(table, name, stamps, (f"times are Unix time, in {word} since 1970",))
    return numbers, ()


def _find_format(
    table: Table, name: str, words: NDArray[Any], rows: NDArray[np.intp]
) -> str | None:
    """How dates are written that do not begin with the year; None for ISO 8601."""
    found = [match for match in map(_TWO_FIRST.fullmatch, words) if match]
    if not found:
        return None
    day_first, month_first = _formats(found[0].group())
    ones, twos = (max(int(match[part]) for match in found) for part in ("one", "two"))
    if ones > 12 or found[0]["mark"] == ".":  # nobody writes months first with dots
        return day_first
    if twos > 12:
        return month_first
    word = found[0].group()
    row = int((words[rows] == word).argmax())
    raise DataError(
        f"{table.place(row)} has {word!r} in the time column {name!r}, where day and month may be "
        f"either way round: give time_format={day_first!r} or {month_first!r}"
    )


def _formats(word: str) -> tuple[str, str]:
    """The formats of a date, day first and month first, with its hours if it has any."""
    match = _TWO_FIRST.fullmatch(word)
    assert match is not None
    year = "%Y" if len(match["year"]) == 4 else "%y"
    clock = ""
    if match["gap"]:
        clock = match["gap"] + ("%I:%M" if match["half"] else "%H:%M")
        clock += ":%S" if match["seconds"] else ""
        clock += match["space"] + "%p" if match["half"] else ""
    mark = match["mark"]
    return f"%d{mark}%m{mark}{year}{clock}", f"%m{mark}%d{mark}{year}{clock}"


def _stamps(
    table: Table, name: str, stamps: Any, notes: tuple[str, ...] = (), written: Any = None
) -> Times:
    """Timestamps without a gap, in nanoseconds."""
    _refuse_gaps(table, name, stamps, written)
    try:
        return stamps.as_unit("ns"), notes
    except ValueError as error:
        raise DataError(f"column {name!r} has a time outside the years 1678 to 2261") from error


def _refuse_gaps(table: Table, name: str, times: Any, written: Any = None) -> None:
    missing = np.asarray(pd.isna(times))
    if not missing.any():
        return
    row = int(np.flatnonzero(missing)[0])
    word = "" if written is None else written[row][:40]
    how = f"={_formats(word)[0]!r}" if _TWO_FIRST.fullmatch(word) else ""
    raise DataError(
        f"{table.place(row)} has {repr(word) if word else 'nothing'} in the time column {name!r}: "
        f"write all times as 2018-03-01 13:00 or as plain numbers, or give time_format{how}"
    )


def _refuse_compact_dates(numbers: Array, name: str) -> None:
    """20180331 and 20180401 are one day apart, but not as numbers."""
    months, days = numbers // 100 % 100, numbers % 100
    plausible = (numbers > 19e6) & (numbers < 21e6) & (months >= 1) & (months <= 12)
    if np.all(plausible & (days >= 1) & (days <= 31)):
        raise DataError(
            f"the times in column {name!r} look like dates written 20180331: write 2018-03-31, or "
            "give time_format='%Y%m%d'"
        )
