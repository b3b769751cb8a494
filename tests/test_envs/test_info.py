"""The ``info`` of a step: its entries, its masks, and the switch that spares the regret."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import periodic_envs

NAMES = {
    *("t", "phase", "regret", "cumulative_regret", "mean_reward", "optimal_reward"),
    "optimal_action",
}


def vector(env_id: str, **kwargs: object) -> gym.vector.VectorEnv:
    return gym.make_vec(env_id, 3, vectorization_mode="vector_entry_point", **kwargs)


@pytest.mark.parametrize("env_id", periodic_envs.ids())
def test_info_adds_up_the_regret(env_id: str) -> None:
    env = gym.make(env_id, horizon=6)
    env.reset(seed=2)
    env.action_space.seed(0)
    infos = [env.step(env.action_space.sample())[4] for _ in range(6)]
    assert all(type(info) is dict and info.keys() - {"data_source"} == NAMES for info in infos)
    regrets = np.array([info["regret"] for info in infos])
    assert (regrets >= 0.0).all()
    np.testing.assert_allclose([i["cumulative_regret"] for i in infos], np.cumsum(regrets))
    lost = [info["optimal_reward"] - info["mean_reward"] for info in infos]
    np.testing.assert_allclose(regrets, np.maximum(lost, 0.0))


@pytest.mark.parametrize("make", [gym.make, vector])
def test_regret_can_be_spared(make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("draws", "process"):
        monkeypatch.setattr(f"periodic_envs.{module}.maximise", lambda *_: 1 / 0)
    env = make("PeriodicGP-Synthetic-v0", horizon=4, regret=False)
    full = make("PeriodicGP-SyntheticDiscrete-v0", horizon=4)
    spared = make("PeriodicGP-SyntheticDiscrete-v0", horizon=4, regret=False)
    for each in (env, full, spared):
        each.reset(seed=0)
    info = env.step(np.zeros_like(env.action_space.sample()))[4]
    assert {key for key in info if not key.startswith("_")} == {"t", "phase"}
    action = np.zeros_like(full.action_space.sample())
    np.testing.assert_array_equal(full.step(action)[1], spared.step(action)[1])


def test_render_needs_the_regret() -> None:
    with pytest.raises(ValueError, match="regret=True"):
        gym.make("PeriodicGP-Synthetic-v0", render_mode="ansi", regret=False)


def test_vector_masks_are_arrays_of_their_own() -> None:
    envs = gym.make_vec("PeriodicGP-Synthetic-v0", num_envs=3)
    envs.reset(seed=0)
    info = envs.step(envs.action_space.sample())[4]
    info["_regret"][:] = False
    assert info["_t"].all()


def test_wrappers_add_to_info() -> None:
    env = RecordEpisodeStatistics(vector("PeriodicGP-SyntheticDiscrete-v0", horizon=2))
    env.reset(seed=0)
    env.step(np.zeros(3, dtype=int))
    info = env.step(np.zeros(3, dtype=int))[4]
    assert info["episode"]["l"].tolist() == [2, 2, 2]
    assert info["cumulative_regret"].shape == (3,)
