"""What happens in a worker process: runs are run, each within its limits.

A worker never runs an agent itself: it forks a child for every run and supervises it
(``supervision.py``). It hands on what children say as it is; the driver checks it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
import warnings
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from threadpoolctl import threadpool_limits

from evaluation.keys import runner_source, sources_of
from evaluation.play import play
from evaluation.provenance import machine
from evaluation.record import Record, RecordError, check, pack
from evaluation.references import reference_columns
from evaluation.running.channel import AgentChannel
from evaluation.running.isolation import NONE, AgentFailedError, IsolatedAgent
from evaluation.running.ledger import Ledger
from evaluation.running.process import (
    OverTimeError,
    adopt_orphans,
    end_children,
    hide_from_others,
    limited,
    worded,
)
from evaluation.running.supervision import over_time, supervised, work_for
from evaluation.running.zygote import open_zygote, preload_of
from evaluation.runs import Run
from evaluation.sandbox import SandboxError
from evaluation.specs import TRAINING
from evaluation.training import learned_before, train
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.worlds.madrid import SimulatedDataWarning


def start_worker(environment: dict[str, str], driver: int) -> None:
    """Ctrl-C is the driver's to handle; what it knows of the data, the worker knows, too.

    Args:
        environment: Variables to set.
        driver: The process that this one works for, and ends with.
    """
    work_for(driver)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end_all)
    hide_from_others()
    adopt_orphans()
    os.environ.update(environment)
    # The driver has said so, once; every child of every worker would say it again.
    warnings.simplefilter("ignore", SimulatedDataWarning)
    warnings.filterwarnings("ignore", message=".*gaps are filled by missing=")
    prepare()
    # Sums of many terms depend on the number of threads: one everywhere, for equal numbers. What
    # is loaded later is told so by the environment.
    threadpool_limits(1)
    open_zygote()


def _end_all(signum: int, frame: FrameType | None) -> None:
    """The pool ends this worker: what it has started ends with it."""
    end_children()
    os._exit(0)


def prepare() -> None:
    """Do once what every child needs, before children are forked."""
    machine()
    runner_source()


def execute_here(runs: Sequence[Run]) -> list[Record]:
    """Run runs in this process, which is nobody's worker."""
    with threadpool_limits(1):  # as in workers
        return [execute(run) for run in runs]


def execute_all(runs: Sequence[Run], ledger: Path) -> None:
    """Run runs one after the other, each in a process of its own where the system can fork.

    Args:
        runs: Which.
        ledger: Where to write down that a run is begun, and what came of it.
    """
    for run in runs:
        preload(run)
    with Ledger(ledger) as written:
        for run in runs:
            written.begin()
            written.finish(supervised(run, execute) if hasattr(os, "fork") else execute(run))


_preloaded: set[tuple[str, str]] = set()
_worlds: dict[str, PeriodicBanditEnv] = {}
"""The environments of this worker's runs: children have copies, with all tables made."""
MAX_WORLDS = 32
"""After so many a worker begins anew: tables take memory."""


def preload(run: Run) -> None:
    """Make and import before forking what children need, once for all of them."""
    world = str(run.world)
    what = (world, "" if run.agent_spec is None else run.agent_spec.name)
    if what in _preloaded:
        return
    if world not in _worlds and len(_worlds) >= MAX_WORLDS:
        _preloaded.clear()
        _worlds.clear()
    _preloaded.add(what)
    with contextlib.suppress(Exception):  # the child will say what is missing or broken
        env = _worlds.get(world) or run.world.make()
        sources_of(env.setup.world, run.agent_spec)
        if type(env.setup.world).__module__.startswith("periodic_envs."):
            # A stranger's draw may hang or kill: that is for the child, which is watched over.
            env.reset(seed=0)
            _worlds[world] = env
    if run.agent_spec is None or run.isolation != NONE:
        return
    for module in preload_of(what[1]):
        with contextlib.suppress(Exception):
            import_module(module)


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
        reason = worded(error)
    seconds = time.perf_counter() - start
    return Record(run.key, reason, packed, seconds, machine(), run.sources)


def _columns(run: Run) -> dict[str, Any]:
    env = _worlds.get(str(run.world)) or run.world.make()
    if env.data_fingerprint != run.data:
        raise RuntimeError("this worker has other data than the driver: import the same there")
    if sources_of(env.setup.world, run.agent_spec) != run.sources:
        raise RuntimeError("this worker has other code than the driver: install the same there")
    if run.track == TRAINING:
        return train(run, env)
    if run.agent_spec is None:
        env.reset(seed=run.seed)
        return reference_columns(env)
    isolated = partial(
        IsolatedAgent,
        isolation=run.isolation,
        memory_mb=run.limits.memory_mb,
        cpu_seconds=run.limits.seconds,
    )
    found = play(
        run.world.as_played(env),
        run.agent_spec,
        run.seed,
        learned=learned_before(run),
        agent_seed=run.agent_seed,
        open_channel=AgentChannel if run.isolation == NONE else isolated,
    )
    return {
        "t": found.t,
        "action": found.action,
        "reward": found.reward,
        "regret": found.regret,
        "seconds": found.agent_seconds,
    }
