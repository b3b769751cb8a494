"""The store's file: how it is begun, recognised and written."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

APPLICATION_ID = 0x50475053  # "PGPS" in the header of the file: this is ours
FORMAT = 2
MAX_WAIT_SECONDS = 60.0
"""How long another process may be writing."""
MAX_BEGIN_SECONDS = 2.0
"""How long another process may be beginning the file."""

_SCHEMA = """
CREATE TABLE machines (id INTEGER PRIMARY KEY, about TEXT UNIQUE NOT NULL);
CREATE TABLE runs (
    key TEXT PRIMARY KEY, reason TEXT, steps INTEGER NOT NULL, regret REAL, agent_seconds REAL,
    seconds REAL NOT NULL, finished TEXT NOT NULL, machine INTEGER NOT NULL REFERENCES machines,
    sources TEXT NOT NULL, columns BLOB, columns_checksum INTEGER NOT NULL,
    checksum INTEGER NOT NULL
);
CREATE TABLE sweeps (
    id INTEGER PRIMARY KEY, hash TEXT NOT NULL, name TEXT NOT NULL, protocol TEXT NOT NULL,
    data TEXT NOT NULL, command TEXT NOT NULL, started TEXT NOT NULL
);
CREATE TABLE sweep_runs (
    sweep INTEGER NOT NULL REFERENCES sweeps, key TEXT NOT NULL, env TEXT NOT NULL,
    agent TEXT NOT NULL, track TEXT NOT NULL, seed INTEGER NOT NULL,
    PRIMARY KEY (sweep, env, track, agent, seed)
);
"""


class StoreError(Exception):
    """A store that cannot be used: one sentence that says why and what to do."""


def open_existing(path: Path) -> sqlite3.Connection:
    """Whatever is there, for reading; a copy on a read-only disk will do."""
    place = path.resolve().as_uri()
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    mode = "mode=rw" if writable else "mode=ro&immutable=1"
    db = sqlite3.connect(f"{place}?{mode}", timeout=MAX_WAIT_SECONDS, uri=True)
    db.isolation_level = None
    end = time.monotonic() + MAX_BEGIN_SECONDS
    while _is_blank(db) and time.monotonic() < end:
        time.sleep(0.02)
    _check(db, path)
    return db


def _is_blank(db: sqlite3.Connection) -> bool:
    """A file without tables and owner is new: another process may be just beginning it."""
    tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return not tables and not db.execute("PRAGMA application_id").fetchone()[0]


def open_or_begin(path: Path | None) -> sqlite3.Connection:
    """A store to write into, begun anew where there is none; in memory without a path."""
    db = sqlite3.connect(path or ":memory:", timeout=MAX_WAIT_SECONDS)
    db.isolation_level = None  # transactions are written out below
    if not _is_blank(db):
        _check(db, path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    with transaction(db):
        # Asked again under the lock: another process may have begun the same file.
        if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {FORMAT}")
            for statement in filter(str.strip, _SCHEMA.split(";")):
                db.execute(statement)
    _check(db, path)
    return db


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
    problem = db.execute("PRAGMA quick_check(1)").fetchone()[0]
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
