"""What happens in a worker process: runs are run, each within its limits.

A worker never runs an agent itself. It forks a child for every run, so that whatever an agent
changes in its process (classes, signals, threads, memory) is gone with it, and supervises it: a
child that outlives its time is killed. Children answer in plain numbers, never in pickles: an agent
could have written those.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import struct
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from types import FrameType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from agents.registry import BUILT_IN
from evaluation.protocol.entries import Limits
from evaluation.protocol.protocol import TRAINING
from evaluation.references import reference_regrets
from evaluation.running.channel import AgentChannel
from evaluation.running.isolation import (
    AgentFailedError,
    IsolatedAgent,
    close_files,
    hide_from_others,
    open_zygote,
    preload_of,
    zygote_file,
)
from evaluation.running.play import play
from evaluation.running.provenance import agent_source, machine
from evaluation.running.run import Outcome, Run, pack, sources_of, unpack
from evaluation.running.training import learned_before, train
from periodic_envs.worlds.madrid import SimulatedDataWarning

if sys.platform != "win32":
    import resource

ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL", "NUMEXPR", "VECLIB")
}
"""For the environment of workers: two that share cores must not fight over them."""
GRACE_SECONDS = 2.0
"""After its time a run may still say so itself; then it is killed."""
TRIES = 2
"""A child may have been killed from outside: it gets one more chance."""
MOST_BYTES = 2**30
MOST_LETTERS = 2000


class OverTimeError(BaseException):
    """The run's time is over. Not an Exception, so that an agent does not catch it by accident."""


def start_worker(environment: dict[str, str]) -> None:
    """Ctrl-C is the driver's to handle; what it knows of the data, the worker knows, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hide_from_others()
    os.environ.update(environment)
    # The driver has said so, once; every child of every worker would say it again.
    warnings.simplefilter("ignore", SimulatedDataWarning)
    prepare()
    open_zygote()


def prepare() -> None:
    """Do once what every child needs, before children are forked."""
    machine()
    for name in BUILT_IN:
        agent_source(name)
    sources_of(object(), None)


def execute_all(runs: Sequence[Run]) -> list[Outcome]:
    """Run runs one after the other, each in a process of its own where the system can fork."""
    for run in runs:
        _preload(run)
    return [_supervised(run) if hasattr(os, "fork") else execute(run) for run in runs]


def _preload(run: Run) -> None:
    """Import what our own agents need before forking, once for all of a worker's children."""
    if run.agent_spec is not None and not run.isolated:
        with contextlib.suppress(Exception):  # the child will say what is missing or broken
            for module in preload_of(run.agent_spec.name):
                import_module(module)


def execute(run: Run) -> Outcome:
    """Run one run within its limits, in this process."""
    start = time.perf_counter()
    reason, columns = None, {}
    try:
        # Sums of many terms depend on the number of threads: one everywhere, for equal numbers.
        with threadpool_limits(1), _limited(run.limits):
            columns = _columns(run)
    except OverTimeError:
        reason = _over(run)
    except MemoryError:
        reason = f"took more than {run.limits.memory_mb:g} MB of memory"
    except KeyboardInterrupt:
        raise
    except AgentFailedError as error:
        reason = str(error)
    except BaseException as error:  # an agent can fail in any way, sys.exit() included
        reason = f"{type(error).__name__}: {error}{_place(error)}"
    seconds = time.perf_counter() - start
    return Outcome(run.key, _printable(reason), columns, seconds, machine(), run.sources)


def _columns(run: Run) -> dict[str, Any]:
    env = run.world.make()
    if env.data_fingerprint != run.data:
        raise RuntimeError("this worker has other data than the driver: import the same there")
    if sources_of(env.setup.world, run.agent_spec) != run.sources:
        raise RuntimeError("this worker has other code than the driver: install the same there")
    if run.track == TRAINING:
        return train(run, env)
    if run.agent_spec is None:
        env.reset(seed=run.seed)
        first = env.public.first_step
        assert env.episode is not None
        period = np.array([env.episode.process.period])
        times = np.arange(first, first + env.horizon)
        return {"t": times, "period": period, **reference_regrets(env)}
    alone = partial(IsolatedAgent, memory_mb=run.limits.memory_mb, cpu_seconds=run.limits.seconds)
    found = play(
        env,
        run.agent_spec,
        run.seed,
        learned=learned_before(run),
        agent_seed=run.agent_seed,
        open_channel=alone if run.isolated else AgentChannel,
    )
    return {
        "t": found.t,
        "action": found.action,
        "reward": found.reward,
        "regret": found.regret,
        "seconds": found.agent_seconds,
    }


def _supervised(run: Run) -> Outcome:
    """Run one run in a child process."""
    for _ in range(TRIES):
        answer, status = _ask_child(run)
        if answer is not None:
            return answer
        if status is None:
            return Outcome(run.key, _over(run), sources=run.sources)
    reason = f"its process died (exit code {status})"
    return Outcome(run.key, reason, sources=run.sources)


def _ask_child(run: Run) -> tuple[Outcome | None, int | None]:
    """What the child says, or None and its exit code, or None twice if it had to be killed."""
    sys.stdout.flush()
    sys.stderr.flush()
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _be_child(run, theirs)
    os.close(theirs)
    data = _read(ours, run.limits.seconds + GRACE_SECONDS)
    os.close(ours)
    if data is None:
        os.kill(child, signal.SIGKILL)
    status = _ended(child)
    if data is None:
        return None, None
    try:
        return _decoded(data, run), 0
    except Exception:  # nothing, or half an answer, or nonsense
        return None, os.waitstatus_to_exitcode(status)


def _ended(child: int) -> int:
    """Wait for a child that has closed its pipe; one that goes on all the same is killed."""
    end = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def _be_child(run: Run, pipe: int) -> None:
    """Answer and end, without a way back into the worker's code."""
    try:
        close_files({pipe} | (zygote_file() if run.isolated else set()))
        os.dup2(2, 1)  # what an agent prints is no output of the harness
        with os.fdopen(pipe, "wb") as file:
            file.write(_encoded(execute(run)))
    finally:
        os._exit(0)


def _encoded(outcome: Outcome) -> bytes:
    head = {"reason": outcome.reason, "seconds": outcome.seconds, "machine": outcome.machine}
    text = json.dumps(head).encode()
    body = pack(outcome.columns) if outcome.reason is None else b""
    return struct.pack("<Q", len(text)) + text + body


def _decoded(data: bytes, run: Run) -> Outcome:
    (length,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8 : 8 + length])
    columns = unpack(data[8 + length :]) if head["reason"] is None else {}
    reason = None if head["reason"] is None else str(head["reason"])
    return Outcome(
        run.key, reason, columns, float(head["seconds"]), dict(head["machine"]), run.sources
    )


def _read(pipe: int, seconds: float) -> bytes | None:
    """All that comes until the pipe is closed; None if it is not closed in time."""
    parts: list[bytes] = []
    end, size = time.monotonic() + seconds, 0
    while size <= MOST_BYTES:
        ready, _, _ = select.select([pipe], [], [], max(end - time.monotonic(), 0.0))
        if not ready:
            return None
        part = os.read(pipe, 2**20)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
    return None


def _over(run: Run) -> str:
    return f"took more than {run.limits.seconds:g} seconds"


def _place(error: BaseException) -> str:
    """Where an error came from: the author of the agent needs it."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""


def _printable(reason: str | None) -> str | None:
    """Fit for a file and a screen, whatever an agent put into its message."""
    if reason is None:
        return None
    text = reason.encode("utf-8", "replace").decode()
    return "".join(c if c.isprintable() else " " for c in text)[:MOST_LETTERS]


@contextlib.contextmanager
def _limited(limits: Limits) -> Iterator[None]:
    """Time and memory limits on the code inside, where the system has them."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield  # the pool's own limit must do
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = _address_space()
    if used is not None:
        most = used + int(limits.memory_mb * 2**20)
        hard = before[1]
        resource.setrlimit(
            resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
        )
    alarm = signal.signal(signal.SIGALRM, _over_time)
    signal.setitimer(signal.ITIMER_REAL, limits.seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, alarm)
        resource.setrlimit(resource.RLIMIT_AS, before)


def _over_time(signum: int, frame: FrameType | None) -> None:
    raise OverTimeError


def _address_space() -> int | None:
    """Bytes of address space in use, None where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return None
