"""A pool of processes on this machine.

Python's own ways of starting a clean process import the user's main script again in it. That fails
for a script read from standard input, and runs a script without ``if __name__ == "__main__"`` a
second time. Workers need nothing of it: here it is left out.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import context, resource_tracker, spawn, util
from pathlib import Path
from typing import Any

from pebble import ProcessExpired, ProcessPool

from evaluation.running import ledger
from evaluation.running.executors.base import BatchLostError, SweepStoppedError, batch_seconds
from evaluation.running.process import ONE_THREAD, ROOT, is_alive
from evaluation.running.record import Record
from evaluation.running.run import Run
from evaluation.running.worker import execute_all, start_worker
from periodic_envs.data.madrid.cache import VARIABLE

_HAS_SERVER = "forkserver" in multiprocessing.get_all_start_methods()
_Base: Any = context.ForkServerProcess if _HAS_SERVER else context.SpawnProcess
_prepare, _flags = spawn.get_preparation_data, util._args_from_interpreter_flags  # type: ignore[attr-defined]
_starting = threading.RLock()
LEDGERS = "periodic-gp-ledgers-"
"""Begins the name of a pool's folder of ledgers; the pool's process follows."""
START_TRIES = 3
"""A worker may be killed from outside while it starts."""


@contextmanager
def clean_start() -> Iterator[None]:
    """Processes that are started now import neither the main script nor from the current folder.

    Where they would look first is where strangers' files may be. Nor does Ctrl-C reach them: it is
    the driver's to handle.
    """
    with _starting:
        spawn.get_preparation_data = _preparation
        util._args_from_interpreter_flags = lambda: ["-I", *_flags()]  # type: ignore[attr-defined]
        try:
            with _without_interrupts():
                yield
        finally:
            spawn.get_preparation_data = _prepare
            util._args_from_interpreter_flags = _flags  # type: ignore[attr-defined]


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """A process inherits the signals that are held back when it is started."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class WorkerProcess(_Base):  # type: ignore[misc]
    """A process that imports neither the main script nor from the current folder."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        with clean_start():
            return _Base._Popen(process_obj)


def _preparation(name: str) -> dict[str, Any]:
    main = ("init_main_from_name", "init_main_from_path")
    data = {key: value for key, value in _prepare(name).items() if key not in main}
    here = {"", os.getcwd(), str(data["orig_dir"])}
    path = [place for place in data["sys_path"] if place not in here]
    return {**data, "sys_path": [*path, str(ROOT)]}  # ours may be here, but after all others


def process_context() -> Any:
    """A multiprocessing context for workers.

    Where there is a fork server, it imports what workers need once, and they start quickly.
    """
    made: Any = context.ForkServerContext() if _HAS_SERVER else context.SpawnContext()
    made.Process = WorkerProcess
    if _HAS_SERVER:
        made.set_forkserver_preload(["evaluation.running.executors.preload"])
    return made


def _sweep_up() -> None:
    """Remove the ledgers of pools that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{LEDGERS}*"):
        owner = folder.name.removeprefix(LEDGERS).partition("-")[0]
        if owner.isdecimal() and not is_alive(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


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

    def submit(self, runs: Sequence[Run]) -> Future[list[Record]]:
        """Run a batch in one of the processes."""
        if not self._pool.active:  # a worker that dies at the wrong moment breaks the pool
            self._pool.stop()
            self._pool = worker_pool(self._workers)
        file = Path(self._ledgers.name) / uuid.uuid4().hex
        task: Any = self._pool.schedule(execute_all, args=[runs, file], timeout=batch_seconds(runs))
        future: Future[list[Record]] = Future()
        task.add_done_callback(lambda done: _hand_over(done, future, runs, file))
        return future

    def close(self) -> None:
        """Kill the workers, and what they have started."""
        self._pool.stop()
        self._pool.join()
        self._ledgers.cleanup()


def worker_pool(workers: int) -> Any:
    """Pebble's pool of clean processes with one thread each, which know the data of now.

    Raises:
        SweepStoppedError: If they cannot be started.
    """
    # Said anew to every pool: the server that workers start from may be older than a change.
    folder = {name: os.environ[name] for name in (VARIABLE,) if os.environ.get(name)}
    with clean_start():  # or the first lock of a pool would start it, and not as clean
        resource_tracker.ensure_running()
    for _ in range(START_TRIES):
        pool = ProcessPool(
            workers,
            initializer=start_worker,
            initargs=[{**ONE_THREAD, **folder}, os.getpid()],
            context=process_context(),
        )
        try:
            # The environment is inherited when the workers are started, which is now.
            with _environment(ONE_THREAD):
                pool.schedule(os.getpid).result()
            return pool
        except (ProcessExpired, BrokenProcessPool, RuntimeError) as error:
            _stop(pool)
            reason = str(error)
        except BaseException:
            _stop(pool)
            raise
    raise SweepStoppedError(
        f"worker processes cannot be started ({reason}): see that there is memory enough, and give "
        "the same command again"
    )


def _stop(pool: Any) -> None:
    pool.stop()
    pool.join()


def _hand_over(done: Any, future: Future[list[Record]], runs: Sequence[Run], file: Path) -> None:
    """Pebble's future as ours, with what the worker has written down."""
    if done.cancelled():
        reason = "it was stopped"
    elif (error := done.exception()) is None:
        reason = "its record could not be brought back"
    elif isinstance(error, FutureTimeoutError | TimeoutError):
        reason = f"took more than {runs[0].limits.seconds:g} seconds"
    elif isinstance(error, ProcessExpired):
        reason = f"its process died (exit code {error.exitcode})"
    elif isinstance(error, OSError):
        future.set_exception(SweepStoppedError(_cannot_write(error)))
        return
    else:
        reason = f"its worker was lost ({type(error).__name__}: {error})"
    finished, begun = ledger.read(file, runs)
    file.unlink(missing_ok=True)
    if len(finished) == len(runs):
        future.set_result(finished)
    else:
        future.set_exception(BatchLostError(reason, finished, begun))


def _cannot_write(error: OSError) -> str:
    return (
        f"workers cannot go on ({error.strerror}); what was finished before is safe: see that the "
        "temporary folder has room and that there is memory enough, and give the same command again"
    )


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
