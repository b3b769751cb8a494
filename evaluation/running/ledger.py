"""What a worker has begun and finished of a batch, in a file that outlives the worker.

A worker that dies takes no finished record with it, and nobody needs to guess which run it was at:
that one has failed, those before it are here, and those after it were never started.

Whoever makes the file has the batch: the worker that begins it, or the driver that gives up waiting
for one. So no batch is begun after it was given back.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import struct
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluation.record import MAX_BYTES, Record
from evaluation.running.process import is_alive
from evaluation.runs import Run

_OWNER = struct.Struct("<q")
"""The process that has the batch comes first in the file."""
_NOBODY = 0
SECONDS_TO_DIE = 5.0
_BEGUN = b"B"
_LENGTHS = struct.Struct("<QQ")
"""Of what is said about a record, and of its packed columns."""


class Ledger:
    """Written by a worker.

    Args:
        path: The file.

    Raises:
        FileExistsError: If the batch is not to be begun any more.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb", buffering=0)
        self._file.write(_OWNER.pack(os.getpid()))

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def begin(self) -> None:
        """From now on the next run has been started."""
        self._file.write(_BEGUN)

    def finish(self, record: Record) -> None:
        """It has come to an end."""
        about = json.dumps([record.reason, record.seconds, record.machine, record.sources]).encode()
        self._file.write(_LENGTHS.pack(len(about), len(record.packed)) + about + record.packed)


def owner(path: Path) -> int | None:
    """The process that has begun a batch, if any has."""
    try:
        with path.open("rb") as file:
            head = file.read(_OWNER.size)
    except FileNotFoundError:
        return None
    pid = int(_OWNER.unpack(head)[0]) if len(head) == _OWNER.size else _NOBODY
    return None if pid == _NOBODY else pid


def close(path: Path, runs: Sequence[Run]) -> tuple[list[Record], int]:
    """What came of a batch, for good: nobody begins another run of it."""
    try:
        with path.open("xb") as file:  # left there, so that no worker can have the batch
            file.write(_OWNER.pack(_NOBODY))
        return [], 0
    except FileExistsError:
        pid = owner(path)
    found = read(path, runs)
    if pid is not None and len(found[0]) < len(runs):
        _kill(pid)
        found = read(path, runs)
    path.unlink(missing_ok=True)
    return found


def _kill(pid: int) -> None:
    """Kill a worker that may still be at a batch, and wait until it is gone."""
    end = time.monotonic() + SECONDS_TO_DIE
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))  # which Windows has not got
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.01)


def read(path: Path, runs: Sequence[Run]) -> tuple[list[Record], int]:
    """The records of a batch in order, and how many of its runs were begun."""
    try:
        content = memoryview(path.read_bytes())
    except FileNotFoundError:
        return [], 0
    records: list[Record] = []
    content = content[_OWNER.size :]
    for number, run in enumerate(runs):
        if content[:1] != _BEGUN:
            return records, number
        found = _record(content[1:], run)
        if found is None:
            return records, number + 1
        records.append(found[0])
        content = content[1 + found[1] :]
    return records, len(records)


def _record(content: memoryview, run: Run) -> tuple[Record, int] | None:
    """A record and its length; None if it is not whole."""
    if len(content) < _LENGTHS.size:
        return None
    about, packed = _LENGTHS.unpack(content[: _LENGTHS.size])
    end = _LENGTHS.size + about + packed
    if max(about, packed) > MAX_BYTES or end > len(content):
        return None
    columns = bytes(content[_LENGTHS.size + about : end])
    try:
        said: list[Any] = json.loads(bytes(content[_LENGTHS.size : _LENGTHS.size + about]))
        reason, seconds, machine, sources = said
        reason = None if reason is None else str(reason)
        return Record(run.key, reason, columns, float(seconds), dict(machine), str(sources)), end
    except (ValueError, TypeError):
        return None
