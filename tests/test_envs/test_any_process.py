"""Anybody's reward process becomes an environment."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from periodic_envs import PeriodicBanditEnv, PeriodicBanditVectorEnv, Public, WarmStart


class Tide:
    """A plain object: the best spot on the beach follows the tide."""

    period = 12.4
    first_step = 6
    public = Public(n_actions=None, dim=1, periods=(12.4,))
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
    with pytest.raises(TypeError, match="already built takes no 'dim'"):
        PeriodicBanditEnv(Tide(), dim=2)
    assert isinstance(PeriodicBanditEnv(Tide()), gym.Env)
