"""Parsing of numbers and times, including markers of missing values, such as -999 or "closed".

Times may be written in ISO 8601, as dates with the day or the month first, as Unix times, or as
plain numbers. Local times stay local, so that 09:00 has the same phase in summer and in winter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from periodic_decisions.tables.raw import RawTable, as_text
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError

MAX_NAMED = 5  # maximum number of words that a message lists
MISSING = frozenset(("", "-", "?", "na", "n/a", "nan", "none", "null", "nat"))  # in lower case
UNIX = {"s": (1e9, 2e9, "seconds"), "ms": (1e12, 2e12, "milliseconds")}  # in the years 2001 to 2033
Times = tuple[Any, tuple[str, ...]]  # a DatetimeIndex or numbers, and notes

_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
_POINT = re.compile(r"\s*[+-]?\d*\.\d*\s*", re.ASCII)
_BOTH = re.compile(r"[+-]?[\d.,]*(,[\d.,]*\.|\.[\d.,]*,)\d*", re.ASCII)
_OFFSET = re.compile(r"[T ]\d\d.*(Z|[+-]\d\d(:?\d\d)?)$", re.ASCII | re.I)
_ISO = re.compile(r"\d{4}-\d\d(-\d\d)?\b", re.ASCII)
_TWO_FIRST = re.compile(
    r"\d{1,2}(?P<mark>[./-])\d{1,2}(?P=mark)(?P<year>\d{4}|\d\d)"
    r"((?P<gap>,? |T)\d{1,2}:\d\d(?P<seconds>:\d\d)?(?P<space> ?)(?P<half>[AaPp][Mm])?)?",
    re.ASCII,
)


class Marks(NamedTuple):
    """Decimal mark of numbers, with a flag that is true if the other mark separates thousands."""

    decimal: str = "."
    thousands: bool = False


def count(number: int, word: str) -> str:
    """Return a number with its noun: "1 step", "2,000 steps"."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return names separated by commas, at most ``most`` of them."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def sentence(words: str) -> str:
    """Return text as a sentence with a capital letter and a full stop."""
    return words[0].upper() + words[1:] + "."


def sample(table: RawTable, name: str) -> list[str]:
    """Return up to a hundred of the first values of a column as text, without missing values."""
    words = as_text(table.columns[name].dropna().iloc[:1000])
    return [w for w in words if w.lower() not in MISSING and w.lower() not in table.absent][:100]


def is_number(table: RawTable, name: str) -> bool:
    """Return whether at least half of a column's first values are numbers with any decimal mark."""
    if pd.api.types.is_numeric_dtype(table.columns[name]):
        return True
    words = pd.Series(sample(table, name), dtype=object)
    plain = words.str.replace(r"(?<=\d)[.,](?=\d{3}[.,])", "", regex=True).str.replace(",", ".")
    return bool(2 * pd.to_numeric(plain, errors="coerce").notna().sum() >= len(words))


def is_time(table: RawTable, name: str) -> bool:
    """Return whether a column holds timestamps, or its first value is a timestamp as text."""
    values = table.columns[name]
    if pd.api.types.is_datetime64_any_dtype(values):
        return True
    words = [] if pd.api.types.is_numeric_dtype(values) else sample(table, name)[:1]
    return any(_ISO.match(word) or _TWO_FIRST.fullmatch(word) for word in words)


def parse_numbers(
    table: RawTable, names: Sequence[str], decimal: str | None = None
) -> tuple[Array, tuple[str, ...]]:
    """Return columns as an array, NaN where missing, and notes about the conversion.

    The array has the shape (rows, columns).

    Args:
        table: The table.
        names: The columns.
        decimal: Decimal mark of a CSV file; None to detect it.

    Raises:
        DataError: If a value is neither a finite number nor missing.
    """
    marks = _find_marks(table, names, decimal)
    absent = pd.to_numeric(pd.Series(table.absent, dtype=object), errors="coerce").dropna()
    parsed, gone = [], 0
    for name in names:
        values = table.columns[name]
        if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_complex_dtype(values):
            numbers = pd.Series(values.to_numpy(dtype=np.float64, na_value=np.nan))
            named = numbers.isin(absent)  # compared as numbers: -999.0 equals -999
        else:
            words = pd.Series(as_text(values), dtype=object)
            small = words.str.lower()
            numbers = _numbers(small, marks)
            named = numbers.isin(absent) | small.isin(table.absent)
            wrong = numbers.isna() & ~named & ~small.isin(MISSING)
            if wrong.any():
                raise DataError("not-a-number", _refusal(table, name, words[wrong]))
        if np.isinf(numbers).any():
            row = int(np.isinf(numbers).argmax())
            raise DataError(
                "infinite-values",
                f"{table.place(row)} has an infinite value in column {name!r}: write a finite "
                "number, or leave the cell empty",
            )
        parsed.append(numbers.mask(named).to_numpy(dtype=np.float64))
        gone += int(named.sum())
    notes = ["the decimal mark is a comma"] if marks.decimal == "," else []
    if table.absent:
        notes.append(f"{count(gone, 'value')} read as missing ({listed(table.absent, MAX_NAMED)})")
    return np.stack(parsed, axis=1), tuple(notes)


def _find_marks(table: RawTable, names: Sequence[str], decimal: str | None) -> Marks:
    """Return the decimal mark, and whether the other mark separates thousands.

    A comma is detected as the decimal mark only if this is unambiguous.
    """
    if decimal not in (None, ".", ","):
        raise DataError("invalid-option", f"decimal must be '.' or ',', got {decimal!r}")
    if table.lines is None:
        return Marks(decimal or ".")
    columns = [table.columns[name] for name in names]
    words = [word.strip() for c in columns for word in c[c.str.contains(",", regex=False)]]
    # In a number with both marks, the last one is the decimal mark.
    both = [word for word in words if _BOTH.fullmatch(word)]
    if both:
        return Marks(decimal or max(".,", key=both[0].rfind), thousands=True)
    commas = [word for word in words if _COMMA.fullmatch(word)]
    # If other values have decimal points, values with a comma raise an error later.
    if decimal or not commas or any(column.str.fullmatch(_POINT).any() for column in columns):
        return Marks(decimal or ".")
    if all(_THOUSANDS.fullmatch(word) for word in commas):
        raise DataError(
            "ambiguous-number",
            f"{table.source} has ambiguous numbers such as {commas[0]!r}: write numbers without "
            "thousands separators, or give decimal=','",
        )
    return Marks(",")


def _numbers(words: pd.Series, marks: Marks) -> pd.Series:
    """Return text as numbers, NaN where the text is not a number with the given marks."""
    other = "." if marks.decimal == "," else ","
    if marks.thousands:
        grouped = rf"[+-]?\d{{1,3}}(\{other}\d{{3}})+(\{marks.decimal}\d+)?"
        plain = words.str.replace(other, "", regex=False)
        words = words.mask(words.str.fullmatch(grouped), plain)
    points = words.mask(words.str.contains(other, regex=False), "")
    return pd.to_numeric(points.str.replace(",", ".", regex=False), errors="coerce")


def _refusal(table: RawTable, name: str, wrong: pd.Series) -> str:
    """Return a message about the values of a column that are not numbers."""
    words = [word[:40] for word in wrong.unique()]
    many = f" ({count(len(wrong), 'such value')})" if len(wrong) > 1 else ""
    advice = f"correct the value, or give na_values={words[:MAX_NAMED]} if it marks missing data"
    if all(word[0] in "+-.,0123456789" for word in words):
        advice = "write numbers without thousands separators and with one decimal mark"
    return (
        f"{table.place(int(wrong.index[0]))} has {words[0]!r} in column {name!r}, which is not a "
        f"number{many}: {advice}"
    )


def parse_times(
    table: RawTable,
    name: str,
    *,
    time_format: str | None = None,
    decimal: str | None = None,
    timezone: str | None = None,
) -> Times:
    """Return a column as timestamps or as plain numbers, and notes about the conversion.

    Times with an offset are converted to local times of the given time zone, by default to UTC.
    """
    values, texts = table.columns[name], None
    notes: tuple[str, ...] = ()
    if pd.api.types.is_datetime64_any_dtype(values):
        stamps = pd.DatetimeIndex(values)
        moments = stamps if stamps.tz is None else stamps.tz_convert("UTC")
    elif time_format is None and is_number(table, name):
        numbers, _ = parse_numbers(replace(table, absent=()), [name], decimal)
        moments, notes = _from_numbers(numbers[:, 0], utc=timezone is not None)
    else:
        texts = as_text(values)
        moments, notes = _from_texts(name, texts, time_format)
    missing = np.asarray(pd.isna(moments))
    if missing.any():
        row = int(missing.argmax())
        word = repr(texts[row][:40]) if texts and texts[row] else "no value"
        raise DataError(
            "invalid-time",
            f"{table.place(row)} has {word} in the time column {name!r}: write all times as "
            "2018-03-01 13:00 or as plain numbers, or give time_format",
        )
    if not isinstance(moments, pd.DatetimeIndex):
        if timezone is not None:
            raise DataError(
                "not-clock-times",
                f"timezone={timezone!r} requires dates, but column {name!r} has plain numbers",
            )
        return moments, notes
    try:
        moments = moments.as_unit("ns")
    except ValueError as error:
        raise DataError(
            "time-out-of-range", f"column {name!r} must have times in the years 1678 to 2261"
        ) from error
    if timezone is not None:
        return _in_zone(moments, timezone), (*notes, f"times are local times in {timezone}")
    return moments, (*notes, "times were converted to UTC") if moments.tz is not None else notes


def _from_numbers(numbers: Array, *, utc: bool) -> Times:
    if np.all((numbers > 19e6) & (numbers < 21e6)):
        raise DataError(
            "ambiguous-time",
            "the times are numbers such as 20180331, which may be dates: to read them as dates, "
            "give time_format='%Y%m%d'",
        )
    for unit, (low, high, word) in UNIX.items():
        if np.all((numbers >= low) & (numbers <= high) & (numbers == np.rint(numbers))):
            stamps = pd.to_datetime(numbers.astype(np.int64), unit=unit, utc=utc)
            return stamps, (f"times are Unix time, in {word} since 1970",)
    return numbers, ()


def _from_texts(name: str, texts: list[str], time_format: str | None) -> Times:
    rows, words = pd.factorize(np.array(texts, dtype=object))
    aware = {bool(_OFFSET.search(word)) for word in words}
    if len(aware) > 1:
        raise DataError(
            "mixed-timezones",
            f"column {name!r} mixes times with and without a UTC offset: write all times in the "
            "same way",
        )
    notes: tuple[str, ...] = ()
    if time_format is None:
        time_format = _find_format(name, words)
        if time_format is not None:
            first = "day" if time_format.startswith("%d") else "month"
            notes = (f"dates are written with the {first} first ({time_format})",)
    try:
        stamps = _stamps(words, time_format or "ISO8601", utc=aware == {True})
    except (TypeError, ValueError, OverflowError, re.error) as error:  # due to invalid formats
        raise DataError(
            "invalid-time-format",
            f"cannot read the times in column {name!r} with time_format={time_format!r}: {error}",
        ) from error
    return stamps[rows], notes


def _stamps(words: Any, time_format: str, *, utc: bool = False) -> pd.DatetimeIndex:
    """Return text as timestamps, NaT where it does not match the format."""
    series = pd.Series(words, dtype=object)
    return pd.DatetimeIndex(pd.to_datetime(series, format=time_format, errors="coerce", utc=utc))


def _find_format(name: str, words: Sequence[str]) -> str | None:
    """Return the format of dates that do not begin with the year; None for ISO 8601."""
    match = next(filter(None, map(_TWO_FIRST.fullmatch, words)), None)
    if match is None:
        return None
    year, mark, clock = "%Y" if len(match["year"]) == 4 else "%y", match["mark"], ""
    if match["gap"]:
        hours, half = ("%I", match["space"] + "%p") if match["half"] else ("%H", "")
        clock = f"{match['gap']}{hours}:%M{':%S' if match['seconds'] else ''}{half}"
    formats = [f"{first}{mark}{year}{clock}" for first in (f"%d{mark}%m", f"%m{mark}%d")]
    tried = formats[:1] if mark == "." else formats  # dates with dots always begin with the day
    fits = [form for form in tried if _stamps(words, form).notna().all()]
    if len(fits) > 1:
        raise DataError(
            "ambiguous-time",
            f"the order of day and month is ambiguous in {match[0]!r} of the time column "
            f"{name!r}: give time_format={fits[0]!r} or {fits[1]!r}",
        )
    return (fits or tried)[0]


def _in_zone(moments: pd.DatetimeIndex, zone: str) -> pd.DatetimeIndex:
    """Return times as local times of the zone, without an offset."""
    try:
        pd.Timestamp("2000-01-01").tz_localize(zone)
        return moments if moments.tz is None else moments.tz_convert(zone).tz_localize(None)
    except (KeyError, ValueError, TypeError, OSError, AttributeError) as error:
        raise DataError(
            "unknown-timezone",
            f"unknown timezone {zone!r}: expected a name such as 'Europe/Madrid' or 'UTC'",
        ) from error


def clock_changes(times: Any, zone: str | None, *, back: bool) -> NDArray[np.bool_]:
    """Return a mask of local times: repeated times if ``back`` is true, otherwise skipped times.

    Times are repeated when clocks are set back, and skipped when clocks are set forward. If the
    zone is None, the mask is false at all times.
    """
    if zone is None or not isinstance(times, pd.DatetimeIndex) or times.tz is not None:
        return np.zeros(len(times), dtype=np.bool_)
    twice: Any = "NaT" if back else np.zeros(len(times), dtype=np.bool_)
    skipped = "shift_forward" if back else "NaT"
    return np.asarray(times.tz_localize(zone, ambiguous=twice, nonexistent=skipped).isna())
