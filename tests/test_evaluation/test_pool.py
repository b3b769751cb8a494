"""Nobody waits for a batch that nobody answers for."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from evaluation.running.executors import Pool, pool, starting
from evaluation.running.executors.base import BatchLostError
from evaluation.running.ledger import Ledger
from evaluation.runs import runs_of

from .test_sweep import protocol

RUNS = runs_of(protocol("random", seeds="0:2"))


class Silent:
    """A pool that never answers."""

    def __init__(self, *, active: bool = True, owner: int | None = None, breaks: bool = False):
        self.active, self.owner, self.breaks = active, owner, breaks

    def schedule(self, function: Any, args: Any = (), timeout: Any = None) -> Future[Any]:
        if self.breaks:
            self.active = False
            raise RuntimeError("Unexpected error within the Pool")
        if self.owner is not None:
            with Ledger(args[1]) as ledger:
                ledger.begin()
            content = Path(args[1]).read_bytes()
            Path(args[1]).write_bytes(self.owner.to_bytes(8, "little") + content[8:])
        return Future()

    def stop(self) -> None:
        self.active = False

    def join(self) -> None:
        """It has no processes."""


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setattr(pool, "MAX_FREE_LOOKS", 20)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The pools that are made, one after the other."""
    pools: list[Any] = []
    monkeypatch.setattr(pool, "worker_pool", lambda workers: pools.pop(0))
    return pools


def loss(made: list[Any], silent: Silent) -> BatchLostError:
    made += [silent, Silent()]
    tested = Pool(1)
    try:
        with pytest.raises(BatchLostError) as raised:
            tested.submit(RUNS).result(60)
        return raised.value
    finally:
        tested.close()


def test_a_pool_that_breaks_gives_its_batches_back(made: list[Any]) -> None:
    class Breaks(Silent):
        def schedule(self, *args: Any, **settings: Any) -> Future[Any]:
            self.active = False
            return Future()

    assert loss(made, Breaks()).begun == 0
    assert loss(made, Silent(breaks=True)).begun == 0


def test_a_batch_that_no_worker_begins_is_given_back(made: list[Any]) -> None:
    assert loss(made, Silent()).begun == 0


def test_a_batch_whose_process_is_dead_is_lost(made: list[Any]) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(60)
    assert loss(made, Silent(owner=ended.pid)).begun == 1


def test_a_batch_that_is_at_work_is_waited_for(made: list[Any]) -> None:
    made += [Silent(owner=os.getpid())]
    tested = Pool(1)
    try:
        future = tested.submit(RUNS)
        with pytest.raises(TimeoutError):
            future.result(1.0)  # a hundred looks
    finally:
        tested.close()


def test_a_pool_that_breaks_while_it_starts_is_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = [Silent(active=False), Silent(active=False)]
    whole = starting.ProcessPool

    def next_pool(*args: Any, **settings: Any) -> Any:
        return made.pop(0) if made else whole(*args, **settings)

    monkeypatch.setattr(starting, "ProcessPool", next_pool)
    started = starting.worker_pool(1)
    try:
        assert starting.answer_of(started, started.schedule(os.getpid)) != os.getpid()
    finally:
        starting.stop(started)
    assert not made


def test_the_answers_own_error_is_raised() -> None:
    answer: Future[Any] = Future()
    answer.set_exception(TimeoutError("its own"))
    with pytest.raises(TimeoutError, match="its own"):
        starting.answer_of(Silent(), answer)
    with pytest.raises(BrokenProcessPool):
        starting.answer_of(Silent(active=False), Future())
