"""The store's file: how it is begun, recognised, written and read.

Every row ends in a checksum over the rest of it, and is read no other way than with it: a flipped
bit must not go unseen. SQLite itself checks nothing but how its pages hang together.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from evaluation.wal import is_damaged, log_of

APPLICATION_ID = 0x50475053  # "PGPS" in the header of the file: this is ours
FORMAT = 3
MAX_WAIT_SECONDS = 60.0
"""How long another process may be writing."""
MAX_BEGIN_SECONDS = 2.0
"""How long another process may be beginning the file."""
MAX_COPIED_BYTES = 2**32
"""Of a store that can only be read once it is copied."""

TABLES = {
    "machines": {"key": "TEXT PRIMARY KEY", "about": "TEXT NOT NULL"},
    "runs": {
        "key": "TEXT PRIMARY KEY",
        "reason": "TEXT",
        "steps": "INTEGER NOT NULL",
        "regret": "REAL",
        "agent_seconds": "REAL",
        "seconds": "REAL NOT NULL",
        "finished": "TEXT NOT NULL",
        "machine": "TEXT NOT NULL REFERENCES machines",
        "sources": "TEXT NOT NULL",
    },
    "steps": {"key": "TEXT PRIMARY KEY REFERENCES runs", "columns": "BLOB NOT NULL"},
    "sweeps": {
        "id": "INTEGER PRIMARY KEY",
        "turn": "INTEGER UNIQUE NOT NULL",
        "hash": "TEXT NOT NULL",
        "name": "TEXT NOT NULL",
        "protocol": "TEXT NOT NULL",
        "data": "TEXT NOT NULL",
        "command": "TEXT NOT NULL",
        "started": "TEXT NOT NULL",
    },
    "sweep_runs": {
        "sweep": "INTEGER NOT NULL REFERENCES sweeps",
        "env": "TEXT NOT NULL",
        "track": "TEXT NOT NULL",
        "agent": "TEXT NOT NULL",
        "seed": "INTEGER NOT NULL",
        "key": "TEXT NOT NULL",
    },
}
"""The columns of each table; a checksum follows."""
_PRIMARY_KEYS = {"sweep_runs": ", PRIMARY KEY (sweep, env, track, agent, seed)"}
_SCHEMA = [
    f"CREATE TABLE {table} ({', '.join(map(' '.join, columns.items()))}, checksum INTEGER NOT NULL"
    f"{_PRIMARY_KEYS.get(table, '')})"
    for table, columns in TABLES.items()
]


class StoreError(Exception):
    """A store that cannot be used: one sentence that says why and what to do."""


def open_existing(path: Path) -> sqlite3.Connection:
    """Whatever is there, for reading; a copy on a read-only disk will do."""
    _check_log(path)
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        db = _connected(f"{path.resolve().as_uri()}?mode=rw")
    elif _size(log_of(path)):
        db = _copied(path)
    else:
        db = _connected(f"{path.resolve().as_uri()}?mode=ro&immutable=1")
    end = time.monotonic() + MAX_BEGIN_SECONDS
    while _is_blank(db) and time.monotonic() < end:
        time.sleep(0.02)
    _check(db, path)
    return db


class _Connection(sqlite3.Connection):
    """Closed when nobody has it any more, without a warning (as Python 3.13 gives): in a notebook
    results are read as long as they are there, and nobody closes them."""

    def __del__(self) -> None:
        with contextlib.suppress(sqlite3.Error):  # from another thread: Python closes it then
            self.close()


def _connected(place: str) -> sqlite3.Connection:
    db = sqlite3.connect(place, timeout=MAX_WAIT_SECONDS, uri=True, factory=_Connection)
    db.isolation_level = None  # transactions are written out
    return db


def _copied(path: Path) -> sqlite3.Connection:
    """A private copy, for reading: SQLite cannot apply a log to a file that it may not write.

    Without its log the file would be an older state of itself, and nobody would notice.
    """
    log = log_of(path)
    size = _size(path) + _size(log)
    if size > MAX_COPIED_BYTES or 2 * size > shutil.disk_usage(tempfile.gettempdir()).free:
        raise StoreError(
            f"the store {str(path)!r} cannot be written, and its last runs are still in "
            f"{str(log)!r}; {size >> 20:,} MB are too many to be read elsewhere: copy both files "
            "to a folder that can be written"
        )
    with tempfile.TemporaryDirectory(prefix="periodic-gp-") as folder:
        for file in (path, log):
            shutil.copyfile(file, Path(folder, f"store{file.name.removeprefix(path.name)}"))
        whole = _connected(Path(folder, "store").as_uri())
        with contextlib.closing(whole):
            db = _connected("")  # a temporary file that SQLite removes, whatever happens
            whole.backup(db)
    db.execute("PRAGMA query_only = ON")
    return db


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _is_blank(db: sqlite3.Connection) -> bool:
    """A file without tables and owner is new: another process may be just beginning it."""
    tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return not tables and not db.execute("PRAGMA application_id").fetchone()[0]


def open_or_begin(path: Path | None) -> sqlite3.Connection:
    """A store to write into, begun anew where there is none; in memory without a path."""
    if path is not None:
        _check_log(path)
    db = _connected(":memory:" if path is None else path.resolve().as_uri())
    if not _is_blank(db):
        _check(db, path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")  # what counts as finished survives a power cut
    db.execute("PRAGMA cache_spill = OFF")  # or a frame of the log may be written twice
    with transaction(db):
        # Asked again under the lock: another process may have begun the same file.
        if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {FORMAT}")
            for statement in _SCHEMA:
                db.execute(statement)
    _check(db, path)
    return db


def _check_log(path: Path) -> None:
    log = log_of(path)
    if is_damaged(log):
        raise StoreError(
            f"the last runs of the store {str(path)!r} are in {str(log)!r}, which is damaged: "
            "remove that file to go on without them, or use another store"
        )


def _check(db: sqlite3.Connection, path: Path | None) -> None:
    """Refuse a file that is not a store of ours, before anything is written."""
    ours = db.execute("PRAGMA application_id").fetchone()[0]
    found = db.execute("PRAGMA user_version").fetchone()[0]
    if ours != APPLICATION_ID:
        raise StoreError(f"{str(path)!r} is a database of something else: it is left alone")
    if found != FORMAT:
        raise StoreError(
            f"{str(path)!r} has the format {found}, this version writes {FORMAT}: use another file"
        )
    schema = db.execute("SELECT type, sql FROM sqlite_master").fetchall()
    # A stranger's triggers and views would act in our name.
    acting = {kind for kind, _ in schema} & {"trigger", "view"}
    if acting or not {sql for _, sql in schema}.issuperset(_SCHEMA):
        raise sqlite3.DatabaseError("its tables have changed")
    problem = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if problem != "ok":
        raise sqlite3.DatabaseError(problem)


@contextlib.contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def insert(
    db: sqlite3.Connection, table: str, rows: Iterable[Sequence[Any]], *, replace: bool = False
) -> None:
    """Write rows with their checksums; those that are there already stay, or are replaced."""
    marks = ", ".join("?" * (len(TABLES[table]) + 1))
    db.executemany(
        f"INSERT OR {'REPLACE' if replace else 'IGNORE'} INTO {table} VALUES ({marks})",
        ((*row, _checksum(table, row)) for row in rows),
    )


def select(
    db: sqlite3.Connection, table: str, where: str = "", values: Sequence[Any] = ()
) -> Iterator[list[Any]]:
    """Rows as they were written.

    Raises:
        sqlite3.DatabaseError: If one is not what was written.
    """
    names = ", ".join(TABLES[table])
    for *row, checksum in db.execute(f"SELECT {names}, checksum FROM {table} {where}", values):
        if checksum != _checksum(table, row):
            raise sqlite3.DatabaseError(f"a row of its table {table!r} has changed")
        yield row


def _checksum(table: str, row: Sequence[Any]) -> int:
    """Of the values as JSON, which is the same in every version of Python."""
    plain = [zlib.crc32(value) if isinstance(value, bytes) else value for value in row]
    return zlib.crc32(json.dumps([table, *plain]).encode())
