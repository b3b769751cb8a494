"""Parser of the files of Madrid's open-data portal, each with a month of hourly measurements.

The csv format has one line for each station, magnitude (measured quantity) and day::

    PROVINCIA;MUNICIPIO;ESTACION;MAGNITUD;PUNTO_MUESTREO;ANO;MES;DIA;H01;V01;...;H24;V24
    28;079;4;7;28079004_7_8;2018;03;01;00002;V;00001;V;...

The older txt format has fields of fixed width: 8 characters for the station, 2 for the magnitude, 2
for the technique, 2 for the period (02 is hourly) and 6 for the date (yymmdd), followed by 24
values of 5 characters, each with a flag of 1 character.

``H01`` is the hour that starts at 00:00 in local civil time. A value is valid if its flag is V; all
other values are missing.
"""

from __future__ import annotations

import codecs
import datetime
import operator
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from periodic_envs.data.errors import DataError

COLUMNS = (
    *("PROVINCIA", "MUNICIPIO", "ESTACION", "MAGNITUD", "ANO", "MES", "DIA"),
    *(f"H{hour:02d}" for hour in range(1, 25)),
    *(f"V{hour:02d}" for hour in range(1, 25)),
)
CITY = "28079"  # province 28, municipality 079
TXT_WIDTH = 20 + 24 * 6
MAX_VALUE = 1e6
"""Largest valid measurement."""

_NOT_IN_NUMBERS = str.maketrans("", "", "0123456789.-")

Row = tuple[int, int, datetime.date, list[float]]


class NotPortalError(DataError):
    """Raised if a file is not in a format of the portal."""


@dataclass(frozen=True)
class Readings:
    """Lines of one file.

    Attributes:
        station: Number of the station in each line, shape (n,).
        magnitude: Number of the magnitude in each line, shape (n,).
        day: Day of each line, shape (n,).
        values: Hourly values in each line, shape (n, 24), in which NaN marks missing values.
        coarse: True for the txt format, in which ozone is rounded. Values from csv files have
            precedence.
    """

    station: NDArray[np.int64]
    magnitude: NDArray[np.int64]
    day: NDArray[np.datetime64]
    values: NDArray[np.float32]
    coarse: bool = False

    def years(self) -> NDArray[np.int64]:
        """Return the year of each line."""
        return self.day.astype("datetime64[Y]").astype(np.int64) + 1970

    def only(self, chosen: NDArray[np.bool_]) -> Readings:
        """Return the lines that a boolean mask selects."""
        return Readings(
            self.station[chosen],
            self.magnitude[chosen],
            self.day[chosen],
            self.values[chosen],
            self.coarse,
        )


def parse(data: bytes, name: str) -> Readings:
    """Return the readings in the bytes of one csv or txt file.

    Args:
        data: Content of the file.
        name: Name of the file, for messages.

    Raises:
        NotPortalError: If the first line is in neither format.
        DataError: If a later line is damaged.
    """
    lines = _decoded(data, name).splitlines()
    first = lines[0] if lines else ""
    coarse = first.startswith(CITY) and len(_padded(first)) == TXT_WIDTH
    split = _split_txt if coarse else _csv_splitter(first, name)
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or (number == 1 and not coarse):
            continue
        try:
            rows.append(_row(split(line)))
        except ValueError as error:
            end = " (the file may be truncated)" if number == len(lines) else ""
            raise DataError("damaged-file", f"{name}, line {number}: {error}{end}") from None
    if not rows:
        raise DataError("no-data", f"{name} has no measurements")
    station, magnitude, day, hours = map(np.array, zip(*rows, strict=True))
    if np.nanmax(np.abs(hours), initial=0.0) > MAX_VALUE:
        raise DataError(
            "value-too-large", f"{name} has values above {MAX_VALUE:,.0f}, so the file is damaged"
        )
    days = day.astype("datetime64[D]")
    return Readings(station, magnitude, days, hours.astype(np.float32), coarse)


def _decoded(data: bytes, name: str) -> str:
    """Return the content as text; the relevant part is ASCII, so the encoding is not critical."""
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError:
        if is_utf16 or data.startswith(codecs.BOM_UTF8):
            raise DataError(
                "damaged-file", f"{name} is damaged: its byte order mark does not match its content"
            ) from None
        return data.decode("latin-1")


def _csv_splitter(header: str, name: str) -> Callable[[str], tuple[str, ...]]:
    """Return a function that splits a line into station, magnitude, date, values and flags."""
    separator = ";" if ";" in header else ","
    columns = [column.strip().upper().replace("AÑO", "ANO") for column in header.split(separator)]
    absent = [column for column in COLUMNS if column not in columns]
    if absent:
        if header[:4].upper() == "PROV":
            raise DataError(
                "damaged-file",
                f"{name} has no column {absent[0]}: its first line is truncated or damaged",
            )
        raise NotPortalError(
            "wrong-format",
            f"{name} is not a file of the Madrid portal: expected the column names of a csv file "
            f"or the {TXT_WIDTH} characters of a txt line, got a first line that starts with "
            f"{header[:40]!r}",
        )
    pick = operator.itemgetter(*(columns.index(column) for column in COLUMNS))

    def split(line: str) -> tuple[str, ...]:
        fields = line.rstrip().split(separator)
        if len(fields) != len(columns):
            raise ValueError(f"expected {len(columns)} fields, got {len(fields)}")
        picked: tuple[str, ...] = pick(fields)
        if tuple(field.strip().lstrip("0") for field in picked[:2]) != ("28", "79"):
            raise ValueError(
                "expected province 28 and municipality 079 (Madrid), got "
                f"{picked[0]!r} and {picked[1]!r}"
            )
        return picked[2:]

    return split


def _padded(line: str) -> str:
    """Return a line of a txt file; a blank last flag is restored, since editors may remove it."""
    return line.ljust(TXT_WIDTH) if len(line) == TXT_WIDTH - 1 else line


def _split_txt(line: str) -> tuple[str, ...]:
    line = _padded(line)
    if len(line) != TXT_WIDTH:
        raise ValueError(f"expected {TXT_WIDTH} characters, got {len(line)}")
    if not line.startswith(CITY) or line[12:14] != "02":
        raise ValueError(
            f"expected an hourly measurement (period 02) in Madrid ({CITY}), got the period "
            f"{line[12:14]!r} in {line[:5]!r}"
        )
    key = line[5:8], line[8:10], f"20{line[14:16]}", line[16:18], line[18:20]
    values = (line[start : start + 5] for start in range(20, TXT_WIDTH, 6))
    return (*key, *values, *line[25:TXT_WIDTH:6])


def _row(fields: tuple[str, ...]) -> Row:
    """Return the station, the magnitude, the day and the 24 values of a line."""
    key, texts, flags = [part.strip() for part in fields[:5]], fields[5:29], fields[29:]
    digits = all(part.isascii() and part.isdigit() and len(part) < 10 for part in key)
    station, magnitude, year, month, day = map(int, key) if digits else [0] * 5
    if not (0 < station < 1000 and 0 < magnitude < 1000 and 1990 <= year < 2100):
        raise ValueError(
            "expected a station and a magnitude from 1 to 999 and a date from 1990 to 2099, got "
            f"{' '.join(key)!r}"
        )
    date = datetime.date(year, month, day)
    valid = [
        text.strip() if flag.strip() == "V" else "" for text, flag in zip(texts, flags, strict=True)
    ]
    # float() would also accept "nan", "1e9" and "1_0".
    if "".join(valid).translate(_NOT_IN_NUMBERS):
        raise ValueError(
            "values with the flag V must be plain decimal numbers, got "
            f"{next(v for v in valid if v.translate(_NOT_IN_NUMBERS))[:20]!r}"
        )
    return station, magnitude, date, [float(text) if text else np.nan for text in valid]
