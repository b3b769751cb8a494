"""Executors of runs in this process or in worker processes.

``Processes`` and ``Dask`` share the interface ``submit(run) -> Future[Record]``. An agent that
fails (by an error, an endless loop, a crash or too much memory) affects only the record of its run.
A process executes many runs sequentially. The process is replaced when it exits, when a run exceeds
its time limit, or when a run leaves threads behind.

Each process has a separate pipe, so that the driver (the process that submits the runs) detects
immediately when the process exits.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from importlib import import_module
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from evaluation.errors import UserError
from evaluation.keys import code_of
from evaluation.limits import OverTimeError, limited, reason_of
from evaluation.notebook import define
from evaluation.play import LocalAgent, Player, play
from evaluation.provenance import machine
from evaluation.record import Record, RecordError, check, pack
from evaluation.references import reference_columns
from evaluation.runs import Run
from evaluation.sandbox import AgentFailedError, SandboxedAgent, SandboxError
from evaluation.specs import TRAINING
from evaluation.training import learned_before, train
from periodic_envs.data.errors import FilledGapsWarning
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.files import DATA_VARIABLE
from periodic_envs.worlds.madrid import SimulatedDataWarning

ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL", "NUMEXPR", "VECLIB")
}
"""Environment variables that limit libraries in worker processes to one thread, because the number
of threads affects rounding errors."""
GRACE_SECONDS = 2.0
"""Seconds from the time limit of a run until its process is killed."""
START_SECONDS = 300.0
"""Maximum time in seconds until a process confirms that it has received a run."""
START_TRIES = 3
"""Maximum number of attempts to send a run to a process."""


class SweepStoppedError(UserError):
    """Raised if a sweep cannot continue; the message contains the reason and a remedy."""


class Executor(Protocol):
    """Interface of executors.

    Attributes:
        capacity: Maximum number of submitted runs that are not finished.
    """

    capacity: int

    def submit(self, run: Run) -> Future[Record]:
        """Submit a run; the future may raise ``SweepStoppedError``."""

    def close(self) -> None:
        """Stop all runs immediately."""


class InProcess:
    """Execution of runs in this process with one thread, without protection from crashes."""

    def __init__(self) -> None:
        self._threads = threadpool_limits(1)

    def close(self) -> None:
        """Restore the number of threads that libraries use."""
        self._threads.restore_original_limits()


class Processes:
    """Executor with worker processes on this machine.

    Args:
        workers: Number of processes.
    """

    def __init__(self, workers: int) -> None:
        self.capacity = 2 * workers  # one running and one waiting run per process
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="worker")
        self._workers = [_Worker() for _ in range(workers)]
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)

    def submit(self, run: Run) -> Future[Record]:
        """Submit a run to one of the processes."""
        return self._threads.submit(self._run, run)

    def close(self) -> None:
        """Kill the processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.close()
        self._threads.shutdown()

    def _run(self, run: Run) -> Record:
        worker = self._idle.get()
        try:
            return worker.run(run)
        finally:
            self._idle.put(worker)


class _Worker:
    """Worker process, started on demand."""

    def __init__(self) -> None:
        self._process: Any = None
        self._pipe: Any = None
        self._closed = False

    def run(self, run: Run) -> Record:
        """Execute a run in the process; if the process exits or takes too long, the run fails."""
        self._hand_over(run)
        try:
            if self._pipe.poll(run.limits.seconds + GRACE_SECONDS):
                record: Record = self._pipe.recv()
                return record
            reason = over_time(run)
        except (EOFError, OSError):
            self._process.join(GRACE_SECONDS)
            reason = f"the worker process ended unexpectedly (exit code {self._process.exitcode})"
        self._kill()
        return Record(run.key, reason, sources=run.sources)

    def _hand_over(self, run: Run) -> None:
        """Send a run to the worker process and wait until the process confirms it.

        A new process is started if the old process has ended.
        """
        for _ in range(START_TRIES):
            if self._process is None or not self._process.is_alive():
                self._start()
            with contextlib.suppress(EOFError, OSError):
                self._pipe.send(run)
                if self._pipe.poll(START_SECONDS):
                    self._pipe.recv()
                    return
            self._kill()
        raise SweepStoppedError(
            "workers-died",
            f"a worker process ended {START_TRIES} times before it started a run: check the "
            "available memory and run the same command again; finished runs are kept",
        )

    def close(self) -> None:
        """Kill the process, and every process that is started later."""
        self._closed = True
        self._kill()

    def _start(self) -> None:
        context = _context()
        self._pipe, child_end = context.Pipe()
        variables = {
            **ONE_THREAD,
            **{n: os.environ[n] for n in (DATA_VARIABLE,) if n in os.environ},
        }
        process = context.Process(target=serve, args=(child_end, variables), daemon=True)
        with clean_start():
            process.start()
        self._process = process
        child_end.close()
        if self._closed:
            self._kill()

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join(GRACE_SECONDS)


def _context() -> Any:
    """Return the context that starts processes: a fork server if available, otherwise spawn."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


_starting = threading.Lock()


@contextlib.contextmanager
def clean_start() -> Iterator[None]:
    """Let processes that are started in this context ignore the main script and current folder.

    Scripts therefore need no ``if __name__ == "__main__"``, and files of the current folder are not
    imported. Ctrl-C is handled by the driver only.
    """
    with _starting:
        main, variable = sys.modules["__main__"], os.environ.get("PYTHONSAFEPATH")
        sys.modules["__main__"], os.environ["PYTHONSAFEPATH"] = ModuleType("__main__"), "1"
        resource_tracker.ensure_running()  # first, since starting the tracker unblocks signals
        if sys.platform != "win32":
            signals = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            sys.modules["__main__"] = main
            if sys.platform != "win32":
                signal.pthread_sigmask(signal.SIG_SETMASK, signals)
            if variable is None:
                del os.environ["PYTHONSAFEPATH"]


def serve(pipe: Connection, variables: dict[str, str]) -> None:
    """Execute runs in a worker process until the pipe is closed.

    Args:
        pipe: Connection for runs and records.
        variables: Environment variables to set.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # handled by the driver
    threading.Thread(target=_end_with_driver, daemon=True).start()
    os.dup2(2, 1)  # output of agents must not mix with the output of the command
    os.environ.update(variables)
    # The driver has already issued these warnings.
    warnings.simplefilter("ignore", SimulatedDataWarning)
    warnings.simplefilter("ignore", FilledGapsWarning)
    with threadpool_limits(1), contextlib.suppress(EOFError, OSError):
        threads = threading.active_count()
        # The process ends if an agent leaves threads behind, which could disturb later runs.
        while threading.active_count() == threads:
            run = pipe.recv()
            pipe.send("started")
            pipe.send(execute(run))


def _end_with_driver() -> None:
    """End this process when the driver ends."""
    driver = multiprocessing.parent_process()
    if driver is not None:
        driver.join()
        os._exit(1)


def execute(run: Run) -> Record:
    """Execute one run within its limits, in this process."""
    start = time.perf_counter()
    reason, packed = None, b""
    try:
        with limited(run.limits.seconds, run.limits.memory_mb):
            columns = _columns(run)
        check(columns, run)
        packed = pack(columns)
    except OverTimeError:
        reason = over_time(run)
    except MemoryError:
        reason = f"the run used more memory than its limit of {run.limits.memory_mb:g} MiB"
    except KeyboardInterrupt:
        raise
    except (AgentFailedError, RecordError, SandboxError) as error:
        reason = str(error)
    except BaseException as error:  # agents can raise any error, including SystemExit
        reason = reason_of(error)
    seconds = time.perf_counter() - start
    return Record(run.key, reason, packed, seconds, machine(), run.sources)


_worlds: dict[tuple[str, str | None], PeriodicBanditEnv] = {}


def _world(run: Run) -> PeriodicBanditEnv:
    """Return the environment of a run; built-in environments are cached."""
    if run.world_module:
        import_module(run.world_module)
        return run.world.make()
    key = str(run.world), run.data
    if key not in _worlds:
        _worlds[key] = run.world.make()
    return _worlds[key]


def _columns(run: Run) -> dict[str, Any]:
    env = _world(run)
    if run.isolation == "none" and run.agent_spec is not None:
        define(run.agent_spec.name, run.made_here)
    if env.data_fingerprint != run.data:
        raise RuntimeError(
            "the data on this worker differ from the data on the machine that started the sweep: "
            "import the same data on the worker"
        )
    if not run.made_here and code_of(env.setup, run.agent_spec) != run.sources:
        raise RuntimeError(
            "the code on this worker differs from the code on the machine that started the sweep: "
            "install the same version on the worker"
        )
    if run.track == TRAINING:
        return train(run, env)
    if run.agent_spec is None:
        env.reset(seed=run.seed)
        return reference_columns(env)
    sandboxed = partial(SandboxedAgent, memory_mb=run.limits.memory_mb, code=run.made_here)
    player: Callable[..., Player] = LocalAgent if run.isolation == "none" else sandboxed
    episode = play(
        run.world.as_played(env),
        run.agent_spec,
        run.seed,
        learned=learned_before(run),
        agent_seed=run.agent_seed,
        player=player,
    )
    return {
        "t": episode.t,
        "action": episode.action,
        "reward": episode.reward,
        "regret": episode.regret,
        "seconds": episode.agent_seconds,
    }


def over_time(run: Run) -> str:
    """Return the failure message for a run that exceeded its time limit."""
    return f"the run took more than {run.limits.seconds:g} seconds, its time limit"
