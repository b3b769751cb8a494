"""The store: whole or not at all, ours or left alone."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from evaluation.database import StoreError
from evaluation.protocol import Protocol
from evaluation.record import Record, pack, unpack
from evaluation.runs import runs_of
from evaluation.store import Store
from tests.platforms import posix_only

PROTOCOL = Protocol.from_dict(
    {"name": "p", "envs": ["PeriodicGP-SyntheticDiscrete-v0"], "agents": ["random"], "seeds": "0:3"}
)
RUNS = runs_of(PROTOCOL)


def a_record(key: str, regret: float = 1.0, reason: str | None = None) -> Record:
    columns = {"t": np.arange(3), "action": np.zeros(3, dtype=int), "reward": np.ones(3)}
    columns |= {"regret": np.full(3, regret), "seconds": np.full(3, 0.1)}
    return Record(key, reason, b"" if reason else pack(columns), 0.5, {"python": "3"})


def test_round_trip(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        run = store.begin(PROTOCOL, RUNS)
        store.save(a_record(RUNS[0].key, 2.0))
        store.save(a_record(RUNS[1].key, reason="it hung"))
    with Store(tmp_path / "s.sqlite", create=False) as store:
        (again,) = store.sweeps()
        assert again == run
        assert Protocol.from_dict(again.protocol) == PROTOCOL
        assert store.size(run.id) == len(RUNS) == 6
        good, bad = sorted(store.runs(run.id), key=lambda run: run.reason is not None)
        assert (good.regret, good.steps, good.agent_seconds) == (6.0, 3, pytest.approx(0.3))
        assert bad.reason == "it hung"
        np.testing.assert_array_equal(store.columns(good.key)["regret"], [2.0] * 3)
        assert store.columns(bad.key) == {}
        assert store.machines(run.id) == [{"python": "3"}]
        assert store.finished([c.key for c in RUNS]) == {RUNS[0].key, RUNS[1].key}
        assert store.finished([c.key for c in RUNS], failures=False) == {RUNS[0].key}


def test_the_same_protocol_is_the_same_run(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        first = store.begin(PROTOCOL, RUNS)
        assert store.begin(PROTOCOL, RUNS).id == first.id
        other = PROTOCOL.restricted(seeds=[5])
        assert store.begin(other, runs_of(other)).id != first.id


def test_a_success_replaces_a_failure_and_nothing_else(tmp_path: Path) -> None:
    key = RUNS[0].key
    with Store(tmp_path / "s.sqlite") as store:
        run = store.begin(PROTOCOL, RUNS)
        for regret, reason in ((0.0, "failed"), (2.0, None), (3.0, None), (0.0, "failed again")):
            store.save(a_record(key, regret, reason))
        (run,) = store.runs(run.id)
        assert (run.regret, run.reason) == (6.0, None)


def test_columns_are_plain_numbers() -> None:
    columns = {"a": np.arange(5), "b": np.ones((5, 2))}
    again = unpack(pack(columns))
    assert all((again[name] == columns[name]).all() for name in columns)
    with pytest.raises(ValueError, match="x is not a column of numbers"):
        pack({"x": np.array([{}], dtype=object)})


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE theirs (x)")
    db.close()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda p: p.write_text("hello, this is no database at all" * 50), "damaged or no store"),
        (foreign, "is a database of something else: it is left alone"),
        (lambda p: p.write_bytes(p.read_bytes()[:5000]), "damaged or no store|malformed"),
        (lambda p: p.write_bytes(p.read_bytes()[:4096] + b"x" * 8192), "damaged or no store"),
    ],
    ids=["text", "foreign", "cut", "scribbled"],
)
def test_damaged_and_foreign_files_are_left_alone(tmp_path: Path, damage, message: str) -> None:
    path = tmp_path / "s.sqlite"
    if damage is not foreign:
        with Store(path) as store:
            store.begin(PROTOCOL, RUNS)
            store.save(a_record(RUNS[0].key))
    damage(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=message):
        Store(path)
    assert path.read_bytes() == before


def test_a_file_of_somebody_else_without_tables(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA application_id = 99")
    db.close()
    with pytest.raises(StoreError, match="is a database of something else"):
        Store(path)


def test_damaged_columns(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.begin(PROTOCOL, RUNS)
        store.save(a_record(RUNS[0].key))
        for junk in (b"junk", b""):
            store._db.execute("UPDATE steps SET columns = ?", (junk,))
            with pytest.raises(StoreError, match="damaged"):
                store.columns(RUNS[0].key)


def test_a_store_that_can_only_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.begin(PROTOCOL, RUNS)
        store.save(a_record(RUNS[0].key))
    monkeypatch.setattr(os, "access", lambda *_: False)  # as root, nothing is forbidden
    with Store(tmp_path / "s.sqlite", create=False) as store:
        assert len(store.runs(1)) == 1
        with pytest.raises(StoreError, match="cannot write"):
            store.save(a_record(RUNS[1].key))


def test_the_run_that_was_run_last_is_the_last(tmp_path: Path) -> None:
    other = PROTOCOL.restricted(seeds=[5])
    with Store(tmp_path / "s.sqlite") as store:
        first = store.begin(PROTOCOL, RUNS)
        store.begin(other, runs_of(other))
        store.begin(PROTOCOL, RUNS)
        assert store.sweeps()[-1].id == first.id


def test_a_clock_that_is_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(["2026-02-01", "2026-01-01", "2025-12-31"])
    monkeypatch.setattr("evaluation.store._now", lambda: next(times))
    other = PROTOCOL.restricted(seeds=[5])
    with Store(tmp_path / "s.sqlite") as store:
        first = store.begin(PROTOCOL, RUNS)
        assert store.begin(other, runs_of(other)).id == store.sweeps()[-1].id
        assert store.begin(PROTOCOL, RUNS).id == store.sweeps()[-1].id == first.id


def test_another_format(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match="has the format 99, this version writes 3"):
        Store(path)


def test_no_such_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no store .* make one with: periodic-gp run"):
        Store(tmp_path / "s.sqlite", create=False)
    with pytest.raises(StoreError, match="its folder is there"):
        Store(tmp_path / "nowhere" / "s.sqlite")


def test_a_store_that_nobody_closes_is_closed_in_silence(tmp_path: Path) -> None:
    """Python 3.13 warns of connections that are left open; warnings are errors here."""
    code = "from evaluation.store import Store; store = Store(); del store"
    done = subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", "-c", code],
        **{"capture_output": True, "text": True, "check": True},
    )
    assert "unclosed database" not in done.stderr
    path = tmp_path / "s.sqlite"
    left = Store(path)
    connection = left._db
    connection.__del__()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


FULL_DISK = """
import resource, sys
from tests.test_evaluation.test_store import RUNS, PROTOCOL, a_record
from evaluation.database import StoreError
from evaluation.store import Store
import numpy as np
from evaluation.record import Record
store = Store(sys.argv[1])
store.begin(PROTOCOL, RUNS)
store.save(a_record(RUNS[0].key))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
rng = np.random.default_rng(0)
try:
    for run in RUNS[1:]:
        store.save(Record.of(run.key, {"t": np.arange(3), "regret": rng.random(20_000)}))
except StoreError as error:
    print(error)
    sys.exit(7)
"""


@posix_only
def test_a_full_disk(tmp_path: Path) -> None:
    """A limit on the size of files: as if the disk were full."""
    path = tmp_path / "s.sqlite"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 7, done.stderr
    assert "the disk is full or cannot be written" in done.stdout
    assert "run the same command again" in done.stdout
    with Store(path, create=False) as store:  # whole, with what was finished before
        (run,) = store.sweeps()
        assert RUNS[0].key in {run.key for run in store.runs(run.id)}
        store.save(a_record(RUNS[1].key))


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    code = (
        "import sys\n"
        "from tests.test_evaluation.test_store import *\n"
        "store = Store(sys.argv[1])\n"
        "store.begin(PROTOCOL, RUNS)\n"
        "for i in range(60): store.save(a_record(f'{sys.argv[2]}-{i % 40}'))\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in ("a", "a", "b")
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    with Store(path, create=False) as store:
        keys = {f"{name}-{i}" for name in "ab" for i in range(40)}
        assert store.finished(keys) == keys
        assert len(store.sweeps()) == 1


def test_run_protocol_is_json(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        run = store.begin(PROTOCOL, RUNS)
    assert json.dumps(run.protocol)


def test_a_store_that_is_just_being_begun_is_waited_for(tmp_path) -> None:
    path = tmp_path / "s.sqlite"
    path.touch()
    timer = threading.Timer(0.3, lambda: Store(path).close())
    timer.start()
    with Store(path, create=False) as store:
        assert store.sweeps() == []
    timer.join()
