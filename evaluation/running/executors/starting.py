"""Starting clean worker processes.

Python's own ways of starting a clean process import the user's main script again in it. That fails
for a script read from standard input, and runs a script without ``if __name__ == "__main__"`` a
second time. Workers need nothing of it: here it is left out.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import TimeoutError as FutureTimeoutError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import context, resource_tracker, spawn, util
from typing import Any

from pebble import ProcessExpired, ProcessPool

from evaluation.running.executors.base import SweepStoppedError
from evaluation.running.process import ONE_THREAD, ROOT
from evaluation.running.worker import start_worker
from periodic_envs.data.madrid.cache import VARIABLE

_HAS_SERVER = "forkserver" in multiprocessing.get_all_start_methods()
_Base: Any = context.ForkServerProcess if _HAS_SERVER else context.SpawnProcess
_prepare, _flags = spawn.get_preparation_data, util._args_from_interpreter_flags  # type: ignore[attr-defined]
_starting = threading.RLock()
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
                answer_of(pool, pool.schedule(os.getpid))
            return pool
        except (ProcessExpired, BrokenProcessPool, RuntimeError) as error:
            stop(pool)
            reason = str(error)
        except BaseException:
            stop(pool)
            raise
    raise SweepStoppedError(
        f"worker processes cannot be started ({reason}): see that there is memory enough, and give "
        "the same command again"
    )


def answer_of(pool: Any, future: Any) -> Any:
    """Wait for an answer. A pool of which an idle worker dies breaks, and may never give one.

    Raises:
        BrokenProcessPool: If the pool does not work any more.
    """
    while True:
        try:
            return future.result(0.1)
        except FutureTimeoutError:
            if future.done():
                return future.result()
            if not pool.active:
                raise BrokenProcessPool("a worker ended unexpectedly") from None


def stop(pool: Any) -> None:
    """End a pool and its processes."""
    pool.stop()
    pool.join()


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
