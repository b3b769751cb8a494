"""A damaged store says so, or shows what it would have shown: never other numbers."""

import contextlib
import os
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from evaluation import database, wal
from evaluation.database import TABLES, StoreError
from evaluation.store import Store
from evaluation.wal import is_damaged, log_of
from tests.test_evaluation.stores import OTHER, PROTOCOL, RUNS, a_record, copy, fill, shown

FLIPS = 200
"""Of each file."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("whole") / "s.sqlite")


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("crashed") / "s.sqlite", crashed=True)


def altered(value: Any) -> Any:
    return (
        b"x" + value if isinstance(value, bytes) else f"x{value}" if isinstance(value, str) else 9
    )


VALUES = [(t, c) for t, columns in TABLES.items() for c in [*columns, "checksum"]]
# A row that somebody moves to another sweep, in table and index alike, is edited and not damaged.
VALUES.remove(("sweep_runs", "sweep"))


@pytest.mark.parametrize(("table", "column"), VALUES)
def test_every_value_of_every_row_is_guarded(
    whole: Path, tmp_path: Path, table: str, column: str
) -> None:
    path = tmp_path / "s.sqlite"
    copy(whole, path)
    with sqlite3.connect(path) as db:
        (number, value), *_ = db.execute(f"SELECT rowid, {column} FROM {table}")
        db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (altered(value), number))
    db.close()
    with pytest.raises(StoreError, match=r"\((a row of its .*changed|its steps are missing)\)"):
        shown(path)


@pytest.mark.parametrize("kind", ["file", "file beside a log", "log"])
def test_a_flipped_byte_is_seen_or_harmless(
    whole: Path, crashed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(wal, "SECONDS_BETWEEN_LOOKS", 0.0)
    source, path = whole if kind == "file" else crashed, tmp_path / "s.sqlite"
    copy(source, path)
    right = [shown(path)]
    damaged = log_of(path) if kind == "log" else path
    if kind == "log":  # a last transaction that is not whole cannot be told from one never finished
        copy(source, path)
        damaged.write_bytes(damaged.read_bytes()[:-1])
        right.append(shown(path))
    rng, seen = random.Random(0), 0
    for _ in range(FLIPS):
        copy(source, path)
        data = bytearray(damaged.read_bytes())
        place, change = (
            rng.choice([i for i, byte in enumerate(data) if byte]),
            rng.randrange(1, 256),
        )
        data[place] ^= change
        damaged.write_bytes(data)
        try:
            assert shown(path) in right, (place, change)
        except StoreError:
            seen += 1
    assert seen > FLIPS // 2 if kind == "log" else seen


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{}", "a protocol of it is incomplete"),
        ('{"description": "", "envs": [{}], "agents": []}', "a protocol of it is incomplete"),
        ("[1]", "what should be plain data is not"),
        ("{", "Expecting property name"),
    ],
)
def test_a_protocol_that_is_none(whole: Path, tmp_path: Path, text: str, sentence: str) -> None:
    """Somebody's own work, with a checksum of its own."""
    path = tmp_path / "s.sqlite"
    copy(whole, path)
    with Store(path) as store:
        (row, *_) = database.select(store._db, "sweeps")
        row[4] = text
        database.insert(store._db, "sweeps", [row], replace=True)
    with pytest.raises(StoreError, match=f"cannot read the store .*{sentence}.*damaged"):
        shown(path)


def test_what_another_sqlite_added_does_no_harm(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    copy(whole, path)
    with sqlite3.connect(path) as db:
        db.execute("CREATE INDEX mine ON runs (finished)")
    db.close()
    assert shown(path) == shown(whole)


# --- logs ------------------------------------------------------------------------------------


@pytest.fixture
def only_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    """As root, nothing is forbidden."""
    monkeypatch.setattr(os, "access", lambda *_: False)


@pytest.mark.usefixtures("only_readable")
def test_a_log_on_a_disk_that_can_only_be_read(crashed: Path, tmp_path: Path) -> None:
    """Without it, the store would be an older one."""
    path = tmp_path / "s.sqlite"
    copy(crashed, path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with Store(path, create=False) as store:
        assert [sweep.name for sweep in store.sweeps()] == [PROTOCOL.name, OTHER.name]
        assert len(store.runs(1)) == len(RUNS) - 1
        with pytest.raises(StoreError, match="cannot write"):
            store.save(a_record(RUNS[-1]))
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.usefixtures("only_readable")
def test_a_log_that_is_too_large_to_be_read_elsewhere(
    crashed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy(crashed, tmp_path / "s.sqlite")
    monkeypatch.setattr(database, "MAX_COPIED_BYTES", 1000)
    with pytest.raises(StoreError, match=r"its last runs are still in .*copy both files"):
        Store(tmp_path / "s.sqlite", create=False)


def test_a_damaged_log_is_left_alone(crashed: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    copy(crashed, path)
    log = log_of(path)
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    for create in (True, False):
        with pytest.raises(StoreError, match="which is damaged: remove that file to go on without"):
            Store(path, create=create)
    assert log.read_bytes() == data
    log.unlink()
    assert [sweep.name for sweep in Store(path).sweeps()] == [PROTOCOL.name]


@pytest.mark.parametrize("share", [0.0, 0.0001, 0.3, 0.5, 0.99])
def test_a_log_that_was_cut_by_a_crash_is_no_damage(
    crashed: Path, tmp_path: Path, share: float
) -> None:
    path = tmp_path / "s.sqlite"
    copy(crashed, path)
    log = log_of(path)
    log.write_bytes(log.read_bytes()[: int(share * log.stat().st_size)])
    with Store(path) as store:
        store.begin(PROTOCOL, RUNS)
        assert RUNS[0].key in store.finished([run.key for run in RUNS])


def test_frames_of_an_older_log_are_no_damage(tmp_path: Path) -> None:
    """Once its content is in the file, a log is written anew from its start, and never cut."""
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        for turn in range(3):
            store.begin(PROTOCOL, RUNS)
            for run in RUNS[: 4 - turn]:
                store.save(a_record(run))
                assert not is_damaged(log_of(path))
            store._db.execute("PRAGMA wal_checkpoint(RESTART)")
        store.begin(OTHER, RUNS)
        assert not is_damaged(log_of(path))
        copy(path, tmp_path / "copy.sqlite")
        assert shown(tmp_path / "copy.sqlite") == shown(path)


def test_a_strangers_trigger_is_refused(tmp_path: Path) -> None:
    """It would act in our name: here it makes every regret 0."""
    path = tmp_path / "s.sqlite"
    Store(path).close()
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TRIGGER t AFTER INSERT ON runs BEGIN UPDATE runs SET regret = 0; END")
        db.commit()
    for create in (True, False):
        with pytest.raises(StoreError, match="its tables have changed"):
            Store(path, create=create)
