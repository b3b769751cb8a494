"""Files of Madrid's open-data portal: one month of hourly measurements each.

Wide csv, one line per station, magnitude and day::

    PROVINCIA;MUNICIPIO;ESTACION;MAGNITUD;PUNTO_MUESTREO;ANO;MES;DIA;H01;V01;...;H24;V24
    28;079;4;7;28079004_7_8;2018;03;01;00002;V;00001;V;...

and the older fixed width: 8 characters station, 2 magnitude, 2 technique, 2 period (02: hourly),
yymmdd, then 24 times 5 characters and a flag. ``H01`` is the hour that starts at 00:00, local
civil time. A value counts if its flag is V; anything else is a missing value.
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
    """A file in another format."""


@dataclass(frozen=True)
class Readings:
    """The lines of one file: station (n,), magnitude (n,), day (n,), values (n, 24).

    ``coarse`` marks the older format, in which ozone is rounded; csv takes precedence.
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
        """Return some of the lines."""
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
        data: The file's content.
        name: Its name, for messages.

    Raises:
        NotPortalError: If the first line has neither format.
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
            end = " (truncated file?)" if number == len(lines) else ""
            raise DataError("damaged-file", f"{name}, line {number}, {error}{end}") from None
    if not rows:
        raise DataError("no-data", f"{name} has no measurements")
    station, magnitude, day, hours = map(np.array, zip(*rows, strict=True))
    if np.nanmax(np.abs(hours), initial=0.0) > MAX_VALUE:
        raise DataError(
            "value-too-large", f"{name} has values above {MAX_VALUE:,.0f}: it is damaged"
        )
    days = day.astype("datetime64[D]")
    return Readings(station, magnitude, days, hours.astype(np.float32), coarse)


def _decoded(data: bytes, name: str) -> str:
    """Return the text; the relevant part is ASCII, so the encoding is not critical."""
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
    """Return the function that splits lines under this header into date, values and flags."""
    separator = ";" if ";" in header else ","
    columns = [column.strip().upper().replace("AÑO", "ANO") for column in header.split(separator)]
    absent = [column for column in COLUMNS if column not in columns]
    if absent:
        if header[:4].upper() == "PROV":
            raise DataError(
                "damaged-file",
                f"{name} has no column {absent[0]}: its first line is cut short or damaged",
            )
        raise NotPortalError(
            "wrong-format",
            f"{name} is not a file of the Madrid portal: it starts with {header[:40]!r}, neither "
            "the csv's column names nor the txt's 164 characters",
        )
    pick = operator.itemgetter(*(columns.index(column) for column in COLUMNS))

    def split(line: str) -> tuple[str, ...]:
        fields = line.rstrip().split(separator)
        if len(fields) != len(columns):
            raise ValueError(f"has {len(fields)} fields instead of {len(columns)}")
        picked: tuple[str, ...] = pick(fields)
        if tuple(field.strip().lstrip("0") for field in picked[:2]) != ("28", "79"):
            raise ValueError("is not a measurement in Madrid (28 079)")
        return picked[2:]

    return split


def _padded(line: str) -> str:
    """Return a line of the txt with its last flag, a blank that editors may remove."""
    return line.ljust(TXT_WIDTH) if len(line) == TXT_WIDTH - 1 else line


def _split_txt(line: str) -> tuple[str, ...]:
    line = _padded(line)
    if len(line) != TXT_WIDTH:
        raise ValueError(f"has {len(line)} characters instead of {TXT_WIDTH}")
    if not line.startswith(CITY) or line[12:14] != "02":
        raise ValueError("is not an hourly measurement in Madrid")
    key = line[5:8], line[8:10], f"20{line[14:16]}", line[16:18], line[18:20]
    values = (line[start : start + 5] for start in range(20, TXT_WIDTH, 6))
    return (*key, *values, *line[25:TXT_WIDTH:6])


def _row(fields: tuple[str, ...]) -> Row:
    """Return station, magnitude, day and the 24 values."""
    key, texts, flags = [part.strip() for part in fields[:5]], fields[5:29], fields[29:]
    digits = all(part.isascii() and part.isdigit() and len(part) < 10 for part in key)
    station, magnitude, year, month, day = map(int, key) if digits else [0] * 5
    if not (0 < station < 1000 and 0 < magnitude < 1000 and 1990 <= year < 2100):
        raise ValueError(f"has {' '.join(key)!r} for station, magnitude and date")
    date = datetime.date(year, month, day)
    valid = [
        text.strip() if flag.strip() == "V" else "" for text, flag in zip(texts, flags, strict=True)
    ]
    # float() would also take "nan", "1e9" and "1_0".
    if "".join(valid).translate(_NOT_IN_NUMBERS):
        raise ValueError("has a value that is not a number")
    return station, magnitude, date, [float(text) if text else np.nan for text in valid]
