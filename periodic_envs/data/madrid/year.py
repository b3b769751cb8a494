"""A year of measurements as a compact table per magnitude."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid.portal import Readings

Table = NDArray[np.float32]

MAX_SERIES = 4000
"""Stations times magnitudes of a year; Madrid has had about 700. Bounds what a file can ask for."""


@dataclass(frozen=True)
class Year:
    """All hours of one calendar year.

    Attributes:
        year: Which.
        stations: Numbers, ascending: the columns of all tables.
        tables: For each magnitude's number a table (hours, stations); NaN where nothing valid was
            measured. Hour 0 is 1 January 00:00 local civil time; every day has 24 hours, so the
            hour that spring skips is empty and the one that autumn repeats is there once.
    """

    year: int
    stations: tuple[int, ...]
    tables: Mapping[int, Table]

    @cached_property
    def fingerprints(self) -> dict[int, str]:
        """SHA-256 of each magnitude's table."""
        return {m: fingerprint(self.year, self.stations, t) for m, t in self.tables.items()}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over all tables."""
        parts = (f"{m}:{digest}" for m, digest in sorted(self.fingerprints.items()))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    @cached_property
    def days(self) -> tuple[str, str, int]:
        """The first and the last day with measurements, and how many such days there are."""
        measured = np.zeros(hours_in(self.year) // 24, dtype=bool)
        for table in self.tables.values():
            measured |= (~np.isnan(table)).any(1).reshape(-1, 24).any(1)
        found = np.datetime64(f"{self.year}-01-01") + np.flatnonzero(measured)
        return (str(found[0]), str(found[-1]), len(found)) if len(found) else ("", "", 0)


@dataclass(frozen=True)
class Overlap:
    """How often the same hour was reported more than once, and how often differently.

    ``differing`` names year and magnitude of what differs.
    """

    repeated: int = 0
    different: int = 0
    differing: frozenset[tuple[int, int]] = frozenset()

    def __add__(self, other: Overlap) -> Overlap:
        return Overlap(
            self.repeated + other.repeated,
            self.different + other.different,
            self.differing | other.differing,
        )


def fingerprint(year: int, stations: tuple[int, ...], table: Table) -> str:
    """SHA-256 of a table: its values and what they stand for."""
    digest = hashlib.sha256(f"{year} {stations}".encode())
    # One NaN, one zero and one byte order, so that equal tables have equal bytes.
    canonical = np.where(np.isnan(table), np.float32(np.nan), table + np.float32(0.0))
    digest.update(canonical.astype("<f4").tobytes())
    return digest.hexdigest()


def hours_in(year: int) -> int:
    """Hours of a calendar year."""
    first, end = np.datetime64(f"{year}-01-01"), np.datetime64(f"{year + 1}-01-01")
    return 24 * int((end - first).astype(int))


def tabulate(
    parts: Iterable[Readings], known: Mapping[int, Year]
) -> tuple[dict[int, Year], Overlap]:
    """Put readings into tables, on top of the years already known.

    A later reading of the same hour replaces an earlier one; a missing value replaces nothing, and
    neither does one of the coarse format. So the order of csv and txt files does not matter.

    Raises:
        DataError: more stations and magnitudes than there can be.

    Returns:
        The years that the readings belong to, and how much of them was reported more than once.
    """
    parts = list(parts)
    years = sorted({year for part in parts for year in years_of(part)})
    built, overlap = {}, Overlap()
    for year in years:
        mine = [part.only(_year_of(part) == year) for part in parts]
        built[year], seen = _tabulate_year(year, mine, known.get(year))
        overlap += seen
    return built, overlap


def years_of(readings: Readings) -> set[int]:
    """The years that readings belong to."""
    return {int(year) for year in np.unique(_year_of(readings))}


def _year_of(readings: Readings) -> NDArray[np.int64]:
    return readings.day.astype("datetime64[Y]").astype(np.int64) + 1970


def _tabulate_year(year: int, parts: list[Readings], known: Year | None) -> tuple[Year, Overlap]:
    old: Mapping[int, Table] = known.tables if known else {}
    old_stations = known.stations if known else ()
    found = {s for part in parts for s in np.unique(part.station).tolist()}
    stations = tuple(sorted({*old_stations, *found}))
    numbers = sorted({*old, *(m for part in parts for m in np.unique(part.magnitude).tolist())})
    if len(stations) * len(numbers) > MAX_SERIES:
        raise DataError(
            f"{len(stations)} stations and {len(numbers)} magnitudes in {year} are too many to be "
            "Madrid's: the files are damaged"
        )
    tables, overlap = {}, Overlap()
    for number in numbers:
        table = np.full((hours_in(year), len(stations)), np.nan, dtype=np.float32)
        if number in old:
            table[:, np.searchsorted(stations, old_stations)] = old[number]
        for coarse in (False, True):
            mine = [p.only(p.magnitude == number) for p in parts if p.coarse == coarse]
            overlap += _insert(table, mine, year, number, stations, replace=not coarse)
        tables[number] = table
    return Year(year, stations, tables), overlap


def _insert(
    table: Table,
    parts: list[Readings],
    year: int,
    number: int,
    stations: tuple[int, ...],
    *,
    replace: bool,
) -> Overlap:
    """Write readings into a table, in order; without ``replace`` only into empty entries."""
    if not parts:
        return Overlap()
    station = np.concatenate([part.station for part in parts])
    day = np.concatenate([part.day for part in parts])
    values = np.concatenate([part.values for part in parts]).ravel()
    first_hour = 24 * (day - np.datetime64(f"{year}-01-01")).astype(np.int64)
    hours = first_hour[:, None] + np.arange(24)
    entries = (hours * len(stations) + np.searchsorted(stations, station)[:, None]).ravel()
    valid = ~np.isnan(values)
    entries, values = entries[valid], values[valid]
    # Readings of the same entry side by side, in their order: each meets the one before it.
    order = np.argsort(entries, kind="stable")
    entries, values = entries[order], values[order]
    flat = table.reshape(-1)
    first = np.r_[True, entries[1:] != entries[:-1]] if len(entries) else np.zeros(0, dtype=bool)
    before = np.where(first, flat[entries], np.r_[values[:1], values[:-1]])
    again = ~np.isnan(before)
    differs = again & (before != values)
    if replace:
        last = np.r_[first[1:], True] if len(entries) else first
        flat[entries[last]] = values[last]
    else:
        empty = first & ~again
        flat[entries[empty]] = values[empty]
    where = frozenset([(year, number)] if differs.any() else [])
    return Overlap(int(again.sum()), int(differs.sum()), where)
