"""A pool of processes on this machine.

Python's own ways of starting a clean process import the user's main script again in it. That fails
for a script read from standard input, and runs a script without ``if __name__ == "__main__"`` a
second time. Workers need nothing of it: here it is left out.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from multiprocessing import context, spawn
from typing import Any

from pebble import ProcessExpired, ProcessPool

from evaluation.running.executors.base import BatchLostError, batch_seconds
from evaluation.running.record import Record
from evaluation.running.run import Run
from evaluation.running.worker import ONE_THREAD, execute_all, start_worker
from periodic_envs.data.madrid.cache import VARIABLE

_HAS_SERVER = "forkserver" in multiprocessing.get_all_start_methods()
_Base: Any = context.ForkServerProcess if _HAS_SERVER else context.SpawnProcess
_prepare = spawn.get_preparation_data
_starting = threading.Lock()


class WorkerProcess(_Base):  # type: ignore[misc]
    """A process that does not import the main script."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        with _starting:
            spawn.get_preparation_data = _without_main
            try:
                return _Base._Popen(process_obj)
            finally:
                spawn.get_preparation_data = _prepare


def _without_main(name: str) -> dict[str, Any]:
    main = ("init_main_from_name", "init_main_from_path")
    return {key: value for key, value in _prepare(name).items() if key not in main}


def process_context() -> Any:
    """A multiprocessing context for workers.

    Where there is a fork server, it imports what workers need once, and they start quickly.
    """
    made: Any = context.ForkServerContext() if _HAS_SERVER else context.SpawnContext()
    made.Process = WorkerProcess
    if _HAS_SERVER:
        made.set_forkserver_preload(["evaluation.running.executors.preload"])
    return made


class Pool:
    """Worker processes, replaced when they die or hang.

    Args:
        workers: How many.
    """

    def __init__(self, workers: int) -> None:
        self.capacity = 2 * workers  # one at work and one at hand
        self._pool: Any = worker_pool(workers)

    def submit(self, runs: Sequence[Run]) -> Future[list[Record]]:
        """Run a batch in one of the processes."""
        task: Any = self._pool.schedule(execute_all, args=[runs], timeout=batch_seconds(runs))
        future: Future[list[Record]] = Future()
        task.add_done_callback(lambda done: _hand_over(done, future, runs))
        return future

    def close(self) -> None:
        """Kill the workers."""
        self._pool.stop()
        self._pool.join()


def worker_pool(workers: int) -> Any:
    """Pebble's pool of clean processes with one thread each, which know the data of now."""
    # Said anew to every pool: the server that workers start from may be older than a change.
    folder = {name: os.environ[name] for name in (VARIABLE,) if os.environ.get(name)}
    with _environment(ONE_THREAD):
        pool = ProcessPool(
            workers,
            initializer=start_worker,
            initargs=[{**ONE_THREAD, **folder}],
            context=process_context(),
        )
        # The environment is inherited when the workers are started, which is now.
        pool.schedule(os.getpid).result()
    return pool


def _hand_over(done: Any, future: Future[list[Record]], runs: Sequence[Run]) -> None:
    """Pebble's future as ours."""
    if done.cancelled():
        lost = "it was stopped", False
    elif (error := done.exception()) is None:
        future.set_result(done.result())
        return
    elif isinstance(error, FutureTimeoutError | TimeoutError):
        lost = f"took more than {runs[0].limits.seconds:g} seconds", True
    elif isinstance(error, ProcessExpired):
        lost = f"its process died (exit code {error.exitcode})", False
    else:
        lost = f"its record could not be brought back: {type(error).__name__}: {error}", True
    future.set_exception(BatchLostError(*lost))


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
