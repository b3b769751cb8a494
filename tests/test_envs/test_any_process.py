"""Environments made from any reward process."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from periodic_envs import (
    PeriodicBanditEnv,
    PeriodicBanditVectorEnv,
    PublicInfo,
    RewardProcess,
    WarmStart,
)
from periodic_envs.process import FiniteProcess
from tests.test_envs.envs import SYNTHETIC, make


class Tide(RewardProcess):
    """The best spot on the beach follows the tide."""

    period = 12.4
    public = PublicInfo(n_actions=None, dim=1, periods=(12.4,), first_step=6)
    warm_start = WarmStart(np.arange(6), np.zeros((6, 1), dtype=np.float32), np.ones(6))

    def mean(self, actions, t):
        return -np.sum((np.asarray(actions) - self._level(t)) ** 2, axis=-1)

    def optimum(self, t):
        return np.array([self._level(t)], dtype=np.float32), 0.0

    def _level(self, t):
        return 0.5 * np.sin(2 * np.pi * t / self.period)


def test_process_becomes_an_env() -> None:
    env = PeriodicBanditEnv(Tide(), horizon=30)
    check_env(env, skip_render_check=True)
    observation, info = env.reset(seed=0)
    assert observation[0] == info["t"] == 6
    info["warm_start"]["reward"][:] = 99
    assert (env.reset(seed=0)[1]["warm_start"]["reward"] == 1).all()
    steps = [env.step(np.array([0.0])) for _ in range(30)]
    assert steps[0][4]["regret"] == pytest.approx((0.5 * np.sin(2 * np.pi * 6 / 12.4)) ** 2)
    observation, _, _, truncated, info = steps[-1]
    assert (truncated, observation[0], info["t"]) == (True, 36, 35)


def test_process_becomes_a_batch() -> None:
    env = PeriodicBanditEnv(Tide(), horizon=30)
    batch = PeriodicBanditVectorEnv(Tide(), num_envs=2, horizon=30)
    _, infos = batch.reset(seed=0)
    assert infos["warm_start"]["reward"].shape == (2, 6)
    env.reset(seed=1)
    actions = np.array([[0.1], [0.2]])
    _, rewards, _, _, infos = batch.step(actions)
    _, reward, _, _, info = env.step(actions[1])
    assert rewards[1] == pytest.approx(reward)
    assert infos["regret"][1] == pytest.approx(info["regret"])


def test_table_becomes_an_env() -> None:
    table = np.array([[1.0, 0.0, 0.5], [0.0, 2.0, 0.5]])
    process = FiniteProcess(values=table, rows=np.arange(10) % 2, period=2.0)
    env = PeriodicBanditEnv(process, horizon=10, noise_std=0.0)
    env.reset(seed=0)
    assert process.changes is None
    assert [env.step(1)[4]["regret"] for _ in range(4)] == [1.0, 0.0, 1.0, 0.0]


TABLE = {"values": np.eye(2), "rows": np.array([0, 1]), "period": 2.0}


@pytest.mark.parametrize(
    ("kind", "arguments", "name"),
    [
        (FiniteProcess, TABLE | {"values": np.array([1.0, 2.0])}, "table"),
        (FiniteProcess, TABLE | {"values": np.array([[1.0, np.nan]])}, "table"),
        (FiniteProcess, TABLE | {"rows": np.array([0, 5])}, "rows"),
        (FiniteProcess, TABLE | {"rows": np.array([], dtype=int)}, "rows"),
        (FiniteProcess, TABLE | {"period": 0.0}, "period"),
        (PeriodicBanditEnv, {"world": Tide(), "dim": 2}, "'dim'"),
        (PeriodicBanditEnv, {"world": Tide(), "render_mode": "hologram"}, "render_mode"),
        (PeriodicBanditEnv, {"world": object()}, "World"),
    ],
)
def test_process_and_env_reject_bad_arguments(kind: type, arguments: dict, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        kind(**arguments)


def test_random_period_is_public_if_it_is_revealed() -> None:
    for reveal in (True, False):
        env = make("PeriodicGP-HiddenPeriod-v0", reveal_period=reveal)
        assert env.public.periods == ()  # nothing has been drawn
        env.reset(seed=0)
        assert env.public.periods == ((env.episode.process.period,) if reveal else ())
    assert make(SYNTHETIC).public.periods
