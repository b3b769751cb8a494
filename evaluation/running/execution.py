"""One run in this process: the world is made, the agent plays, the columns are packed."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from evaluation.protocol.tracks import TRAINING
from evaluation.references import reference_regrets
from evaluation.running.channel import AgentChannel
from evaluation.running.isolation import AgentFailedError, IsolatedAgent
from evaluation.running.play import play
from evaluation.running.process import OverTimeError, limited, worded
from evaluation.running.provenance import machine
from evaluation.running.record import Record, RecordError, check, pack
from evaluation.running.run import Run
from evaluation.running.sources import sources_of
from evaluation.running.training import learned_before, train
from periodic_envs.env import PeriodicBanditEnv


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
