"""The ledger of a batch: what a worker has done is known, however it ended."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evaluation.record import Record, pack
from evaluation.running.ledger import Ledger, close, owner, read
from evaluation.runs import runs_of

from .test_sweep import protocol

RUNS = runs_of(protocol("random", seeds="0:2"))


def record(number: int) -> Record:
    columns = {"t": np.arange(3), "regret": np.full(3, float(number))}
    return Record(RUNS[number].key, None, pack(columns), 0.5, {"python": "3"}, "s")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Ledger(tmp_path / "ledger") as ledger:
        for number in range(3):
            ledger.begin()
            ledger.finish(record(number) if number < 2 else Record(RUNS[2].key, "why", sources="s"))
        ledger.begin()
    return tmp_path / "ledger"


def test_what_was_finished_and_begun_is_read(path: Path) -> None:
    records, begun = read(path, RUNS)
    assert [r.key for r in records] == [run.key for run in RUNS[:3]]
    assert records[:2] == [record(0), record(1)]
    assert (records[2].reason, begun) == ("why", 4)


def test_a_ledger_may_end_anywhere(path: Path) -> None:
    """A worker is killed while it writes: what was whole before is there, the rest was begun."""
    content = path.read_bytes()
    seen = set()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        records, begun = read(path, RUNS)
        assert records == read_whole(records)
        assert begun - len(records) in (0, 1)
        seen.add((len(records), begun))
    assert seen == {(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3), (3, 3)}


def read_whole(records: list[Record]) -> list[Record]:
    whole = [record(0), record(1), Record(RUNS[2].key, "why", sources="s")]
    return whole[: len(records)]


@pytest.mark.parametrize(
    "said", [b"B" + b"\xff" * 40, b"B" + bytes([2] + [0] * 15) + b"{}", b"x", b""]
)
def test_nonsense_is_no_record(tmp_path: Path, said: bytes) -> None:
    (tmp_path / "ledger").write_bytes(bytes(8) + said)
    records, begun = read(tmp_path / "ledger", RUNS)
    assert records == []
    assert begun == said.startswith(b"B")


def test_a_worker_that_never_wrote_has_begun_nothing(tmp_path: Path) -> None:
    assert read(tmp_path / "ledger", RUNS) == ([], 0)


def test_a_batch_that_was_given_back_is_not_begun(tmp_path: Path) -> None:
    """Its task may still be on the way to a worker: no world is shown to an agent twice."""
    path = tmp_path / "ledger"
    assert owner(path) is None
    assert close(path, RUNS) == ([], 0)
    with pytest.raises(FileExistsError):
        Ledger(path)


def test_a_worker_at_a_batch_that_is_given_back_is_ended(path: Path) -> None:
    """It would begin the runs after the one that it is at."""
    assert owner(path) == os.getpid()
    worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    path.write_bytes(worker.pid.to_bytes(8, "little") + path.read_bytes()[8:])
    records, begun = close(path, RUNS)
    assert worker.wait(60) != 0
    assert (len(records), begun) == (3, 4)
    assert not path.exists()


def test_a_worker_that_has_finished_its_batch_goes_on(path: Path) -> None:
    assert len(close(path, RUNS[:3])[0]) == 3  # or this process would be gone
