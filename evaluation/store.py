"""Store of results: one SQLite file, with one transaction per finished run.

The tables are ``runs`` (totals and packed columns of every run, by key), ``machines``, ``sweeps``
(with their protocols) and ``sweep_runs`` (names and keys of the runs of each sweep). A run that
several sweeps share is stored once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from evaluation.errors import UnknownNameError, UserError
from evaluation.keys import version_of
from evaluation.protocol import Protocol
from evaluation.record import Record, unpack
from evaluation.runs import Run
from evaluation.specs import canonical_json

APPLICATION_ID = 0x50475053
"""Application id in the header of the SQLite file: "PGPS"."""
FORMAT = 4
MAX_WAIT_SECONDS = 60.0
"""Timeout for locks of other processes."""
MAX_REASON_LETTERS = 300
"""Maximum number of characters of an SQLite error that are included in a message."""

SCHEMA = (
    "CREATE TABLE written_by (version TEXT NOT NULL) STRICT",
    "CREATE TABLE machines (key TEXT PRIMARY KEY, about TEXT NOT NULL) STRICT",
    # The packed columns are last, so that SQLite can read the totals without them.
    """CREATE TABLE runs (
        key TEXT PRIMARY KEY, reason TEXT, steps INTEGER NOT NULL, regret REAL, agent_seconds REAL,
        seconds REAL NOT NULL, finished TEXT NOT NULL, machine TEXT NOT NULL REFERENCES machines,
        sources TEXT NOT NULL, sha256 TEXT NOT NULL, columns BLOB NOT NULL) STRICT""",
    """CREATE TABLE sweeps (
        id INTEGER PRIMARY KEY, turn INTEGER UNIQUE NOT NULL, hash TEXT NOT NULL,
        name TEXT NOT NULL, protocol TEXT NOT NULL, data TEXT NOT NULL, command TEXT NOT NULL,
        started TEXT NOT NULL) STRICT""",
    """CREATE TABLE sweep_runs (
        sweep INTEGER NOT NULL REFERENCES sweeps, env TEXT NOT NULL, track TEXT NOT NULL,
        agent TEXT NOT NULL, seed INTEGER NOT NULL, key TEXT NOT NULL,
        PRIMARY KEY (sweep, env, track, agent, seed)) STRICT""",
)


class StoreError(UserError):
    """Raised if a store cannot be used; the message contains the reason and a remedy."""


@dataclass(frozen=True)
class StoredSweep:
    """Sweep of a protocol as plain data, with the data sources of its worlds."""

    id: int
    hash: str
    name: str
    protocol: dict[str, Any]
    data: dict[str, str | None]
    command: str
    started: str


@dataclass(frozen=True)
class StoredRun:
    """Run of a sweep with its totals; ``reason`` is set if the run failed."""

    key: str
    env: str
    agent: str
    track: str
    seed: int
    reason: str | None
    steps: int
    regret: float | None
    agent_seconds: float | None


class Store:
    """Results in a file or in memory.

    A file without write permission is opened read-only.

    Args:
        path: Path of the file; None for a store in memory.
        create: Create the file if it does not exist.
    """

    def __init__(self, path: Path | str | None = None, *, create: bool = True) -> None:
        if not isinstance(path, str | os.PathLike | None):
            raise ValueError(f"store must be the path of a file, a Store or None, got {path!r}")
        self.path = None if path is None else Path(path)
        if self.path is not None and not self.path.exists() and not create:
            raise StoreError(
                "file-not-found",
                f"the store {str(self.path)!r} does not exist: create a store with periodic-gp run",
            )
        with self._sentence("open"):
            self._db = _connect(self.path)
            try:
                _prepare(self._db, self.path)
            except BaseException:
                self._db.close()
                raise

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # Notebooks rarely close stores, and Python 3.13 warns about open connections.
        with contextlib.suppress(AttributeError, sqlite3.Error):
            self._db.close()

    def begin(self, protocol: Protocol, runs: Iterable[Run]) -> StoredSweep:
        """Start a sweep of a protocol, or continue the sweep of an identical protocol."""
        content = canonical_json(protocol.to_dict())
        same = (protocol.hash, protocol.name, content)
        origins = protocol.origins.items()
        data = canonical_json({name: origin and origin.source for name, origin in origins})
        with self._sentence("write"), self._db as db:
            db.execute("BEGIN IMMEDIATE")
            # The highest turn identifies the last sweep, since clocks may be set back.
            last, turn = db.execute(
                "SELECT coalesce(max(id), 0), coalesce(max(turn), 0) FROM sweeps"
            ).fetchone()
            old = db.execute(
                "SELECT id FROM sweeps WHERE (hash, name, protocol) = (?, ?, ?)", same
            ).fetchone()
            number = old[0] if old else last + 1
            row = (number, turn + 1, *same, data, _command_line(), _now())
            db.execute("INSERT OR REPLACE INTO sweeps VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            # Keys depend on the code: the sweep refers to the runs of the latest code.
            db.executemany(
                "INSERT OR REPLACE INTO sweep_runs VALUES (?, ?, ?, ?, ?, ?)",
                ((number, r.env, r.track, r.agent, r.seed, r.key) for r in runs),
            )
        return self.find(number)

    def save(self, record: Record) -> None:
        """Store one record atomically.

        The record replaces a failure with the same key. If the store contains a success with the
        same key, the record is discarded.
        """
        about = canonical_json(record.machine)
        machine, digest = _sha256(about.encode()), _sha256(record.packed)
        row = (record.key, record.reason, record.steps, record.regret, record.agent_seconds)
        more = (float(record.seconds), _now(), machine, record.sources, digest, record.packed)
        with self._sentence("write"), self._db as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("DELETE FROM runs WHERE key = ? AND reason IS NOT NULL", (record.key,))
            db.execute("INSERT OR IGNORE INTO machines VALUES (?, ?)", (machine, about))
            marks = ", ".join("?" * len((*row, *more)))
            db.execute(f"INSERT OR IGNORE INTO runs VALUES ({marks})", (*row, *more))

    def finished(self, keys: Iterable[str], *, failures: bool = True) -> set[str]:
        """Return the keys whose runs are stored, including failed runs if ``failures`` is true."""
        rows = self._rows("SELECT key FROM runs WHERE ? OR reason IS NULL", failures)
        return {key for (key,) in rows} & set(keys)

    def sweeps(self) -> list[StoredSweep]:
        """Return all sweeps, ordered by their last execution."""
        rows = self._rows(
            "SELECT id, hash, name, protocol, data, command, started FROM sweeps ORDER BY turn"
        )
        with self._sentence("read"):
            return [
                StoredSweep(number, hash, name, _protocol(protocol), _object(data), *more)
                for number, hash, name, protocol, data, *more in rows
            ]

    def find(self, wanted: str | int | None = None) -> StoredSweep:
        """Return a sweep by name or number, by default the last sweep.

        Raises:
            UnknownNameError: If the sweep is not in the store.
        """
        sweeps = self.sweeps()
        names = ((each, (None, each.id, str(each.id), each.name)) for each in sweeps)
        matching = [each for each, own in names if wanted in own]
        if not matching:
            known = ", ".join(f"{each.id} ({each.name})" for each in sweeps) or "none"
            raise UnknownNameError(
                "unknown-sweep",
                f"unknown sweep {str(wanted)!r} in the store {str(self.path)!r}; known sweeps: "
                f"{known}",
            )
        return matching[-1]

    def source(self, sweep: int) -> SweepSource:
        """Return a sweep as a source of ``Results``."""
        return SweepSource(self, self.find(sweep))

    def runs(self, sweep: int) -> list[StoredRun]:
        """Return the finished runs of a sweep, ordered by world, track, agent and seed."""
        rows = self._rows(
            "SELECT key, env, agent, track, seed, reason, steps, regret, agent_seconds "
            "FROM sweep_runs JOIN runs USING (key) WHERE sweep = ? "
            "ORDER BY env, track, agent, seed",
            sweep,
        )
        return [StoredRun(*row) for row in rows]

    def size(self, sweep: int) -> int:
        """Return the number of runs of a sweep, finished or not."""
        ((count,),) = self._rows("SELECT count(*) FROM sweep_runs WHERE sweep = ?", sweep)
        return int(count)

    def columns(self, key: str) -> dict[str, NDArray[Any]]:
        """Return the columns of a run; the result is empty if the run failed or is unknown."""
        packed = self.packed(key)
        with self._sentence("read"):
            return {} if packed is None else unpack(packed)

    def packed(self, key: str) -> bytes | None:
        """Return the packed columns of a run, or None if the run failed or is unknown."""
        rows = self._rows("SELECT sha256, columns FROM runs WHERE key = ? AND reason IS NULL", key)
        for digest, packed in rows:
            with self._sentence("read"):
                if _sha256(packed) != digest:
                    raise ValueError(f"the columns of the run {key} do not match their SHA-256")
            return bytes(packed)
        return None

    def machines(self, sweep: int) -> list[dict[str, Any]]:
        """Return the machines on which the runs of a sweep were computed."""
        rows = self._rows(
            "SELECT about FROM machines WHERE key IN (SELECT machine FROM runs JOIN sweep_runs "
            "USING (key) WHERE sweep = ?) ORDER BY rowid",
            sweep,
        )
        with self._sentence("read"):
            return [_object(about) for (about,) in rows]

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._sentence("read"):
            return self._db.execute(query, values).fetchall()

    @contextlib.contextmanager
    def _sentence(self, doing: str) -> Iterator[None]:
        """Convert SQLite errors, file errors and invalid content into ``StoreError``."""
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            code, remedy = _remedy(doing, error)
            raise StoreError(
                code,
                f"cannot {doing} the store {str(self.path)!r} "
                # The error is shortened, since SQLite may list many errors.
                f"({' '.join(str(error).split())[:MAX_REASON_LETTERS]}): {remedy}",
            ) from error


@dataclass(frozen=True)
class SweepSource:
    """Runs of one sweep of a store, as a source of ``Results``."""

    store: Store
    sweep: StoredSweep

    def runs(self) -> list[StoredRun]:
        """Return the finished runs with their totals."""
        return self.store.runs(self.sweep.id)

    def columns(self, key: str) -> dict[str, NDArray[Any]]:
        """Return the columns of a run."""
        return self.store.columns(key)

    def size(self) -> int:
        """Return the number of runs, finished or not."""
        return self.store.size(self.sweep.id)

    def machines(self) -> list[dict[str, Any]]:
        """Return the machines on which the runs were computed."""
        return self.store.machines(self.sweep.id)


def log_of(path: Path) -> Path:
    """Return the path of SQLite's write-ahead log of a store."""
    path = path.resolve()
    return path.with_name(f"{path.name}-wal")


def _connect(path: Path | None) -> sqlite3.Connection:
    if path is None:
        place = ":memory:"
    elif not path.exists() or all(os.access(each, os.W_OK) for each in (path, path.parent)):
        place = path.resolve().as_uri()
    else:
        log = log_of(path)
        if log.exists() and log.stat().st_size:
            raise StoreError(
                "pending-log",
                f"the store {str(path)!r} is read-only, but its last runs are still in "
                f"{str(log)!r}: copy both files to a writable folder",
            )
        place = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    db = sqlite3.connect(place, timeout=MAX_WAIT_SECONDS, uri=True)
    db.isolation_level = None  # transactions are started explicitly and end with the `with` block
    return db


def _prepare(db: sqlite3.Connection, path: Path | None) -> None:
    """Create the tables of a new file, or validate an existing file before writing."""
    if _is_blank(db):
        db.execute("PRAGMA journal_mode = WAL")
        with db:
            db.execute("BEGIN IMMEDIATE")
            if _is_blank(db):  # another process may have created the tables in the meantime
                for statement in SCHEMA:
                    db.execute(statement)
                db.execute("INSERT INTO written_by VALUES (?)", (version_of("periodic-gp") or "?",))
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                db.execute(f"PRAGMA user_version = {FORMAT}")
    _check(db, path)


def _is_blank(db: sqlite3.Connection) -> bool:
    tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return not tables and not db.execute("PRAGMA application_id").fetchone()[0]


def _check(db: sqlite3.Connection, path: Path | None) -> None:
    (owner,), (number,) = (
        db.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    schema = db.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    if owner != APPLICATION_ID:
        raise StoreError(
            "foreign-database",
            f"{str(path)!r} is a database of another program and was left unchanged: "
            "use another file",
        )
    if number != FORMAT:
        writer = "another version of periodic-gp"
        if "written_by" in {name for _, name, _ in schema}:
            writer = f"periodic-gp {db.execute('SELECT version FROM written_by').fetchone()[0]}"
        raise StoreError(
            "wrong-version",
            f"{str(path)!r} was written by {writer} in format {number}, but this version reads "
            f"format {FORMAT}: use another file",
        )
    # Triggers and views of an untrusted file could modify data.
    acting = {kind for kind, _, _ in schema} & {"trigger", "view"}
    if acting or not {sql for _, _, sql in schema}.issuperset(SCHEMA):
        raise sqlite3.DatabaseError("its tables do not have the expected definitions")
    problem = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if problem != "ok":
        raise sqlite3.DatabaseError(problem)


def _remedy(doing: str, error: Exception) -> tuple[str, str]:
    """Return the error code and the remedy for an error."""
    text = str(error)
    if "full" in text or "disk I/O" in text:
        return "disk-full", (
            "the disk is full or not writable; free some space and run the same command again"
        )
    # SQLite uses one class for file-system errors and for some damaged files.
    if isinstance(error, OSError | sqlite3.OperationalError) and "decode" not in text:
        return (
            f"cannot-{doing}",
            "check that the file can be read and written, and that its folder exists",
        )
    return (
        "damaged-file",
        "the file is damaged or not a store, and was left unchanged; use another file",
    )


def _object(text: str) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        ValueError: If the text is not a JSON object.
    """
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("expected a JSON object")
    return content


def _protocol(text: str) -> dict[str, Any]:
    """Read a protocol and check that it has all fields that results require."""
    content = _object(text)
    try:
        str.strip(content["description"])
        for part, names in {"envs": ("label", "group"), "agents": ("label", "track")}.items():
            for entry in content[part]:
                str.join("", (entry[name] for name in names))
    except (LookupError, TypeError) as error:
        raise ValueError("a protocol in the store is incomplete") from error
    return content


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")


def _command_line() -> str:
    """Return the command line of this process, without the folder of the program."""
    return " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else ""
