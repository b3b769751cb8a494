"""``periodic-gp data import``: parse once, keep the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid import cache
from periodic_envs.data.madrid.reading import Source, find_sources, read
from periodic_envs.data.madrid.year import Overlap, Year, tabulate, years_of


@dataclass(frozen=True)
class Imported:
    """What an import did.

    Attributes:
        entries: The years that were written.
        overlap: How many hourly values were reported more than once, and how many of these differ
            (the later one is kept).
        ignored: Files that are not the portal's, and were found rather than named.
        renewed: Years whose earlier import was damaged and has been replaced.
    """

    entries: tuple[cache.Entry, ...]
    overlap: Overlap
    ignored: tuple[str, ...]
    renewed: tuple[int, ...] = ()


def import_paths(
    paths: Sequence[Path],
    *,
    on_start: Callable[[int], object] = lambda files: None,
    on_file: Callable[[Source], object] = lambda source: None,
    origin: str | None = None,
    must_have: int | None = None,
) -> Imported:
    """Import files, zips and folders in any mix. Nothing is kept unless all can be read.

    Args:
        paths: What to import.
        on_start: Called with the number of files.
        on_file: Called with each file before it is read.
        origin: Where the files were downloaded from, for the record.
        must_have: A year that has to be among the files.
    """
    sources = find_sources(paths)
    on_start(len(sources))
    parts, records, ignored = [], [], []
    for source in sources:
        on_file(source)
        digest, readings = read(source)
        if readings is None:
            ignored.append(source.name)
            continue
        parts.append(readings)
        record = {"file": source.name, "sha256": digest, "lines": len(readings.station)}
        records.append(record if origin is None else {**record, "from": origin})
    if not parts:
        raise DataError(f"none of these is a file of the Madrid portal: {', '.join(ignored[:5])}")
    years = sorted({year for part in parts for year in years_of(part)})
    if must_have is not None and must_have not in years:
        raise DataError(f"it holds {', '.join(map(str, years))} and nothing of {must_have}")
    with cache.lock():  # another process may be importing another month of the same year
        known, renewed = _known(years)
        built, overlap = tabulate(parts, known)
        entries = []
        for number, year in built.items():
            pairs = zip(parts, records, strict=True)
            mine = [record for readings, record in pairs if number in years_of(readings)]
            before = () if number in renewed else None
            entries.append(cache.save(year, mine, before=before))
    return Imported(tuple(entries), overlap, tuple(ignored), tuple(renewed))


def _known(years: Sequence[int]) -> tuple[dict[int, Year], list[int]]:
    """What was imported before of these years, and which of them cannot be read any more."""
    known, damaged = {}, []
    for year in years:
        try:
            found = cache.load(year)
        except DataError:
            damaged.append(year)
            continue
        if found is not None:
            known[year] = found
    return known, damaged
