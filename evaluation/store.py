"""The store: one SQLite file, one transaction per finished run.

Tables: ``runs`` (what came of every run, by its key), ``sweeps`` (the protocols that were run) and
``sweep_runs`` (which runs belong to which sweep, under which names). A run that several sweeps
share is kept once.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from evaluation.database import StoreError, open_existing, open_or_begin, transaction
from evaluation.protocol.entries import canonical_json
from evaluation.protocol.protocol import Protocol
from evaluation.records import RunSource, StoredRun, StoredSweep
from evaluation.running.provenance import command_line
from evaluation.running.record import Record, RecordError, unpack
from evaluation.running.run import Run


class Store:
    """Results on disk.

    Args:
        path: The file; None for one in memory.
        create: Whether to begin a new file where there is none; if not, it is opened for reading
            and writing where it can be written, and for reading where it cannot.
    """

    def __init__(self, path: Path | str | None = None, *, create: bool = True) -> None:
        self.path = Path(path) if path is not None else None
        if self.path is not None and not self.path.exists() and not create:
            raise StoreError(
                f"there is no store {str(self.path)!r}; make one with: periodic-gp run"
            )
        with self._sentence("open"):
            old = None if create else self.path
            self._db = open_or_begin(self.path) if old is None else open_existing(old)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, protocol: Protocol, runs: Iterable[Run]) -> StoredSweep:
        """Write down that a protocol is being run; the same one goes on as the same sweep."""
        content = canonical_json(protocol.to_dict())
        data = canonical_json(protocol.data_fingerprints)
        now = _now()
        with self._sentence("write"), transaction(self._db):
            row = self._db.execute(
                "SELECT id FROM sweeps WHERE hash = ? AND name = ? AND protocol = ?",
                (protocol.hash, protocol.name, content),
            ).fetchone()
            if row is None:
                row = self._db.execute(
                    "INSERT INTO sweeps (hash, name, protocol, data, command, started)"
                    " VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
                    (protocol.hash, protocol.name, content, data, command_line(), now),
                ).fetchone()
            self._db.execute("UPDATE sweeps SET started = ? WHERE id = ?", (now, row[0]))
            # Keys change with the code: the newest ones are this sweep's.
            self._db.executemany(
                "INSERT OR REPLACE INTO sweep_runs VALUES (?, ?, ?, ?, ?, ?)",
                ((row[0], c.key, c.env, c.agent, c.track, c.seed) for c in runs),
            )
        return self.sweep(row[0])

    def save(self, record: Record) -> None:
        """Keep one record, whole or not at all. A success replaces a failure, nothing else."""
        row = (record.key, record.reason, record.steps, record.regret, record.agent_seconds)
        packed = record.packed if record.reason is None else None
        about, checks = canonical_json(record.machine), (zlib.crc32(packed or b""), _checksum(row))
        with self._sentence("write"), transaction(self._db):
            self._db.execute("INSERT OR IGNORE INTO machines (about) VALUES (?)", (about,))
            failed = "DELETE FROM runs WHERE key = ? AND reason IS NOT NULL"
            self._db.execute(failed, (record.key,))
            self._db.execute(
                "INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?,"
                " (SELECT id FROM machines WHERE about = ?), ?, ?, ?, ?)",
                (*row, record.seconds, _now(), about, record.sources, packed, *checks),
            )

    def finished(self, keys: Iterable[str], *, failures: bool = True) -> set[str]:
        """Which of the runs are there already; failed ones count unless ``failures`` is false."""
        with self._sentence("read"):
            rows = self._db.execute(
                "SELECT key FROM runs" + ("" if failures else " WHERE reason IS NULL")
            )
            return {row[0] for row in rows} & set(keys)

    def sweeps(self) -> list[StoredSweep]:
        """All sweeps, the one that was run last at the end."""
        with self._sentence("read"):
            rows = self._db.execute(
                "SELECT id, hash, name, protocol, data, command, started FROM sweeps"
                " ORDER BY started, id"
            ).fetchall()
        return [
            StoredSweep(r[0], r[1], r[2], json.loads(r[3]), json.loads(r[4]), r[5], r[6])
            for r in rows
        ]

    def sweep(self, number: int) -> StoredSweep:
        """One sweep."""
        return next(sweep for sweep in self.sweeps() if sweep.id == number)

    def source(self, sweep: int) -> RunSource:
        """One sweep as results read it."""
        return _StoredSource(self, self.sweep(sweep))

    def runs(self, sweep: int) -> list[StoredRun]:
        """The finished runs of a sweep."""
        with self._sentence("read"):
            rows = self._db.execute(
                "SELECT c.checksum, r.key, r.env, r.agent, r.track, r.seed, c.reason, c.steps,"
                " c.regret, c.agent_seconds FROM sweep_runs r JOIN runs c USING (key)"
                " WHERE r.sweep = ? ORDER BY r.env, r.track, r.agent, r.seed",
                (sweep,),
            ).fetchall()
            for checksum, key, *_, reason, steps, regret, seconds in rows:
                if checksum != _checksum((key, reason, steps, regret, seconds)):
                    raise sqlite3.DatabaseError(f"the run {key[:12]}: its totals have changed")
        return [StoredRun(*row[1:]) for row in rows]

    def size(self, sweep: int) -> int:
        """How many runs a sweep has, finished or not."""
        with self._sentence("read"):
            query = "SELECT count(*) FROM sweep_runs WHERE sweep = ?"
            return int(self._db.execute(query, (sweep,)).fetchone()[0])

    def columns(self, key: str) -> dict[str, NDArray[Any]]:
        """The steps of a run."""
        packed = self.packed(key)
        with self._sentence("read"):
            try:
                return {} if packed is None else unpack(packed)
            except RecordError as error:
                raise sqlite3.DatabaseError(f"the run {key[:12]}: {error}") from error

    def packed(self, key: str) -> bytes | None:
        """The packed columns of a run, None if it failed or is not there."""
        with self._sentence("read"):
            query = "SELECT columns, columns_checksum FROM runs WHERE key = ?"
            packed: bytes | None
            packed, checksum = self._db.execute(query, (key,)).fetchone() or (None, 0)
            if packed is not None and zlib.crc32(packed) != checksum:
                raise sqlite3.DatabaseError(f"the run {key[:12]}: its columns have changed")
        return packed

    def machines(self, sweep: int) -> list[dict[str, Any]]:
        """Where the runs of a sweep were computed."""
        with self._sentence("read"):
            rows = self._db.execute(
                "SELECT DISTINCT m.about FROM machines m JOIN runs c ON c.machine = m.id"
                " JOIN sweep_runs r ON r.key = c.key WHERE r.sweep = ?",
                (sweep,),
            ).fetchall()
        return [json.loads(row[0]) for row in rows]

    @contextlib.contextmanager
    def _sentence(self, doing: str) -> Iterator[None]:
        """What SQLite says, as a sentence that names the file."""
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            full = "full" in str(error) or "disk I/O" in str(error)
            what = (
                "the disk is full or cannot be written; what was finished before is safe: make "
                "room and run the same command again"
                if full
                else "it is damaged or no store of ours, and is left alone; use another file"
                if isinstance(error, sqlite3.DatabaseError)
                and not isinstance(error, sqlite3.OperationalError)
                else "see that it can be read and written, and that its folder is there"
            )
            raise StoreError(
                f"cannot {doing} the store {str(self.path)!r} ({error}): {what}"
            ) from error


@dataclass(frozen=True)
class _StoredSource:
    """The runs of one sweep of a store."""

    store: Store
    sweep: StoredSweep

    def runs(self) -> list[StoredRun]:
        return self.store.runs(self.sweep.id)

    def columns(self, key: str) -> dict[str, NDArray[Any]]:
        return self.store.columns(key)

    def size(self) -> int:
        return self.store.size(self.sweep.id)

    def machines(self) -> list[dict[str, Any]]:
        return self.store.machines(self.sweep.id)


def _checksum(row: tuple[Any, ...]) -> int:
    """Of the totals of a run, which nobody computes again: a flipped bit must not go unseen."""
    return zlib.crc32(repr(row).encode())


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")
