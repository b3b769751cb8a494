"""The user's imported measurements: one file per year, parsed once.

A file is a NumPy archive of plain numbers (never pickled): a table per magnitude, the stations,
and a JSON text that says what was imported from where, with a SHA-256 of every table.
"""

from __future__ import annotations

import datetime
import io
import json
import os
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid.stations import magnitude_name
from periodic_envs.data.madrid.year import Table, Year, fingerprint, hours_in
from periodic_envs.files import write_atomically

VARIABLE = "PERIODIC_GP_DATA"
FORMAT = "periodic-gp measurements 1"
_MAX_BYTES = 256 * 2**20


def folder() -> Path:
    """Where imported measurements are kept: ``$PERIODIC_GP_DATA``, or the user's cache."""
    chosen = os.environ.get(VARIABLE)
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("periodic-gp"))


def absence() -> str:
    """Where the folder was named and is not there: that, in words; else nothing."""
    if not os.environ.get(VARIABLE) or folder().is_dir():
        return ""
    return f"the folder that {VARIABLE} names does not exist: {str(folder())!r}"


@contextmanager
def lock() -> Iterator[None]:
    """One import at a time, over all processes."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
        # Here, since it has something to do at every fork.
        from filelock import FileLock

        with FileLock(folder() / "import.lock"):
            for part in folder().glob(".*.part"):  # of an import that was killed
                part.unlink(missing_ok=True)
            yield
    except OSError as error:
        raise _unwritable(folder(), error) from error


def _unwritable(path: Path, error: OSError) -> DataError:
    return DataError(
        f"cannot write {str(path)!r}: {error.strerror or error}; "
        f"set {VARIABLE} to a folder that can be written"
    )


@dataclass(frozen=True)
class Entry:
    """An imported year, without its numbers.

    Attributes:
        year: Which.
        stations: Numbers of the stations that reported.
        magnitudes: For each magnitude's number the SHA-256 of its table.
        fingerprint: SHA-256 over all tables.
        imports: What was imported, oldest first: name, sha256, lines, and when.
        days: The first and the last day with measurements, and how many there are.
    """

    year: int
    stations: tuple[int, ...]
    magnitudes: Mapping[int, str]
    fingerprint: str
    imports: tuple[Mapping[str, Any], ...]
    days: tuple[str, str, int]


def years() -> list[int]:
    """The imported years."""
    names = (path.stem.removeprefix("madrid-") for path in folder().glob("madrid-*.npz"))
    return sorted(int(n) for n in names if n.isascii() and n.isdecimal() and len(n) == 4)


def entry(year: int) -> Entry:
    """What is known about an imported year."""
    return _read(year, magnitudes=())[0]


def table(year: int, magnitude: int) -> tuple[tuple[int, ...], Table]:
    """Stations and the table (hours, stations) of one magnitude of an imported year."""
    found, tables = _read(year, magnitudes=(magnitude,))
    if not tables:
        names = ", ".join(magnitude_name(m) for m in found.magnitudes)
        raise DataError(
            f"{magnitude_name(magnitude)} was not measured in {year}; there are {names}"
        )
    return found.stations, tables[magnitude]


def load(year: int) -> Year | None:
    """An imported year with all its tables, or None."""
    if year not in years():
        return None
    found, tables = _read(year)
    return Year(year, found.stations, tables)


def save(
    year: Year,
    imports: list[dict[str, Any]],
    *,
    before: tuple[Mapping[str, Any], ...] | None = None,
) -> Entry:
    """Write a year, whole or not at all, adding to the record of what was imported.

    Args:
        year: The year.
        imports: What is new in it.
        before: The record so far; by default that of the file.
    """
    fresh = {(one["file"], one["sha256"]) for one in imports}
    if before is None:
        before = entry(year.year).imports if year.year in years() else ()
    before = tuple(one for one in before if (one["file"], one["sha256"]) not in fresh)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    record = (*before, *({**one, "imported": now} for one in imports))
    saved = Entry(year.year, year.stations, year.fingerprints, year.fingerprint, record, year.days)
    about = {"format": FORMAT, **asdict(saved)}
    arrays: dict[str, Any] = {f"magnitude_{m}": t for m, t in year.tables.items()}
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    path = _path(year.year)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, packed.getvalue())
    except OSError as error:
        raise _unwritable(path, error) from error
    return saved


def _path(year: int) -> Path:
    return folder() / f"madrid-{year}.npz"


def _read(
    year: int, *, magnitudes: Collection[int] | None = None
) -> tuple[Entry, dict[int, Table]]:
    """A year's entry, and its tables of these magnitudes: None for all there are.

    Whatever is wrong with the file becomes one sentence.
    """
    path = _path(year)
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > _MAX_BYTES:
                raise ValueError("too large")
        with np.load(path, allow_pickle=False) as arrays:
            found = _entry(json.loads(bytes(arrays["about"])), year)
            wanted = found.magnitudes if magnitudes is None else magnitudes
            tables = {m: arrays[f"magnitude_{m}"] for m in found.magnitudes if m in wanted}
        for magnitude, table in tables.items():
            _check(table, found, magnitude)
    except Exception as error:
        raise DataError(
            f"the imported year {year} in {str(path)!r} cannot be read "
            f"({error}): delete the file and import the year again"
        ) from error
    return found, tables


def _check(table: Table, about: Entry, magnitude: int) -> None:
    """Whether a table is the one that was imported."""
    if table.shape != (hours_in(about.year), len(about.stations)):
        raise ValueError(f"a table has the shape {table.shape}")
    if fingerprint(about.year, about.stations, table) != about.magnitudes[magnitude]:
        raise ValueError("the numbers have changed since they were imported")


def _entry(about: dict[str, Any], year: int) -> Entry:
    if about["format"] != FORMAT or about["year"] != year:
        raise ValueError(f"its format is {about['format']!r}, its year {about['year']!r}")
    return Entry(
        year,
        tuple(int(s) for s in about["stations"]),
        {int(m): str(digest) for m, digest in about["magnitudes"].items()},
        str(about["fingerprint"]),
        tuple(
            {**one, "file": str(one["file"]), "sha256": str(one["sha256"])}
            for one in about["imports"]
        ),
        (str(about["days"][0]), str(about["days"][1]), int(about["days"][2])),
    )
