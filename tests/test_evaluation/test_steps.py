"""Replays of runs from their actions, and packed steps."""

import gymnasium as gym
import numpy as np
import pytest

from evaluation.leaderboard.steps import (
    RunReplay,
    max_step_bytes,
    read_steps,
    replays,
    uniform_regrets,
    write_steps,
)
from evaluation.protocol import Protocol
from evaluation.references import reference_regrets
from evaluation.runner import execute_all
from evaluation.runs import runs_of
from evaluation.specs import REFERENCES
from tests.test_evaluation.submissions import PROTOCOL


def test_replay_returns_the_columns_of_a_run() -> None:
    worlds = [
        {"id": "PeriodicGP-Synthetic-v0", "arguments": {"dim": 2}},
        "PeriodicGP-RideShare-v0:noise=poisson",
        "PeriodicGP-Madrid-v0",
        "PeriodicGP-SyntheticDiscrete-v0:delay=3,delay_lost=0.2",
    ]
    table = {"envs": worlds, "agents": ["random"], "seeds": "0:2", "horizon": 20}
    protocol = Protocol.from_dict(table)
    runs = [run for run in runs_of(protocol) if run.track != REFERENCES]
    records = execute_all(runs, workers=0)
    for run, replay in zip(runs, replays(protocol), strict=True):
        record = records[run.key]
        assert record.reason is None
        columns = replay.columns(record.columns["action"].reshape(replay.blank().shape))
        assert (replay.env, replay.seed) == (run.env, run.seed)
        for name in ("t", "reward", "regret"):
            np.testing.assert_array_equal(columns[name], record.columns[name])


def test_uniform_regrets_are_those_of_the_references() -> None:
    regrets = uniform_regrets(PROTOCOL, [2**70])
    assert len(regrets) == 14
    for (env, seed), regret in regrets.items():
        world = PROTOCOL.world(next(e for e in PROTOCOL.envs if e.label == env)).make()
        world.reset(seed=seed)
        assert regret == reference_regrets(world)["uniform-random"].sum()


@pytest.mark.parametrize(
    ("world", "arguments", "dtype"),
    [
        ("PeriodicGP-SyntheticDiscrete-v0", {"n_actions": 256}, "uint8"),
        ("PeriodicGP-SyntheticDiscrete-v0", {"n_actions": 257}, "uint16"),
        ("PeriodicGP-Synthetic-v0", {"dim": 3, "horizon": 50_000}, "float64"),
    ],
)
def test_read_steps_returns_written_steps(world: str, arguments: dict, dtype: str) -> None:
    env = gym.make(world, **arguments).unwrapped
    runs, rng = [RunReplay("a", 0, env), RunReplay("b", 1, env)], np.random.default_rng(0)
    assert runs[0].blank().dtype == dtype
    if env.public.n_actions:
        chosen = [rng.integers(env.public.n_actions, size=env.horizon) for _ in runs]
    else:
        chosen = [rng.uniform(-1, 1, (env.horizon, 3)) for _ in runs]
    read = read_steps(write_steps(runs, chosen), runs)
    assert len(write_steps(runs, chosen)) <= max_step_bytes(runs)
    for own, expected in zip(read, chosen, strict=True):
        np.testing.assert_array_equal(own, expected)
        assert own.dtype == expected.dtype
