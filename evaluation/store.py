"""The store: one SQLite file, one transaction per finished run.

Tables: ``runs`` (what came of every run, by its key), ``steps`` (its packed columns), ``machines``,
``sweeps`` (the protocols that were run) and ``sweep_runs`` (which runs belong to which sweep, under
which names). A run that several sweeps share is kept once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from evaluation.database import (
    StoreError,
    insert,
    open_existing,
    open_or_begin,
    select,
    transaction,
)
from evaluation.protocol import Protocol
from evaluation.provenance import command_line
from evaluation.record import Record, RecordError, unpack
from evaluation.records import RunSource, StoredRun, StoredSweep
from evaluation.runs import Run
from evaluation.specs import canonical_json

MAX_REASON_LETTERS = 300
"""Of what SQLite says."""


def path_of(store: Any) -> Path | None:
    """The file of a store, or of a path to one; None for one in memory.

    Raises:
        ValueError: One sentence, if it is neither.
    """
    found = store.path if isinstance(store, Store) else store
    if found is None or isinstance(found, str | os.PathLike):
        return None if found is None else Path(found)
    raise ValueError(f"store must be the path of a file, a Store or None, got {store!r}")


class Store:
    """Results on disk.

    Args:
        path: The file; None for one in memory.
        create: Whether to begin a new file where there is none; if not, it is opened for reading
            and writing where it can be written, and for reading where it cannot.
    """

    def __init__(self, path: Path | str | None = None, *, create: bool = True) -> None:
        self.path = path_of(path)
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
        with self._sentence("write"), transaction(self._db):
            before = list(select(self._db, "sweeps", "ORDER BY turn"))
            # The last sweep is told by turns, since clocks may be set back.
            turn = before[-1][1] + 1 if before else 1
            same = (protocol.hash, protocol.name, content)
            row = next((row for row in before if tuple(row[2:5]) == same), None)
            if row is None:
                number = max((old[0] for old in before), default=0) + 1
                row = [number, turn, *same, data, command_line(), ""]
            row[1], row[-1] = turn, _now()
            insert(self._db, "sweeps", [row], replace=True)
            # Keys change with the code: the newest ones are this sweep's.
            mine = ((row[0], c.env, c.track, c.agent, c.seed, c.key) for c in runs)
            insert(self._db, "sweep_runs", mine, replace=True)
        return self.sweep(row[0])

    def save(self, record: Record) -> None:
        """Keep one record, whole or not at all. A success replaces a failure, nothing else."""
        about = canonical_json(record.machine)
        machine = hashlib.sha256(about.encode()).hexdigest()[:16]
        row = (record.key, record.reason, record.steps, record.regret, record.agent_seconds)
        more = (float(record.seconds), _now(), machine, record.sources)
        with self._sentence("write"), transaction(self._db):
            failed = "DELETE FROM runs WHERE key = ? AND reason IS NOT NULL"
            self._db.execute(failed, (record.key,))
            insert(self._db, "machines", [(machine, about)])
            insert(self._db, "runs", [(*row, *more)])
            if record.reason is None:
                insert(self._db, "steps", [(record.key, record.packed)])

    def finished(self, keys: Iterable[str], *, failures: bool = True) -> set[str]:
        """Which of the runs are there already; failed ones count unless ``failures`` is false."""
        with self._sentence("read"):
            rows = select(self._db, "runs", "" if failures else "WHERE reason IS NULL")
            return {row[0] for row in rows} & set(keys)

    def sweeps(self) -> list[StoredSweep]:
        """All sweeps, the one that was run last at the end."""
        with self._sentence("read"):
            return [
                StoredSweep(id, hash, name, _protocol(protocol), _plain(data), command, started)
                for id, _, hash, name, protocol, data, command, started in select(
                    self._db, "sweeps", "ORDER BY turn"
                )
            ]

    def find(self, wanted: str | int | None = None) -> StoredSweep:
        """A sweep by its name or number, the last one by default.

        Raises:
            LookupError: If there is none: one sentence.
        """
        sweeps, asked = self.sweeps(), None if wanted is None else str(wanted)
        found = [each for each in sweeps if asked is None or asked in (each.name, str(each.id))]
        if not found:
            known = ", ".join(f"{each.id} ({each.name})" for each in sweeps) or "none"
            raise LookupError(f"there is no sweep {asked!r} in {self.path}; there are: {known}")
        return found[-1]

    def sweep(self, number: int) -> StoredSweep:
        """One sweep."""
        return next(sweep for sweep in self.sweeps() if sweep.id == number)

    def source(self, sweep: int) -> RunSource:
        """One sweep as results read it."""
        return _StoredSource(self, self.sweep(sweep))

    def runs(self, sweep: int) -> list[StoredRun]:
        """The finished runs of a sweep."""
        with self._sentence("read"):
            totals = {row[0]: row[1:5] for row in self._of_sweep(sweep)}
            names = select(self._db, "sweep_runs", "WHERE sweep = ?", (sweep,))
            return [
                StoredRun(key, env, agent, track, seed, *totals[key])
                for _, env, track, agent, seed, key in sorted(names)
                if key in totals
            ]

    def _of_sweep(self, sweep: int) -> list[list[Any]]:
        """The rows of the finished runs of a sweep."""
        mine = "WHERE key IN (SELECT key FROM sweep_runs WHERE sweep = ?)"
        return list(select(self._db, "runs", mine, (sweep,)))

    def size(self, sweep: int) -> int:
        """How many runs a sweep has, finished or not."""
        with self._sentence("read"):
            return len(list(select(self._db, "sweep_runs", "WHERE sweep = ?", (sweep,))))

    def columns(self, key: str) -> dict[str, NDArray[Any]]:
        """The steps of a run."""
        packed = self.packed(key)
        with self._sentence("read"):
            if packed is not None:
                return unpack(packed)
            if self.finished([key], failures=False):
                raise RecordError("its steps are missing")
        return {}

    def packed(self, key: str) -> bytes | None:
        """The packed columns of a run, None if it failed or is not there."""
        with self._sentence("read"):
            rows = list(select(self._db, "steps", "WHERE key = ?", (key,)))
        return rows[0][1] if rows else None

    def machines(self, sweep: int) -> list[dict[str, Any]]:
        """Where the runs of a sweep were computed."""
        with self._sentence("read"):
            mine = {row[7] for row in self._of_sweep(sweep)}
            return [_plain(row[1]) for row in select(self._db, "machines") if row[0] in mine]

    @contextlib.contextmanager
    def _sentence(self, doing: str) -> Iterator[None]:
        """What SQLite says, as a sentence that names the file."""
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            reason = " ".join(str(error).split())[:MAX_REASON_LETTERS]  # SQLite may list all damage
            raise StoreError(
                f"cannot {doing} the store {str(self.path)!r} ({reason}): {_remedy(error)}"
            ) from error


def _remedy(error: Exception) -> str:
    text = str(error)
    if "full" in text or "disk I/O" in text:
        return (
            "the disk is full or cannot be written; what was finished before is safe: make room "
            "and run the same command again"
        )
    # SQLite has one class for what may be mended and for much that is damaged.
    if isinstance(error, OSError | sqlite3.OperationalError) and "decode" not in text:
        return "see that it can be read and written, and that its folder is there"
    return "it is damaged or no store of ours, and is left alone; use another file"


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


def _plain(text: str) -> dict[str, Any]:
    """An object of JSON.

    Raises:
        ValueError: If it is nothing of the kind.
    """
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("what should be plain data is not")
    return content


def _protocol(text: str) -> dict[str, Any]:
    """A protocol with everything that results are named by."""
    content = _plain(text)
    try:
        str.strip(content["description"])
        for part, names in {"envs": ("label", "group"), "agents": ("label", "track")}.items():
            for entry in content[part]:
                str.join("", (entry[name] for name in names))
    except (LookupError, TypeError) as error:
        raise ValueError("a protocol of it is incomplete") from error
    return content


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")
