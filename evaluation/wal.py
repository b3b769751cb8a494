"""SQLite's write-ahead log, looked at before SQLite does.

SQLite reads a log up to the first frame whose checksum is wrong, and goes on with that older state
without a word. For the last transaction before a crash that is right: it was never finished. Where
transactions stand behind the wrong frame that *were* finished, the log was damaged afterwards, and
SQLite would drop them all; here the two are told apart. The format is
that of https://www.sqlite.org/fileformat2.html#the_write_ahead_log.
"""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Iterator
from pathlib import Path

HEADER_BYTES, FRAME_HEADER_BYTES = 32, 24
SECONDS_BETWEEN_LOOKS = 0.1
"""Another process may be writing a frame right now: by then it is done with it."""


def log_of(path: Path) -> Path:
    """Where the log of a database is, if it has one."""
    path = path.resolve()
    return path.with_name(f"{path.name}-wal")


def is_damaged(log: Path) -> bool:
    """Whether something was written into the log that cannot be read any more."""
    place = _first_damage(log)
    if place is None:
        return False
    time.sleep(SECONDS_BETWEEN_LOOKS)
    return _first_damage(log) == place


def _first_damage(log: Path) -> int | None:
    """The number of the first piece that was finished and has changed; 0 is the header.

    A crash leaves at most one transaction that is not whole, the last one: every one is synced
    before it counts as finished (``database`` sees to it). Each ends in a frame that says so; what
    is behind it is the rest of an older log, which has other salts.
    """
    pieces = _pieces(log)
    header = next(pieces, b"")
    if not header:
        return None
    # The last bit of the first word says in which order the bytes of other words are added up.
    order = ">" if header[3] & 1 else "<"
    sums = _added(order, header[:24], (0, 0))
    if header[24:] != struct.pack(">II", *sums):
        return 0
    wrong, ends = None, 0
    for number, frame in enumerate(pieces, 1):
        mine = frame[8:16] == header[16:24]
        if wrong is None:
            sums = _added(order, frame[:8] + frame[FRAME_HEADER_BYTES:], sums)
            if not mine or frame[16:24] != struct.pack(">II", *sums):
                wrong = number
        if wrong is not None and mine and any(frame[4:8]):  # it ends a transaction
            ends += 1
    return wrong if ends > 1 else None


def _pieces(log: Path) -> Iterator[bytes]:
    """The header and the frames; a last one that is not whole is left out."""
    with contextlib.suppress(FileNotFoundError), log.open("rb") as file:
        header = file.read(HEADER_BYTES)
        if len(header) < HEADER_BYTES:
            return
        yield header
        size = FRAME_HEADER_BYTES + int.from_bytes(header[8:12], "big")
        while len(frame := file.read(size)) == size:
            yield frame


def _added(order: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    """The checksum after some more bytes."""
    first, second = sums
    for a, b in struct.iter_unpack(f"{order}II", data):
        first = (first + a + second) & 0xFFFFFFFF
        second = (second + b + first) & 0xFFFFFFFF
    return first, second
