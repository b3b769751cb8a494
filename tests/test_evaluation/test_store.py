"""The store: records are written entirely or not at all, and damage is reported."""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evaluation.protocol import Protocol
from evaluation.store import Store, StoreError, log_of
from tests.errors import raises
from tests.platforms import posix_only
from tests.test_evaluation.stores import OTHER, PROTOCOL, RUNS, a_record, copy, fill, read_all

KEYS = [run.key for run in RUNS]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("whole") / "s.sqlite")


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("crashed") / "s.sqlite", crashed=True)


def edit(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def test_store_returns_what_was_saved(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        sweep = store.begin(PROTOCOL, RUNS)
        store.save(a_record(RUNS[2], 2.0))
        store.save(a_record(RUNS[1], reason="it hung"))
    with Store(tmp_path / "s.sqlite", create=False) as store:
        (again,) = store.sweeps()
        assert again == sweep == store.find("p") == store.find(1)
        assert Protocol.from_dict(json.loads(json.dumps(again.protocol))) == PROTOCOL
        assert store.size(sweep.id) == len(RUNS) == 6
        good, bad = sorted(store.runs(sweep.id), key=lambda run: run.reason is not None)
        assert (good.regret, good.steps, good.agent_seconds) == (6.0, 3, pytest.approx(0.6))
        assert bad.reason == "it hung"
        np.testing.assert_array_equal(store.columns(good.key)["regret"], [2.0] * 3)
        assert store.columns(bad.key) == store.columns("unknown") == {}
        assert store.machines(sweep.id) == [{"python": "3"}]
        assert store.finished(KEYS) == set(KEYS[1:3])
        assert store.finished(KEYS, failures=False) == {KEYS[2]}


def test_store_replaces_a_failure_by_a_success_and_nothing_else(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        sweep = store.begin(PROTOCOL, RUNS)
        for regret, reason in ((0.0, "failed"), (2.0, None), (3.0, None), (0.0, "failed again")):
            store.save(a_record(RUNS[2], regret, reason))
        (run,) = store.runs(sweep.id)
        assert (run.regret, run.reason) == (6.0, None)


def test_store_continues_sweeps_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(["2026-02-01", "2026-01-01", "2025-12-31"])  # the clock is set back
    monkeypatch.setattr("evaluation.store._now", lambda: next(times))
    with Store(tmp_path / "s.sqlite") as store:
        first = store.begin(PROTOCOL, RUNS)
        assert store.begin(OTHER, RUNS[:1]).id == store.sweeps()[-1].id
        assert store.begin(PROTOCOL, RUNS).id == store.sweeps()[-1].id == first.id


# --- other files, other versions, damage


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        (None, "damaged-file"),
        ("CREATE TABLE theirs (x)", "foreign-database"),
        ("PRAGMA application_id = 99", "foreign-database"),
    ],
)
@pytest.mark.parametrize("create", [True, False])
def test_store_leaves_other_files_unchanged(
    tmp_path: Path, statement: str | None, code: str, create: bool
) -> None:
    path = tmp_path / "s.sqlite"
    path.write_text("" if statement else "hello, this is not a database" * 50)
    if statement:
        edit(path, statement)
    before = path.read_bytes()
    with raises(StoreError, code):
        Store(path, create=create)
    assert path.read_bytes() == before


def test_store_names_the_version_that_wrote_another_format(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    Store(path).close()
    edit(path, "PRAGMA user_version = 99", "UPDATE written_by SET version = '7.1'")
    with raises(StoreError, "wrong-version") as caught:
        Store(path)
    assert "7.1" in str(caught.value)
    edit(path, "DROP TABLE written_by")
    with raises(StoreError, "wrong-version"):
        Store(path)


@pytest.mark.parametrize("size", [5000, 4096])
def test_store_reports_a_file_that_was_cut_or_overwritten(
    whole: Path, tmp_path: Path, size: int
) -> None:
    path = tmp_path / "s.sqlite"
    data = whole.read_bytes()
    path.write_bytes(data[:size] + (b"" if size == 5000 else b"x" * (len(data) - size)))
    with raises(StoreError, "damaged-file"):
        Store(path)


@pytest.mark.parametrize("log", [False, True])
def test_store_reports_a_flipped_byte_or_reads_on(
    whole: Path, crashed: Path, tmp_path: Path, log: bool
) -> None:
    """The steps that can be read are those that were saved."""
    path, source = tmp_path / "s.sqlite", crashed if log else whole
    damaged = log_of(path) if log else path
    with Store(whole) as store:
        right = {key: store.packed(key) for key in KEYS}
    rng, reported = random.Random(0), 0
    for _ in range(50):
        copy(source, path)
        data = bytearray(damaged.read_bytes())
        data[rng.choice([i for i, byte in enumerate(data) if byte])] ^= rng.randrange(1, 256)
        damaged.write_bytes(data)
        try:
            read_all(path)
            with Store(path, create=False) as store:
                for key in KEYS:
                    assert store.packed(key) in (None, right[key])
        except StoreError:
            reported += 1
    assert reported or log  # SQLite drops transactions of its log that are damaged


@pytest.mark.parametrize(
    "statement",
    [
        *(
            f"UPDATE runs SET columns = {columns} WHERE key = '{KEYS[0]}'"
            for columns in (
                "x'6a756e6b'",
                "x''",
                f"(SELECT columns FROM runs WHERE key = '{KEYS[1]}')",
            )
        ),
        *(
            f"UPDATE sweeps SET protocol = '{text}'"
            for text in ("{}", '{"description": "", "envs": [{}], "agents": []}', "[1]", "{")
        ),
        "CREATE TRIGGER t AFTER INSERT ON runs BEGIN UPDATE runs SET regret = 0; END",
    ],
)
@pytest.mark.parametrize("create", [True, False])
def test_store_reports_changed_tables(
    whole: Path, tmp_path: Path, statement: str, create: bool
) -> None:
    path = tmp_path / "s.sqlite"
    copy(whole, path)
    edit(path, statement)
    with raises(StoreError, "damaged-file"), Store(path, create=create) as store:
        read_all(store.path)


# --- disks and processes


def test_store_can_be_read_where_it_cannot_be_written(
    whole: Path, crashed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy(whole, tmp_path / "whole.sqlite")
    copy(crashed, tmp_path / "crashed.sqlite")
    monkeypatch.setattr(os, "access", lambda *_: False)  # as root, nothing is forbidden
    with Store(tmp_path / "whole.sqlite", create=False) as store:
        assert len(store.runs(1)) == len(RUNS) - 1
        with raises(StoreError, "cannot-write"):
            store.save(a_record(RUNS[-1]))
    # Without its log, the store would be an older one.
    with raises(StoreError, "pending-log"):
        Store(tmp_path / "crashed.sqlite", create=False)


def test_store_opens_after_a_crash(crashed: Path, tmp_path: Path) -> None:
    copy(crashed, tmp_path / "s.sqlite")
    with Store(tmp_path / "s.sqlite", create=False) as store:
        assert [sweep.name for sweep in store.sweeps()] == [PROTOCOL.name, OTHER.name]
        assert len(store.runs(1)) == len(RUNS) - 1


WRITER = """
import sys
from tests.test_evaluation.stores import *
from dataclasses import replace
store = Store(sys.argv[1])
store.begin(PROTOCOL, RUNS)
for i in range(int(sys.argv[3])):
    store.save(replace(a_record(RUNS[2]), key=f"{sys.argv[2]}-{i % 40}"))
    print(i, flush=True)
"""


def writer(path: Path, name: str, count: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WRITER, str(path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_store_takes_concurrent_writers(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    writers = [writer(path, name, 60) for name in ("a", "a", "b")]
    for each in writers:
        each.communicate(timeout=120)
    assert [each.returncode for each in writers] == [0, 0, 0]
    with Store(path, create=False) as store:
        keys = {f"{name}-{i}" for name in "ab" for i in range(40)}
        assert store.finished(keys) == keys
        assert len(store.sweeps()) == 1


@posix_only
def test_store_keeps_saved_records_after_kill(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    for total, name in enumerate("abc"):
        process = writer(path, name, 10**6)
        for _ in range(5 + 3 * total):
            last = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        with Store(path, create=False) as store:
            keys = {f"{name}-{i}" for i in range(min(last + 1, 40))}
            assert store.finished(keys) == keys
            assert all(store.columns(key)["regret"].sum() == 3.0 for key in keys)


FULL_DISK = """
import resource, sys
from tests.test_evaluation.stores import *
from evaluation.store import StoreError
store = Store(sys.argv[1])
store.begin(PROTOCOL, RUNS)
store.save(a_record(RUNS[0]))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
rng = np.random.default_rng(0)
try:
    for run in RUNS[1:]:
        store.save(Record.of(run.key, {"t": np.arange(3), "regret": rng.random(20_000)}))
except StoreError as error:
    sys.exit(error.code)
"""


@posix_only
def test_store_is_whole_after_the_disk_was_full(tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk."""
    path = tmp_path / "s.sqlite"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[0] == "disk-full"  # coverage reports the full disk, too
    with Store(path, create=False) as store:
        (sweep,) = store.sweeps()
        assert RUNS[0].key in {run.key for run in store.runs(sweep.id)}
        store.save(a_record(RUNS[1]))


def test_store_that_is_not_closed_gives_no_warning() -> None:
    """Python 3.13 warns of connections that are left open."""
    code = "from evaluation.store import Store; store = Store(); del store"
    done = subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", "-c", code],
        **{"capture_output": True, "text": True, "check": True},
    )
    assert "unclosed database" not in done.stderr
