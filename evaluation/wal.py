"""SQLite's write-ahead log, looked at before SQLite does.

SQLite reads a log up to the first frame whose checksum is wrong, and goes on with that older state
without a word. For the last transaction before a crash that is right: it was never finished. A log
that was damaged afterwards looks the same to SQLite; here the two are told apart. The format is
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
    """The number of the first piece that was written whole and has changed; 0 is the header.

    A process that is killed leaves a part of one frame at the most: frames are written in order,
    and none is written twice (``database`` sees to it). What stands behind the last good frame is
    therefore the rest of an older log, which has other salts, or it is damaged.
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
    good = True
    for number, frame in enumerate(pieces, 1):
        salts = frame[8:16]
        if good:
            sums = _added(order, frame[:8] + frame[FRAME_HEADER_BYTES:], sums)
            good = salts == header[16:24] and frame[16:24] == struct.pack(">II", *sums)
        if not good and (salts[:4] == header[16:20] or salts[4:] == header[20:24]):
            return number
    return None


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
