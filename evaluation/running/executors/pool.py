"""A pool of processes on this machine.

Pebble says what came of a batch, but not always: a pool of which an idle worker dies breaks, and
then it forgets what it was just given. Nobody must wait for ever. So a thread looks after the
batches, by what their ledgers say.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pebble import ProcessExpired

from evaluation.record import Record
from evaluation.running import ledger
from evaluation.running.executors.base import BatchLostError, SweepStoppedError, batch_seconds
from evaluation.running.executors.own_worlds import execute_knowing, world_modules
from evaluation.running.executors.starting import stop, worker_pool
from evaluation.running.process import is_alive
from evaluation.runs import Run

LEDGERS = "periodic-gp-ledgers-"
"""Begins the name of a pool's folder of ledgers; the pool's process follows."""
SECONDS_BETWEEN_LOOKS = 0.5
"""How often batches are looked after."""
MAX_DEAD_LOOKS = 10
"""So often a batch whose process is dead is left to Pebble, which knows how it died."""
MAX_FREE_LOOKS = 240
"""The same for batches that no worker begins. Pebble's workers wait a minute for a lock that a dead
one held."""


def _sweep_up() -> None:
    """Remove the ledgers of pools that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{LEDGERS}*"):
        owner = folder.name.removeprefix(LEDGERS).partition("-")[0]
        if owner.isdecimal() and not is_alive(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(eq=False)
class _Batch:
    """Runs that were handed to a pool."""

    runs: Sequence[Run]
    ledger: Path
    pool: Any
    future: Future[list[Record]] = field(default_factory=Future)
    dead_looks: int = 0
    """How often its process was found dead."""


class Pool:
    """Worker processes, replaced when they die or hang.

    Args:
        workers: How many.
    """

    def __init__(self, workers: int) -> None:
        self.capacity = 2 * workers  # one at work and one at hand
        self._workers = workers
        _sweep_up()
        self._ledgers = tempfile.TemporaryDirectory(prefix=f"{LEDGERS}{os.getpid()}-")
        self._pool: Any = worker_pool(workers)
        self._open: set[_Batch] = set()
        self._settling = threading.Lock()
        self._closed = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def submit(self, runs: Sequence[Run]) -> Future[list[Record]]:
        """Run a batch in one of the processes."""
        if not self._pool.active:  # a worker that dies at the wrong moment breaks the pool
            stop(self._pool)
            self._pool = worker_pool(self._workers)
        batch = _Batch(runs, Path(self._ledgers.name) / uuid.uuid4().hex, self._pool)
        self._open.add(batch)
        seconds = batch_seconds(runs)
        try:
            args = [runs, batch.ledger, world_modules(runs)]
            task = self._pool.schedule(execute_knowing, args=args, timeout=seconds)
        except RuntimeError:  # it broke just now: the batch will be given back
            return batch.future
        task.add_done_callback(lambda done: self._settle(batch, _reason(done, runs)))
        return batch.future

    def close(self) -> None:
        """Kill the workers, and what they have started."""
        self._closed.set()
        self._watcher.join()
        stop(self._pool)
        self._ledgers.cleanup()

    def _settle(self, batch: _Batch, reason: str | SweepStoppedError) -> None:
        """Hand over what the worker has written down; the first to say so is right."""
        with self._settling:
            if batch not in self._open:
                return
            self._open.remove(batch)
        if isinstance(reason, SweepStoppedError):
            batch.future.set_exception(reason)
            return
        finished, begun = ledger.close(batch.ledger, batch.runs)
        if len(finished) == len(batch.runs):
            batch.future.set_result(finished)
        else:
            batch.future.set_exception(BatchLostError(reason, finished, begun))

    def _watch(self) -> None:
        free_looks = 0
        while not self._closed.wait(SECONDS_BETWEEN_LOOKS):
            with self._settling:
                batches = list(self._open)
            waiting = [batch for batch in batches if ledger.owner(batch.ledger) is None]
            free = bool(waiting) and len(batches) - len(waiting) < self._workers
            free_looks = free_looks + 1 if free else 0
            for batch in batches:
                if self._is_lost(batch, ignored=free_looks > MAX_FREE_LOOKS):
                    self._settle(batch, "its worker was lost")

    def _is_lost(self, batch: _Batch, *, ignored: bool) -> bool:
        """Whether nobody is going to answer.

        Args:
            batch: Which.
            ignored: For long there were batches to begin and workers that could.
        """
        pid = ledger.owner(batch.ledger)
        if not batch.pool.active or (pid is None and ignored):
            return True
        batch.dead_looks += pid is not None and not is_alive(pid)
        return batch.dead_looks > MAX_DEAD_LOOKS


def _reason(done: Any, runs: Sequence[Run]) -> str | SweepStoppedError:
    """Why a batch was lost, if it was."""
    if done.cancelled():
        return "it was stopped"
    error = done.exception()
    if error is None:
        return "its record could not be brought back"
    if isinstance(error, FutureTimeoutError | TimeoutError):
        return f"took more than {runs[0].limits.seconds:g} seconds"
    if isinstance(error, ProcessExpired):
        return f"its process died (exit code {error.exitcode})"
    if isinstance(error, OSError):
        return SweepStoppedError(_cannot_write(error))
    return f"its worker was lost ({type(error).__name__}: {error})"


def _cannot_write(error: OSError) -> str:
    return (
        f"workers cannot go on ({error.strerror}); what was finished before is safe: see that the "
        "temporary folder has room and that there is memory enough, and give the same command again"
    )
