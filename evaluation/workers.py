"""Workers: places where runs run, in this process, in others of this machine, or on Dask.

Processes and Dask have one interface, ``submit(run) -> Future[Record]``. There an agent that fails
in any way (an error, an endless loop, the end of its process, too much memory) costs its own run
only. A process is used for many runs, one after the other, and replaced when it ends, exceeds its
time, or has threads that an agent left behind.

Each process has a pipe of its own, so that its end is noticed at once and at the cost of no other.
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
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.files import DATA_VARIABLE
from periodic_envs.worlds.madrid import SimulatedDataWarning

ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL", "NUMEXPR", "VECLIB")
}
"""Variables of worker processes: sums of many terms depend on the number of threads."""
GRACE_SECONDS = 2.0
"""After its time a run may still report this; then its process is killed."""
START_SECONDS = 300.0
START_TRIES = 3


class SweepStoppedError(UserError):
    """A sweep that cannot go on: one sentence with the reason and a remedy."""


class Executor(Protocol):
    """Runs runs.

    Attributes:
        capacity: Runs worth submitting at a time.
    """

    capacity: int

    def submit(self, run: Run) -> Future[Record]:
        """Run a run; the future may raise ``SweepStoppedError``."""

    def close(self) -> None:
        """Stop at once."""


class InProcess:
    """This process, with one thread; an agent that ends its process ends this one."""

    def __init__(self) -> None:
        self._threads = threadpool_limits(1)

    def close(self) -> None:
        """Let libraries have their threads again."""
        self._threads.restore_original_limits()


class Processes:
    """Processes of this machine, one thread of this process for each.

    Args:
        workers: How many.
    """

    def __init__(self, workers: int) -> None:
        self.capacity = 2 * workers  # one at work and one at hand
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="worker")
        self._workers = [_Worker() for _ in range(workers)]
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)

    def submit(self, run: Run) -> Future[Record]:
        """Run a run in one of the processes."""
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
    """One process, started when it is first needed and after it has ended."""

    def __init__(self) -> None:
        self._process: Any = None
        self._pipe: Any = None
        self._closed = False

    def run(self, run: Run) -> Record:
        """Run a run in the process; report a failure if it ends or exceeds its time."""
        self._hand_over(run)
        try:
            if self._pipe.poll(run.limits.seconds + GRACE_SECONDS):
                record: Record = self._pipe.recv()
                return record
            reason = over_time(run)
        except (EOFError, OSError):
            self._process.join(GRACE_SECONDS)
            reason = f"its process died (exit code {self._process.exitcode})"
        self._kill()
        return Record(run.key, reason, sources=run.sources)

    def _hand_over(self, run: Run) -> None:
        """Give the run to a process that confirms it; an idle one may have been killed."""
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
            "worker processes end before they run anything; finished runs are kept: see that "
            "there is memory enough, and give the same command again"
        )

    def close(self) -> None:
        """Kill the process for good."""
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
    """Return the way to start clean processes: from a server that has imported what they need."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


_starting = threading.Lock()


@contextlib.contextmanager
def clean_start() -> Iterator[None]:
    """Start processes that import neither the main script nor from the current folder.

    So a script needs no ``if __name__ == "__main__"``, and a file that lies around is not run.
    Ctrl-C does not reach these processes: it is the driver's to handle.
    """
    with _starting:
        main, variable = sys.modules["__main__"], os.environ.get("PYTHONSAFEPATH")
        sys.modules["__main__"], os.environ["PYTHONSAFEPATH"] = ModuleType("__main__"), "1"
        resource_tracker.ensure_running()  # its start lets signals through
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
    """Be a worker process: run one run after the other until the pipe is closed.

    Args:
        pipe: Brings runs and takes records.
        variables: Environment variables to set.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to handle
    threading.Thread(target=_end_with_driver, daemon=True).start()
    os.dup2(2, 1)  # prints of agents: the standard output is the command's, such as JSON
    os.environ.update(variables)
    # The driver has given these warnings already.
    warnings.simplefilter("ignore", SimulatedDataWarning)
    warnings.filterwarnings("ignore", message=".*readings are missing and filled by missing=")
    with threadpool_limits(1), contextlib.suppress(EOFError, OSError):
        threads = threading.active_count()
        # A thread that an agent left behind could end or disturb the runs of others.
        while threading.active_count() == threads:
            run = pipe.recv()
            pipe.send("started")
            pipe.send(execute(run))


def _end_with_driver() -> None:
    """End this process when the driver ends, whatever an agent does."""
    driver = multiprocessing.parent_process()
    if driver is not None:
        driver.join()
        os._exit(1)


def execute(run: Run) -> Record:
    """Run one run within its limits, in this process."""
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
        reason = f"took more than {run.limits.memory_mb:g} MB of memory"
    except KeyboardInterrupt:
        raise
    except (AgentFailedError, RecordError, SandboxError) as error:
        reason = str(error)
    except BaseException as error:  # an agent can fail in any way, sys.exit() included
        reason = reason_of(error)
    seconds = time.perf_counter() - start
    return Record(run.key, reason, packed, seconds, machine(), run.sources)


_worlds: dict[tuple[str, str | None], PeriodicBanditEnv] = {}


def _world(run: Run) -> PeriodicBanditEnv:
    """Return the environment of a run; one of ours is made once, as a reset draws it again."""
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
        raise RuntimeError("this worker has other data than the driver: import the same there")
    if not run.made_here and code_of(env.setup, run.agent_spec) != run.sources:
        raise RuntimeError("this worker has other code than the driver: install the same there")
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
    """Return the reason of a run that took too long."""
    return f"took more than {run.limits.seconds:g} seconds"
