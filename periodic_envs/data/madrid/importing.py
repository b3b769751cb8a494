"""Import of files, zip files and folders of the portal (``periodic-gp data import``)."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid import cache
from periodic_envs.data.madrid.portal import NotPortalError, parse

# Limits on sizes. For comparison, a year of the portal has 13 MB in 12 files, or 36 files with all
# formats.
MAX_BYTES = 64 * 2**20
"""Maximum size of a file, or of an unpacked member of a zip file."""
MAX_UNZIPPED_BYTES = 512 * 2**20
MAX_MEMBERS = 1000
TEXT_SUFFIXES = (".csv", ".txt")


@dataclass(frozen=True)
class Source:
    """File to read, or member of a zip file.

    Attributes:
        path: File on disk.
        member: Name of the member of a zip file, or None for a file that is not in a zip file.
        named: True if the user named this file. Files that were not named are skipped if they are
            not from the portal.
    """

    path: Path
    member: str | None
    named: bool

    @property
    def name(self) -> str:
        """Printable name without folders, for messages and provenance."""
        name = self.path.name if self.member is None else f"{self.path.name}:{self.member}"
        return "".join(c if c.isprintable() else "?" for c in name)[:200]

    def read(self) -> bytes:
        """Return the content; raise a DataError if it has more than ``MAX_BYTES``.

        The sizes in the directory of a zip file are not trusted.
        """
        with _reading(self.name):
            if self.member is None:
                with self.path.open("rb") as file:
                    data = file.read(MAX_BYTES + 1)
            else:
                with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as member:
                    data = member.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise DataError(
                "file-too-large",
                f"{self.name} is larger than {MAX_BYTES // 2**20} MiB, the limit for one month",
            )
        return data


@dataclass(frozen=True)
class Imported:
    """Result of an import.

    Attributes:
        entries: Descriptions of the years that were written.
        ignored: Names of the files that were skipped because they are not from the portal. Only
            files in folders and zip files are skipped.
    """

    entries: tuple[cache.YearEntry, ...]
    ignored: tuple[str, ...]


def import_paths(
    paths: Sequence[Path],
    *,
    on_start: Callable[[int], object] = lambda files: None,
    on_file: Callable[[Source], object] = lambda source: None,
    origin: str | None = None,
    must_have: int | None = None,
) -> Imported:
    """Import files, zip files and folders; nothing is stored unless all of them can be read.

    Args:
        paths: Files, zip files and folders.
        on_start: Callback that receives the number of files.
        on_file: Callback that receives each file before it is read.
        origin: URL from which the files were downloaded; it is stored with each file.
        must_have: Year that the files must contain.
    """
    sources = [source for path in paths for source in _find_sources(path)]
    on_start(len(sources))
    parts, records, ignored = [], [], []
    for source in sources:
        on_file(source)
        data = source.read()
        try:
            readings = parse(data, source.name)
        except NotPortalError:
            if source.named:
                raise
            ignored.append(source.name)
            continue
        digest = hashlib.sha256(data).hexdigest()
        record = {"file": source.name, "sha256": digest, "lines": len(readings.station)}
        parts.append(readings)
        records.append(record if origin is None else {**record, "from": origin})
    if not parts:
        places = ", ".join(ignored[:5]) or ", ".join(map(str, paths))
        raise DataError("no-data", f"no csv or txt file of the Madrid portal was found in {places}")
    years = sorted({year for part in parts for year in part.years().tolist()})
    if must_have is not None and must_have not in years:
        raise DataError(
            "wrong-year",
            f"the files contain measurements of {', '.join(map(str, years))}, but not of "
            f"{must_have}",
        )
    added = []
    with cache.lock():  # another process may be importing a different month of the same year
        for year in years:
            pairs = zip(parts, records, strict=True)
            added.append(cache.add(year, parts, [r for part, r in pairs if year in part.years()]))
    return Imported(tuple(added), tuple(ignored))


def _find_sources(path: Path) -> Iterator[Source]:
    """Yield the csv and txt files of a path, including members of zip files."""
    if not path.exists():
        raise DataError("file-not-found", f"the file or folder {str(path)!r} does not exist")
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        suffix = file.suffix.casefold()
        if suffix == ".zip":
            yield from _members(file)
        elif file == path or (suffix in TEXT_SUFFIXES and file.is_file()):
            yield Source(file, None, named=file == path)


def _members(path: Path) -> Iterator[Source]:
    with _reading(path.name), zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    size = sum(member.file_size for member in members)
    if len(members) > MAX_MEMBERS or size > MAX_UNZIPPED_BYTES:
        raise DataError(
            "file-too-large",
            f"{path.name} must contain at most {MAX_MEMBERS:,} files and "
            f"{MAX_UNZIPPED_BYTES >> 20} MiB in total when unpacked, got {len(members):,} files "
            f"and {size / 2**20:,.0f} MiB",
        )
    for member in members:
        if member.filename.casefold().endswith(TEXT_SUFFIXES):
            yield Source(path, member.filename, named=False)


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Convert every error that occurs while a file is read to a DataError."""
    try:
        yield
    except OSError as error:
        raise DataError("cannot-read", f"cannot read {name}: {error.strerror or error}") from error
    except Exception as error:  # zipfile raises various errors for damaged files
        raise DataError(
            "damaged-file", f"{name} is damaged or in an unexpected format: {error}"
        ) from error
