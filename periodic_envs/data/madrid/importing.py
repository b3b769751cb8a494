"""``periodic-gp data import``: parse once, keep the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid import cache
from periodic_envs.data.madrid.reading import Source, find_sources, read


@dataclass(frozen=True)
class Imported:
    """The result of an import.

    Attributes:
        entries: The years that were written.
        repeated: Hourly values that were there already.
        different: Those of them that differ.
        ignored: Files that are not the portal's, and were found rather than named.
        renewed: Years whose earlier import was damaged and has been replaced.
    """

    entries: tuple[cache.YearEntry, ...]
    repeated: int
    different: int
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
    numbers = sorted({year for part in parts for year in part.years().tolist()})
    if must_have is not None and must_have not in numbers:
        raise DataError(f"it holds {', '.join(map(str, numbers))} and nothing of {must_have}")
    with cache.lock():  # another process may be importing another month of the same year
        damaged = [year for year in numbers if year in cache.years() and not _is_readable(year)]
        added = []
        for year in numbers:
            pairs = zip(parts, records, strict=True)
            files = [record for part, record in pairs if year in part.years()]
            added.append(cache.add(year, parts, files, afresh=year in damaged))
    entries, repeated, different = zip(*added, strict=True)
    return Imported(entries, sum(repeated), sum(different), tuple(ignored), tuple(damaged))


def _is_readable(year: int) -> bool:
    try:
        cache.entry(year)
    except DataError:
        return False
    return True
