"""What happens in a worker process: runs are run, each within its limits.

A worker never runs an agent itself. It forks a child for every run, so that whatever an agent
changes in its process (classes, signals, threads, memory) is gone with it, and supervises it: a
child that outlives its time is killed. Children answer in bytes of plain numbers, never in pickles:
an agent could have written those. The worker hands the bytes on; the driver checks them.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import sys
import time
import warnings
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from evaluation.protocol.tracks import TRAINING
from evaluation.references import reference_regrets
from evaluation.running.channel import AgentChannel
from evaluation.running.isolation import (
    AgentFailedError,
    IsolatedAgent,
    open_zygote,
    preload_of,
    zygote_file,
)
from evaluation.running.play import play
from evaluation.running.process import OverTimeError, close_files, hide_from_others, limited, worded
from evaluation.running.provenance import machine
from evaluation.running.record import MAX_BYTES, Record, RecordError, check, pack
from evaluation.running.run import Run
from evaluation.running.sources import runner_source, sources_of
from evaluation.running.training import learned_before, train
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.worlds.madrid import SimulatedDataWarning

ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL", "NUMEXPR", "VECLIB")
}
"""For the environment of workers: two that share cores must not fight over them."""
GRACE_SECONDS = 2.0
"""After its time a run may still say so itself; then it is killed."""
TRIES = 2
"""A child may have been killed from outside: it gets one more chance."""
_HEAD = struct.Struct("<Q?")
"""Before what a child says: how long it is, and whether it is the reason of a failure."""


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
    runner_source()


def execute_all(runs: Sequence[Run]) -> list[Record]:
    """Run runs one after the other, each in a process of its own where the system can fork."""
    for run in runs:
        _preload(run)
    return [_supervised(run) if hasattr(os, "fork") else execute(run) for run in runs]


_preloaded: set[tuple[str, str]] = set()


def _preload(run: Run) -> None:
    """Read and import before forking what children need, once for all of them."""
    what = (str(run.world), "" if run.agent_spec is None else run.agent_spec.name)
    if what in _preloaded:
        return
    _preloaded.add(what)
    with contextlib.suppress(Exception):  # the child will say what is missing or broken
        sources_of(run.world.make().setup.world, run.agent_spec)
        for module in () if run.isolated else preload_of(what[1]):
            import_module(module)


def _supervised(run: Run) -> Record:
    """Run one run in a child process."""
    for _ in range(TRIES):
        answer, status = _ask_child(run)
        if answer is not None:
            return answer
        if status is None:
            return Record(run.key, over_time(run), sources=run.sources)
    return Record(run.key, f"its process died (exit code {status})", sources=run.sources)


def _ask_child(run: Run) -> tuple[Record | None, int | None]:
    """What the child says, or None and its exit code, or None twice if it had to be killed."""
    sys.stdout.flush()
    sys.stderr.flush()
    start = time.perf_counter()
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
    head, body = data[: _HEAD.size], data[_HEAD.size :]
    if len(head) < _HEAD.size or _HEAD.unpack(head)[0] != len(body):  # nothing, or half an answer
        return None, os.waitstatus_to_exitcode(status)
    reason, packed = (body.decode("utf-8", "replace"), b"") if head[-1] else (None, body)
    # The clock and the machine are the worker's own: the child could say anything.
    seconds = time.perf_counter() - start
    return Record(run.key, reason, packed, seconds, machine(), run.sources), 0


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
        record = execute(run)
        failed = record.reason is not None
        body = str(record.reason).encode("utf-8", "replace") if failed else record.packed
        with os.fdopen(pipe, "wb") as file:
            file.write(_HEAD.pack(len(body), failed) + body)
    finally:
        os._exit(0)


def _read(pipe: int, seconds: float) -> bytes | None:
    """All that comes until the pipe is closed; None if it is not closed in time."""
    parts: list[bytes] = []
    end, size = time.monotonic() + seconds, 0
    while size <= MAX_BYTES:
        ready, _, _ = select.select([pipe], [], [], max(end - time.monotonic(), 0.0))
        if not ready:
            return None
        part = os.read(pipe, 2**20)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
    return None


def execute(run: Run) -> Record:
    """Run one run within its limits, in this process."""
    start = time.perf_counter()
    reason, packed = None, b""
    try:
        # Sums of many terms depend on the number of threads: one everywhere, for equal numbers.
        with threadpool_limits(1), limited(run.limits.seconds, run.limits.memory_mb):
            columns = _columns(run)
        check(columns, run)
        packed = pack(columns)
    except OverTimeError:
        reason = over_time(run)
    except MemoryError:
        reason = f"took more than {run.limits.memory_mb:g} MB of memory"
    except KeyboardInterrupt:
        raise
    except (AgentFailedError, RecordError) as error:
        reason = str(error)
    except BaseException as error:  # an agent can fail in any way, sys.exit() included
        reason = worded(error)
    seconds = time.perf_counter() - start
    return Record(run.key, reason, packed, seconds, machine(), run.sources)


def over_time(run: Run) -> str:
    """The reason of a run that took too long."""
    return f"took more than {run.limits.seconds:g} seconds"


def _columns(run: Run) -> dict[str, Any]:
    env = run.world.make()
    if env.data_fingerprint != run.data:
        raise RuntimeError("this worker has other data than the driver: import the same there")
    if sources_of(env.setup.world, run.agent_spec) != run.sources:
        raise RuntimeError("this worker has other code than the driver: install the same there")
    if run.track == TRAINING:
        return train(run, env)
    if run.agent_spec is None:
        return _references(run, env)
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


def _references(run: Run, env: PeriodicBanditEnv) -> dict[str, Any]:
    env.reset(seed=run.seed)
    assert env.episode is not None
    first = env.public.first_step
    times = np.arange(first, first + env.horizon)
    period = np.array([env.episode.process.period])
    return {"t": times, "period": period, **reference_regrets(env)}
