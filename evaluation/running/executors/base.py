"""Handing out runs, whoever runs them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Protocol

from evaluation.errors import UserError
from evaluation.record import Record, checked
from evaluation.running.worker import execute_here
from evaluation.runs import Run

SECONDS_PER_BATCH = 0.5
"""Short runs are handed out together until they are expected to take this long."""
MAX_RUNS_PER_BATCH = 64
MAX_IDLE_DEATHS = 3
"""So many processes in a row may die before they begin anything."""


class BatchLostError(Exception):
    """The process of a batch is gone.

    Args:
        reason: Why, as the record of the run that it was at says it.
        finished: The records of the runs that it had finished, in order.
        begun: How many of its runs had been started; none of these is started again.
    """

    def __init__(self, reason: str, finished: Sequence[Record] = (), begun: int = 0) -> None:
        super().__init__(reason, finished, begun)
        self.reason, self.finished, self.begun = reason, finished, begun


class ClusterLostError(Exception):
    """A part of a cluster is gone with a batch, and nobody knows how far it was: why.

    It is nobody's failure, so nothing is stored of these runs, and none of them is started again
    by this sweep.
    """


class SweepStoppedError(UserError):
    """The sweep could not go on or is not complete: one sentence that says why and what to do."""


class Executor(Protocol):
    """Somebody who runs batches of runs."""

    @property
    def capacity(self) -> int:
        """How many batches are worth handing out at a time."""

    def submit(self, runs: Sequence[Run]) -> Future[list[Record]]:
        """Run a batch; the future may raise ``BatchLostError``."""

    def close(self) -> None:
        """Stop at once."""


def batch_seconds(runs: Sequence[Run]) -> float:
    """When a batch is stopped from outside, should its supervision have failed."""
    return sum(2.0 * run.limits.seconds + 10.0 for run in runs)


def dispatch(executor: Executor, runs: Iterable[Run]) -> Iterator[Record]:
    """Run all runs; records come as they are finished, checked.

    No run is started twice: an agent must not meet a world that it has seen before. A batch whose
    process dies costs nobody but the run that it was at, which has failed; runs that were not
    begun are handed out again.

    Raises:
        SweepStoppedError: At the end, if runs were lost in a cluster; at once, if processes die
            before they begin anything.
    """
    waiting = _Waiting(runs)
    running: dict[Future[list[Record]], list[Run]] = {}
    lost = 0
    while waiting or running:
        while waiting and len(running) < executor.capacity:
            batch = waiting.take()
            running[executor.submit(batch)] = batch
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            batch = running.pop(future)
            try:
                records = future.result()
            except BatchLostError as error:
                records = waiting.give_back(batch, error)
            except ClusterLostError:
                lost += len(batch)
                continue
            for run, record in zip(batch, records, strict=False):
                record = checked(record, run)
                waiting.learn(run, record)
                yield record
    if lost:
        raise SweepStoppedError(
            f"{lost:,} runs were lost in the cluster and are not stored; give the same command "
            "again to run them (finished runs are kept)"
        )


class _Waiting:
    """The runs that are still to run, in order, and how long their like has taken."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs = deque(runs)
        self._idle_deaths = 0
        self._seconds: dict[tuple[str, str], float] = {}

    def __bool__(self) -> bool:
        return bool(self._runs)

    def take(self) -> list[Run]:
        """The next batch: one run, and more as long as they are known to be short."""
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
        self._idle_deaths = 0

    def give_back(self, batch: Sequence[Run], lost: BatchLostError) -> list[Record]:
        """The records of a lost batch; what was not begun is still to run."""
        begun = max(lost.begun, len(lost.finished))
        self._runs.extendleft(reversed(batch[begun:]))
        self._idle_deaths = 0 if begun else self._idle_deaths + 1
        if self._idle_deaths > MAX_IDLE_DEATHS:
            raise SweepStoppedError(
                f"worker processes end before they begin anything ({lost.reason}); finished runs "
                "are kept: see that there is memory enough, and give the same command again"
            )
        failed = batch[len(lost.finished) : begun]
        return [*lost.finished, *(Record(r.key, lost.reason, sources=r.sources) for r in failed)]


class InProcess:
    """Runs each batch when it is submitted. An agent that kills its process kills everything."""

    capacity = 1

    def submit(self, runs: Sequence[Run]) -> Future[list[Record]]:
        """Run a batch now."""
        future: Future[list[Record]] = Future()
        future.set_result(execute_here(runs))
        return future

    def close(self) -> None:
        """There is nothing to stop."""
