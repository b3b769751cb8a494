"""From files, zips and folders to the portal's months, within bounds."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid.portal import NotPortalError, Readings, parse

# Bounds on what is read: a year of the portal is 13 MB in 12 files (36 with all formats).
MAX_BYTES = 64 * 2**20
"""Of one file, or one member of a zip once unpacked."""
MAX_UNZIPPED_BYTES = 512 * 2**20
MAX_MEMBERS = 1000
TEXT_SUFFIXES = (".csv", ".txt")


@dataclass(frozen=True)
class Source:
    """A file to read: by itself, or a member of a zip.

    Attributes:
        path: The file on disk.
        member: Name within the zip, or None.
        named: Whether the user named this very file. If not, a file that is something else
            altogether is passed over.
    """

    path: Path
    member: str | None
    named: bool

    @property
    def name(self) -> str:
        """For messages and provenance: without the folders, which are nobody's business.

        A hostile zip may call its members anything: what cannot be printed is not.
        """
        name = self.path.name if self.member is None else f"{self.path.name}:{self.member}"
        return "".join(c if c.isprintable() else "?" for c in name)[:200]


def find_sources(paths: Sequence[Path]) -> list[Source]:
    """All files to read."""
    sources = [source for path in paths for source in _sources_of(path)]
    if not sources:
        raise DataError(
            f"there is no {', '.join((*TEXT_SUFFIXES, '.zip'))} file in "
            + ", ".join(repr(str(path)) for path in paths)
        )
    return sources


def read(source: Source) -> tuple[str, Readings | None]:
    """The SHA-256 of one source, and what it holds: None if it is not one of the portal's files."""
    try:
        data = _bytes_of(source)
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"cannot read {source.name}: {error.strerror or error}") from error
    except Exception as error:  # zipfile answers damage with nearly any kind of exception
        raise DataError(f"{source.name} is damaged: {error}") from error
    digest = hashlib.sha256(data).hexdigest()
    try:
        return digest, parse(data, source.name)
    except NotPortalError:
        if source.named:
            raise
        return digest, None


def _sources_of(path: Path) -> Iterator[Source]:
    if path.is_dir():
        for inside in sorted(path.rglob("*")):
            if inside.is_file() and inside.suffix.casefold() in (*TEXT_SUFFIXES, ".zip"):
                yield from _sources_in(inside, named=False)
    elif path.is_file():
        yield from _sources_in(path, named=True)
    else:
        raise DataError(f"there is no file or folder {str(path)!r}")


def _sources_in(path: Path, *, named: bool) -> Iterator[Source]:
    if path.suffix.casefold() != ".zip":
        yield Source(path, None, named)
        return
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except OSError as error:
        raise DataError(f"cannot read {path.name}: {error.strerror or error}") from error
    except Exception as error:  # see read()
        raise DataError(f"{path.name} is not a zip file, or a damaged one: {error}") from error
    if len(members) > MAX_MEMBERS or sum(m.file_size for m in members) > MAX_UNZIPPED_BYTES:
        raise DataError(
            f"{path.name} unpacks to {len(members)} files of "
            f"{sum(m.file_size for m in members) / 2**20:,.0f} MB: too much to be a year's data"
        )
    texts = [m.filename for m in members if m.filename.casefold().endswith(TEXT_SUFFIXES)]
    if not texts:
        raise DataError(f"{path.name} has no {' or '.join(TEXT_SUFFIXES)} file in it")
    for name in texts:
        yield Source(path, name, named=False)


def _bytes_of(source: Source) -> bytes:
    """The content, and not more of it than is allowed, whatever the directory of the zip claims."""
    if source.member is None:
        with source.path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    else:
        with zipfile.ZipFile(source.path) as archive, archive.open(source.member) as member:
            data = member.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise DataError(f"{source.name} is larger than {MAX_BYTES // 2**20} MB: not a month's data")
    return data
