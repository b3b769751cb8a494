"""Anybody's reward process becomes an environment."""

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


def test_a_plain_process() -> None:
    env = PeriodicBanditEnv(Tide(), horizon=30)
    check_env(env, skip_render_check=True)
    observation, info = env.reset(seed=0)
    assert observation[0] == info["t"] == 6
    assert env.observation_space.contains(observation)
    assert set(info["warm_start"]) == {"t", "action", "reward"}
    info["warm_start"]["reward"][:] = 99
    assert (env.reset(seed=0)[1]["warm_start"]["reward"] == 1).all()
    *_, info = env.step(np.array([0.0]))
    assert info["regret"] == pytest.approx((0.5 * np.sin(2 * np.pi * 6 / 12.4)) ** 2)
    for _ in range(29):
        observation, _, _, truncated, info = env.step(np.array([0.0]))
        assert env.observation_space.contains(observation)
    assert truncated
    assert observation[0] == 36
    assert info["t"] == 35


def test_a_plain_process_in_a_batch() -> None:
    batch = PeriodicBanditVectorEnv(Tide(), num_envs=2, horizon=30)
    _, infos = batch.reset(seed=0)
    assert infos["warm_start"]["reward"].shape == (2, 6)
    env = PeriodicBanditEnv(Tide(), horizon=30)
    env.reset(seed=1)
    actions = np.array([[0.1], [0.2]])
    _, rewards, _, _, infos = batch.step(actions)
    _, reward, _, _, info = env.step(actions[1])
    assert rewards[1] == pytest.approx(reward)
    assert infos["regret"][1] == pytest.approx(info["regret"])


def test_a_built_world_takes_no_more_arguments() -> None:
    with pytest.raises(ValueError, match="already built takes no 'dim'"):
        PeriodicBanditEnv(Tide(), dim=2)
    with pytest.raises(ValueError, match="expected a World or a RewardProcess"):
        PeriodicBanditEnv(object())


def test_a_table_is_enough() -> None:
    table = np.array([[1.0, 0.0, 0.5], [0.0, 2.0, 0.5]])
    process = FiniteProcess(values=table, rows=np.arange(10) % 2, period=2.0)
    env = PeriodicBanditEnv(process, horizon=10, noise_std=0.0)
    check_env(env, skip_render_check=True)
    env.reset(seed=0)
    assert [env.step(1)[4]["regret"] for _ in range(4)] == [1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": np.array([1.0, 2.0])},
        {"values": np.array([[1.0, np.nan]])},
        {"rows": np.array([0, 5])},
        {"rows": np.array([], dtype=int)},
        {"period": 0.0},
    ],
    ids=str,
)
def test_tables_are_checked(wrong: dict) -> None:
    good = {"values": np.eye(2), "rows": np.array([0, 1]), "period": 2.0}
    with pytest.raises(ValueError, match=r"table|rows|period"):
        FiniteProcess(**{**good, **wrong})


def test_time_is_exact_far_out() -> None:
    """A single-precision clock would stand still at 2**24."""

    class Far(Tide):
        public = PublicInfo(n_actions=None, dim=1, periods=(12.4,), first_step=2**24)
        warm_start = None

    env = PeriodicBanditEnv(Far(), horizon=4)
    times = [env.reset(seed=0)[0][0], *(env.step(np.zeros(1))[0][0] for _ in range(4))]
    assert times == [2**24 + i for i in range(5)]
