"""The ledger of a batch: what a worker has done is known, however it ended."""

from pathlib import Path

import numpy as np
import pytest

from evaluation.running.ledger import Ledger, read
from evaluation.running.record import Record, pack
from evaluation.running.run import runs_of

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
    (tmp_path / "ledger").write_bytes(said)
    records, begun = read(tmp_path / "ledger", RUNS)
    assert records == []
    assert begun == said.startswith(b"B")


def test_a_worker_that_never_wrote_has_begun_nothing(tmp_path: Path) -> None:
    assert read(tmp_path / "ledger", RUNS) == ([], 0)
