"""The native vector environment is the scalar one, many times over."""

import json
import pickle

import gymnasium as gym
import numpy as np
import pytest

import periodic_envs
from periodic_envs.vector import AutoresetMode

SCALARS = ["t", "phase", "regret", "cumulative_regret", "mean_reward", "optimal_reward"]
VARIANTS = [(env_id, {}) for env_id in periodic_envs.ids()] + [
    ("PeriodicGP-Synthetic-v0", {"dim": 2}),
    ("PeriodicGP-Synthetic-v0", {"action_kernel": "linear", "period": 7.3}),
    ("PeriodicGP-Piecewise-v0", {"n_actions": 9, "noise": "student-t"}),
    ("PeriodicGP-HiddenPeriod-v0", {"reveal_period": True, "noise": "heteroscedastic"}),
    ("PeriodicGP-Contextual-v0", {"n_actions": 6}),
]


def vector(env_id: str, num_envs: int = 3, **kwargs: object) -> gym.vector.VectorEnv:
    return gym.make_vec(env_id, num_envs, vectorization_mode="vector_entry_point", **kwargs)


def assert_same_info(infos: dict, i: int, info: dict) -> None:
    """Copy i has the scalar env's info."""
    assert infos["_regret"][i]
    for key in SCALARS:
        assert infos[key][i] == pytest.approx(info[key], abs=1e-9), key
    np.testing.assert_array_equal(infos["optimal_action"][i], info["optimal_action"])
    assert infos["optimal_reward"][i] == info["optimal_reward"]


@pytest.mark.parametrize(
    ("env_id", "copies", "steps"),
    [("PeriodicGP-AlmostPeriodic-v0", 20, 50), ("PeriodicGP-Synthetic-v0", 60, 20)],
)
def test_a_batch_finds_the_very_optima_of_each_world(env_id, copies, steps) -> None:
    """To the last bit, which rounding by the shape of a batch would change once in some hundred."""
    batch = vector(env_id, copies, horizon=steps)
    batch.reset(seed=0)
    nowhere = np.zeros((copies, 1), dtype=np.float32)
    infos = [batch.step(nowhere)[4] for _ in range(steps)]
    for i in range(copies):
        env = gym.make(env_id, horizon=steps)
        env.reset(seed=i)
        alone = [env.step(nowhere[i])[4] for _ in range(steps)]
        for key in ("optimal_action", "optimal_reward"):
            together = [info[key][i] for info in infos]
            np.testing.assert_array_equal(together, [info[key] for info in alone], err_msg=key)


@pytest.mark.parametrize(("env_id", "kwargs"), VARIANTS, ids=lambda value: str(value))
def test_equals_the_scalar_env_step_by_step(env_id: str, kwargs: dict) -> None:
    """Through the end of an episode and into the next, with next-step autoreset."""
    kwargs = {**kwargs, "horizon": 25}
    batch = vector(env_id, **kwargs)
    singles = [gym.make(env_id, **kwargs) for _ in range(3)]
    observations, infos = batch.reset(seed=10)
    starts = [env.reset(seed=10 + i) for i, env in enumerate(singles)]
    np.testing.assert_allclose(observations, [s[0] for s in starts], atol=1e-12)
    assert infos["_t"].all()
    batch.action_space.seed(0)
    over = False
    for _ in range(40):
        actions = batch.action_space.sample()
        observations, rewards, terminated, truncated, infos = batch.step(actions)
        assert observations in batch.observation_space
        assert not terminated.any()
        for i, env in enumerate(singles):
            if over:
                observation, _ = env.reset()
                reward, truncation = 0.0, False
                assert "regret" not in infos
            else:
                observation, reward, _, truncation, info = env.step(actions[i])
                assert_same_info(infos, i, info)
            np.testing.assert_allclose(observations[i], observation, atol=1e-12)
            assert rewards[i] == pytest.approx(reward, abs=1e-9)
            assert truncated[i] == truncation
        over = bool(truncated.all())


@pytest.mark.parametrize("env_id", periodic_envs.ids())
def test_spec_is_json_and_picklable(env_id: str) -> None:
    batch = vector(env_id)
    batch.reset(seed=0)
    assert json.loads(batch.spec.to_json())["id"] == env_id
    copy = pickle.loads(pickle.dumps(batch))
    actions = batch.action_space.sample()
    np.testing.assert_array_equal(batch.step(actions)[1], copy.step(actions)[1])


def test_next_step_autoreset_is_declared() -> None:
    assert vector("PeriodicGP-Synthetic-v0").metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


def test_same_step_autoreset() -> None:
    batch = vector("PeriodicGP-Synthetic-v0", horizon=4, autoreset_mode="SameStep")
    plain = vector("PeriodicGP-Synthetic-v0", horizon=4)
    for env in (batch, plain):
        env.reset(seed=3)
    actions = np.zeros((3, 1), dtype=np.float32)
    for _ in range(4):
        observations, rewards, _, truncated, infos = batch.step(actions)
        last, last_rewards, _, _, last_infos = plain.step(actions)
    assert truncated.all()
    np.testing.assert_array_equal(rewards, last_rewards)
    np.testing.assert_array_equal(np.stack(infos["final_obs"]), last)
    np.testing.assert_array_equal(infos["final_info"]["regret"], last_infos["regret"])
    first, *_ = plain.step(actions)
    np.testing.assert_array_equal(observations, first)
    np.testing.assert_array_equal(batch.step(actions)[1], plain.step(actions)[1])


def test_disabled_autoreset() -> None:
    batch = vector("PeriodicGP-Synthetic-v0", horizon=2, autoreset_mode="Disabled")
    batch.reset(seed=3)
    actions = np.zeros((3, 1), dtype=np.float32)
    batch.step(actions)
    assert batch.step(actions)[3].all()
    with pytest.raises(gym.error.ResetNeeded):
        batch.step(actions)
    batch.reset(options={"reset_mask": np.ones(3, dtype=bool)})
    with pytest.raises(ValueError, match="reset_mask must be all True"):
        batch.reset(options={"reset_mask": np.array([True, False, False])})


def test_fresh_objects_on_each_call() -> None:
    batch = vector("PeriodicGP-SyntheticDiscrete-v0")
    calls = [batch.reset(seed=0)]
    for _ in range(2):
        observations, rewards, terminated, truncated, infos = batch.step(np.zeros(3, dtype=int))
        calls.append((observations, rewards, terminated, truncated, infos))
    arrays = [[*call[:-1], *call[-1].values()] for call in calls]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert not any(np.shares_memory(a, b) for a in arrays[one] for b in arrays[other])


def test_seeds_by_list_and_going_on() -> None:
    batch = vector("PeriodicGP-SyntheticDiscrete-v0")
    actions = np.zeros(3, dtype=int)
    batch.reset(seed=[5, 6, 5])
    rewards = batch.step(actions)[1]
    assert rewards[0] == rewards[2] != rewards[1]
    assert batch.np_random_seed == (5, 6, 5)
    batch.reset()
    assert batch.step(actions)[1][0] != rewards[0]
    with pytest.raises(ValueError, match="seed must have 3 entries, got 2"):
        batch.reset(seed=[1, 2])


def test_time_limit_shortens_episodes() -> None:
    batch = vector("PeriodicGP-Synthetic-v0", max_episode_steps=2)
    batch.reset(seed=0)
    actions = np.zeros((3, 1), dtype=np.float32)
    assert not batch.step(actions)[3].any()
    assert batch.step(actions)[3].all()


@pytest.mark.parametrize(
    ("env_id", "actions", "message"),
    [
        ("PeriodicGP-Synthetic-v0", np.zeros(3), r"numbers of shape \(3, 1\), got array"),
        ("PeriodicGP-Synthetic-v0", np.full((3, 1), np.nan), r"entries in \[-1, 1\]"),
        ("PeriodicGP-Synthetic-v0", np.full((3, 1), 1.5), r"entries in \[-1, 1\]"),
        ("PeriodicGP-RideShare-v0", np.full(3, 12), r"in \[0, 11\]"),
        ("PeriodicGP-RideShare-v0", np.full(3, -1), r"in \[0, 11\]"),
        ("PeriodicGP-RideShare-v0", np.full(3, 0.5), "whole numbers in"),
        ("PeriodicGP-RideShare-v0", np.array(["a", "b", "c"]), "must be numbers of shape"),
    ],
)
def test_bad_actions(env_id: str, actions: np.ndarray, message: str) -> None:
    batch = vector(env_id)
    with pytest.raises(gym.error.ResetNeeded):
        batch.step(actions)
    batch.reset(seed=0)
    with pytest.raises(gym.error.InvalidAction, match=message):
        batch.step(actions)
