"""Imported years of measurements, one file per year, and windows of these years.

A file is a NumPy archive without pickled objects. It contains a table for each magnitude (measured
quantity), and a JSON text that lists the stations and the imported files.
"""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid.portal import Readings
from periodic_envs.data.madrid.stations import STATIONS, magnitude_name
from periodic_envs.data.recording import describe
from periodic_envs.files import DATA_VARIABLE, data_folder, write_atomically

GET_DATA = "periodic-gp data download madrid --year {year}"
FORMAT = "periodic-gp measurements 2"
MAX_BYTES = 256 * 2**20
MAX_SERIES = 4000
"""Maximum number of series (stations times magnitudes) in a year; Madrid has about 700."""

Table = NDArray[np.float32]


@dataclass(frozen=True)
class YearEntry:
    """Description of an imported year, without its measurements.

    Attributes:
        year: Calendar year.
        stations: Numbers of the stations with measurements, ascending; they are the columns of the
            tables.
        magnitudes: The portal's numbers of the measured quantities; there is one table for each.
        fingerprint: SHA-256 hash of the year, the stations and all tables.
        imports: Imported files, oldest first, each with its name, SHA-256 hash, number of lines and
            time of import.
        days: First and last day with measurements, and the number of days with measurements.
    """

    year: int
    stations: tuple[int, ...]
    magnitudes: tuple[int, ...]
    fingerprint: str
    imports: tuple[Mapping[str, Any], ...]
    days: tuple[str, str, int]


def absence() -> str:
    """Return a message if ``DATA_VARIABLE`` names a folder that does not exist, or ``''``."""
    if not os.environ.get(DATA_VARIABLE) or data_folder().is_dir():
        return ""
    return f"the folder that {DATA_VARIABLE} names does not exist: {str(data_folder())!r}"


@contextmanager
def lock() -> Iterator[None]:
    """Hold the lock that prevents simultaneous imports."""
    from filelock import FileLock  # imported here, since it registers a hook for forks

    try:
        data_folder().mkdir(parents=True, exist_ok=True)
        with FileLock(data_folder() / "import.lock"):
            for part in data_folder().glob(".*.part"):  # left by a killed import
                part.unlink(missing_ok=True)
            yield
    except OSError as error:
        raise DataError(
            "cannot-write",
            f"cannot write {str(data_folder())!r}: {error.strerror or error}; "
            f"set {DATA_VARIABLE} to a writable folder",
        ) from error


def years() -> list[int]:
    """Return the imported years in ascending order."""
    names = (path.stem.removeprefix("madrid-") for path in data_folder().glob("madrid-*.npz"))
    return sorted(int(n) for n in names if n.isascii() and n.isdecimal() and len(n) == 4)


def entry(year: int) -> YearEntry:
    """Return the description of an imported year."""
    return _read(year, ())[0]


def table(year: int, magnitude: int) -> tuple[tuple[int, ...], Table]:
    """Return the stations of an imported year and the table of one measured quantity.

    The table has shape (hours, stations).

    Hour 0 is 00:00 of 1 January in local civil time. Every day has 24 hours: the hour that is
    skipped in spring is empty, and the hour that is repeated in autumn occurs once. Hours without a
    valid measurement are NaN.
    """
    about, tables = _read(year, (magnitude,))
    if not tables:
        names = ", ".join(magnitude_name(m) for m in about.magnitudes)
        raise DataError(
            "not-measured",
            f"{magnitude_name(magnitude)} was not measured in {year}: expected one of {names}",
        )
    return about.stations, tables[magnitude]


def load_window(
    start: datetime.date, days: int, *, magnitude: int, stations: Sequence[int] | None
) -> tuple[tuple[int, ...], Array]:
    """Return the measurements of one quantity on whole days.

    If ``stations`` is None, the result contains all stations with measurements of this quantity in
    the years of the window.

    Returns:
        Numbers of the stations, and their measurements, shape (hours, stations). Hour 0 is 00:00 of
        the first day. Hours without a valid measurement are NaN.

    Raises:
        DataError: If a day of the window is not imported, or a station has no measurements.
    """
    last = start + datetime.timedelta(days=days - 1)
    window, imported = describe(start, days), years()
    for year in range(start.year, last.year + 1):
        if year not in imported:
            available = ", ".join(map(str, imported)) or "none"
            raise DataError(
                "not-imported",
                f"the window {window} needs the year {year}, which is not imported (imported "
                f"years: {available}); get it with: {GET_DATA.format(year=year)}",
            )
    whole = np.concatenate([_hours(y, magnitude) for y in range(start.year, last.year + 1)])
    first = 24 * (start - datetime.date(start.year, 1, 1)).days
    values = whole[first : first + 24 * days]
    empty = np.isnan(values).reshape(days, -1).all(1)
    if empty.any():
        raise DataError(
            "not-imported",
            f"the window {window} contains {start + datetime.timedelta(days=int(empty.argmax()))}, "
            "for which no data are imported: import the missing month, or choose a different start "
            "('periodic-gp data list' shows the imported days)",
        )
    measured = [s for s, hours in zip(STATIONS, whole.T, strict=True) if not np.isnan(hours).all()]
    chosen = tuple(measured if stations is None else map(int, stations))
    for station in chosen:
        if station not in measured:
            raise DataError(
                "not-measured",
                f"station {station} has no measurements of {magnitude_name(magnitude)} in the year "
                f"of the window {window}: choose from the stations "
                f"{', '.join(map(str, measured))}",
            )
    # The values have at most two decimals: rounding removes the errors of single precision.
    return chosen, values[:, [list(STATIONS).index(s) for s in chosen]].round(3)


def _hours(year: int, magnitude: int) -> Array:
    """Return a year's measurements at all known stations, shape (hours, stations)."""
    numbers, values = table(year, magnitude)
    hours = np.full((len(values), len(STATIONS)), np.nan)
    for column, station in enumerate(STATIONS):
        if station in numbers:
            hours[:, column] = values[:, numbers.index(station)]
    return hours


def add(year: int, parts: Sequence[Readings], imports: list[dict[str, Any]]) -> YearEntry:
    """Add readings to a year, and write its file atomically.

    Later readings of an hour replace earlier readings, but missing values replace nothing. Readings
    from txt files, which are less precise, fill only hours without a value. The order of csv and
    txt files therefore does not matter.

    Args:
        year: Calendar year.
        parts: Readings, which may include other years.
        imports: Descriptions of the imported files, which are stored with the year.
    """
    known, old = _read(year, None) if year in years() else (None, {})
    parts = [part.only(part.years() == year) for part in parts]
    before = known.stations if known else ()
    stations = tuple(sorted({*before, *(s for p in parts for s in np.unique(p.station).tolist())}))
    numbers = sorted({*old, *(m for p in parts for m in np.unique(p.magnitude).tolist())})
    if len(stations) * len(numbers) > MAX_SERIES:
        raise DataError(
            "too-many-series",
            f"{year} must have at most {MAX_SERIES:,} series (stations x magnitudes), got "
            f"{len(stations)} x {len(numbers)}: the files are damaged",
        )
    tables = {}
    for number in numbers:
        tables[number] = np.full((hours_in(year), len(stations)), np.nan, dtype=np.float32)
        if number in old:
            tables[number][:, np.searchsorted(stations, before)] = old[number]
        for part in sorted(parts, key=lambda part: part.coarse):
            _insert(tables[number], part.only(part.magnitude == number), stations)
    return _save(year, stations, tables, imports, known.imports if known else ())


def _insert(table: Table, part: Readings, stations: tuple[int, ...]) -> None:
    """Add readings to a table, in place."""
    first = 24 * (part.day - part.day.astype("datetime64[Y]").astype("datetime64[D]")).astype(int)
    rows = first[:, None] + np.arange(24)
    columns = np.broadcast_to(np.searchsorted(stations, part.station)[:, None], rows.shape)
    chosen = ~np.isnan(part.values)
    if part.coarse:
        chosen &= np.isnan(table[rows, columns])
    table[rows[chosen], columns[chosen]] = part.values[chosen]


def _save(
    year: int,
    stations: tuple[int, ...],
    tables: dict[int, Table],
    imports: list[dict[str, Any]],
    before: tuple[Mapping[str, Any], ...],
) -> YearEntry:
    fresh = {file["sha256"] for file in imports}
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    record = (
        *(file for file in before if file["sha256"] not in fresh),
        *({**file, "imported": now} for file in imports),
    )
    fingerprint = _fingerprint(year, stations, tables)
    saved = YearEntry(year, stations, tuple(tables), fingerprint, record, _days(year, tables))
    about = json.dumps({"format": FORMAT, **asdict(saved)})
    packed = io.BytesIO()
    arrays: dict[str, Any] = {f"magnitude_{m}": t for m, t in tables.items()}
    np.savez_compressed(packed, about=np.frombuffer(about.encode(), dtype=np.uint8), **arrays)
    write_atomically(_path(year), packed.getvalue())
    return saved


def _fingerprint(year: int, stations: tuple[int, ...], tables: Mapping[int, Table]) -> str:
    digest = hashlib.sha256(f"{year} {stations} {list(tables)}".encode())
    for table in tables.values():
        # NaN, zero and the byte order are made canonical, so that equal tables have equal bytes.
        canonical = np.where(np.isnan(table), np.float32(np.nan), table + np.float32(0.0))
        digest.update(canonical.astype("<f4").tobytes())
    return digest.hexdigest()


def _days(year: int, tables: Mapping[int, Table]) -> tuple[str, str, int]:
    measured = np.zeros(hours_in(year) // 24, dtype=bool)
    for table in tables.values():
        measured |= (~np.isnan(table)).any(1).reshape(-1, 24).any(1)
    days = np.datetime64(f"{year}-01-01") + np.flatnonzero(measured)
    return (str(days[0]), str(days[-1]), len(days)) if len(days) else ("", "", 0)


def hours_in(year: int) -> int:
    """Return the number of hours of a calendar year."""
    first, end = np.datetime64(f"{year}-01-01"), np.datetime64(f"{year + 1}-01-01")
    return 24 * int((end - first).astype(int))


def _path(year: int) -> Path:
    return data_folder() / f"madrid-{year}.npz"


def _read(year: int, magnitudes: Sequence[int] | None) -> tuple[YearEntry, dict[int, Table]]:
    """Return the description of a year and the tables of the given magnitudes (None for all).

    Raises:
        DataError: If the file cannot be read.
    """
    path = _path(year)
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > MAX_BYTES:
                raise ValueError(f"its unpacked size exceeds the limit, {MAX_BYTES >> 20} MiB")
        with np.load(path, allow_pickle=False) as arrays:
            about = json.loads(bytes(arrays["about"]))
            if about.pop("format") != FORMAT or about["year"] != year:
                raise ValueError(
                    f"expected the format {FORMAT!r} and the year {year}, got a different format, "
                    f"or the year {about.get('year')!r}"
                )
            entry = YearEntry(**{**about, **{k: tuple(about[k]) for k in _TUPLES}})
            wanted = [m for m in entry.magnitudes if magnitudes is None or m in magnitudes]
            tables = {m: arrays[f"magnitude_{m}"] for m in wanted}
        if any(t.shape != (hours_in(year), len(entry.stations)) for t in tables.values()):
            raise ValueError("a table does not have one row per hour and one column per station")
    except Exception as error:  # NumPy and zipfile raise various errors for damaged files
        raise DataError(
            "damaged-file",
            f"the imported year {year} in {str(path)!r} cannot be read "
            f"({error}): delete the file and import the year again",
        ) from error
    return entry, tables


_TUPLES = ("stations", "magnitudes", "imports", "days")
