"""Handing out runs, whoever runs them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Protocol

from evaluation.running.record import Record, checked
from evaluation.running.run import Run
from evaluation.running.worker import execute

SECONDS_PER_BATCH = 0.5
"""Short runs are handed out together until they are expected to take this long."""
MAX_RUNS_PER_BATCH = 64
DEATHS_ALLOWED = 1
"""A process may have been killed from outside: its run gets one more chance, alone."""


class BatchLostError(Exception):
    """The process of a batch is gone, and its records with it.

    Args:
        reason: Why, as the record of a run says it.
        hung: Whether it was stopped for taking too long: trying again would take as long.
    """

    def __init__(self, reason: str, hung: bool) -> None:
        super().__init__(reason, hung)
        self.reason, self.hung = reason, hung


class Executor(Protocol):
    """Somebody who runs batches of runs.

    Attributes:
        capacity: How many batches are worth handing out at a time.
    """

    capacity: int

    def submit(self, runs: Sequence[Run]) -> Future[list[Record]]:
        """Run a batch; the future may raise ``BatchLostError``."""

    def close(self) -> None:
        """Stop at once."""


def batch_seconds(runs: Sequence[Run]) -> float:
    """When a batch is stopped from outside, should its supervision have failed."""
    return sum(2.0 * run.limits.seconds + 10.0 for run in runs)


def dispatch(executor: Executor, runs: Iterable[Run]) -> Iterator[Record]:
    """Run all runs; records come as they are finished, one for every run, checked.

    A batch whose process dies costs nobody but the guilty: its runs are run again one by one.
    """
    waiting = _Waiting(runs)
    running: dict[Future[list[Record]], list[Run]] = {}
    while waiting or running:
        while waiting and len(running) < executor.capacity:
            batch = waiting.take()
            running[executor.submit(batch)] = batch
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            batch = running.pop(future)
            try:
                records = future.result()
            except BatchLostError as lost:
                yield from waiting.give_back(batch, lost)
                continue
            for run, record in zip(batch, records, strict=True):
                record = checked(record, run)
                waiting.learn(run, record)
                yield record


class _Waiting:
    """The runs that are still to run, in order, and how long their like has taken."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs = deque(runs)
        self._alone: deque[Run] = deque()
        self._deaths: dict[str, int] = {}
        self._seconds: dict[tuple[str, str], float] = {}

    def __bool__(self) -> bool:
        return bool(self._runs or self._alone)

    def take(self) -> list[Run]:
        """The next batch: one run, and more as long as they are known to be short."""
        if self._alone:
            return [self._alone.popleft()]
        batch = [self._runs.popleft()]
        expected = self._expected(batch[0])
        while self._runs and len(batch) < MAX_RUNS_PER_BATCH:
            expected += self._expected(self._runs[0])
            if expected > SECONDS_PER_BATCH:
                break
            batch.append(self._runs.popleft())
        return batch

    def _expected(self, run: Run) -> float:
        return self._seconds.get((run.env, run.agent), SECONDS_PER_BATCH)

    def learn(self, run: Run, record: Record) -> None:
        """Remember how long such a run takes."""
        self._seconds[run.env, run.agent] = record.seconds

    def give_back(self, batch: list[Run], lost: BatchLostError) -> Iterator[Record]:
        """Runs of a lost batch are run alone; the one that is lost again has failed."""
        if len(batch) > 1:
            self._alone.extend(batch)
            return
        (run,) = batch
        deaths = self._deaths[run.key] = self._deaths.get(run.key, 0) + 1
        if lost.hung or deaths > DEATHS_ALLOWED:
            yield Record(run.key, lost.reason, sources=run.sources)
        else:
            self._alone.append(run)


class InProcess:
    """Runs each batch when it is submitted. An agent that kills its process kills everything."""

    capacity = 1

    def submit(self, runs: Sequence[Run]) -> Future[list[Record]]:
        """Run a batch now."""
        future: Future[list[Record]] = Future()
        future.set_result([execute(run) for run in runs])
        return future

    def close(self) -> None:
        """There is nothing to stop."""
