"""The native vector environment is the scalar one, many times over."""

import json
import pickle
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from scipy.signal import lfilter

import periodic_envs
from periodic_envs.fields import seasons
from periodic_envs.worlds.switching import Switching
from tests.test_envs.envs import ARMS, SYNTHETIC, make, vector

EVERY_ID = [(env_id, {}) for env_id in periodic_envs.ids()]
STEPPED = [
    (SYNTHETIC, {"dim": 2, "action_width": 2.0, "horizon": 3}),
    (SYNTHETIC, {"action_kernel": "linear", "period": 7.3}),
    ("PeriodicGP-Piecewise-v0", {"n_actions": 9, "noise": "student-t"}),
    ("PeriodicGP-HiddenPeriod-v0", {"reveal_period": True, "noise": "heteroscedastic"}),
    ("PeriodicGP-Contextual-v0", {"n_actions": 6}),
]
DRAWN = [
    (SYNTHETIC, {"dim": 2, "horizon": 30}),
    (SYNTHETIC, {"dim": 3, "period": 7.3, "horizon": 30}),
    (ARMS, {"dim": 3}),
    *STEPPED[1:4],
    ("PeriodicGP-HiddenPeriod-v0", {"n_actions": 5}),
    ("PeriodicGP-Contextual-v0", {"n_actions": 6, "period": 7.3, "context_dim": 1}),
    ("PeriodicGP-MultiSeason-v0", {"period": 23.0, "horizon": 61}),
    ("PeriodicGP-Switching-v0", {"drift": 1.0, "horizon": 37, "noise": "heteroscedastic"}),
    ("PeriodicGP-MadridSim-v0", {"stations": [4, 8, 11], "objective": "min", "days": 4}),
    ("PeriodicGP-MadridSim-v0", {"start": "2018-12-30", "warm_start_days": 0}),
    ("PeriodicGP-RideShare-v0", {"noise": "none"}),
    ("PeriodicGP-Shift-v0", {"change": ["period", "amplitude"], "n_actions": None, "horizon": 50}),
    ("PeriodicGP-Shift-v0", {"change": "swap", "notify": "full", "n_actions": 5, "changes": 3}),
    ("PeriodicGP-Shift-v0", {"dim": 3, "change": ["swap", "phase"], "notify": "change"}),
    ("PeriodicGP-Shift-v0", {"changes": 0, "notify": "full", "horizon": 20}),
]
GOLDEN = Path(__file__).parents[1] / "golden" / "worlds.json"


def rewards_of(process: Any) -> np.ndarray:
    """Return the tabulated values or weights at each time."""
    table = process.values if hasattr(process, "values") else process.weights
    return np.asarray(table[process.rows])


def assert_same_info(infos: dict, copy: int, info: dict) -> None:
    """Compare the entries of a copy, and of dictionaries in it, with those of a scalar env."""
    assert set(infos) == {*info, *(f"_{key}" for key in info)}
    for key, value in info.items():
        assert infos[f"_{key}"][copy]
        if isinstance(value, dict):
            assert_same_info(infos[key], copy, value)
        elif isinstance(value, str):
            assert infos[key][copy] == value
        else:
            np.testing.assert_allclose(infos[key][copy], value, atol=1e-9, err_msg=key)
            assert np.asarray(infos[key]).dtype == np.asarray(value).dtype


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize(("env_id", "kwargs"), EVERY_ID + STEPPED, ids=str)
def test_vector_steps_like_scalar_envs(env_id: str, kwargs: dict, mode: str) -> None:
    """Through the ends of episodes and into the next ones."""
    kwargs = {"horizon": 6, **kwargs}
    batch = vector(env_id, autoreset_mode=mode, **kwargs)
    singles = [make(env_id, **kwargs) for _ in range(3)]
    observations, infos = batch.reset(seed=10)
    for i, env in enumerate(singles):
        observation, info = env.reset(seed=10 + i)
        np.testing.assert_allclose(observations[i], observation, atol=1e-12)
        assert_same_info(infos, i, info)
    batch.action_space.seed(0)
    over = False
    for _ in range(15):
        actions = batch.action_space.sample()
        observations, rewards, terminated, truncated, infos = batch.step(actions)
        assert observations in batch.observation_space
        assert not terminated.any()
        for i, env in enumerate(singles):
            if over and mode == "NextStep":  # this call only resets
                observation, info = env.reset()
                reward, end = 0.0, False
            else:
                observation, reward, _, end, info = env.step(actions[i])
            assert rewards[i] == pytest.approx(reward, abs=1e-9)
            assert truncated[i] == end
            if end and mode == "SameStep":
                np.testing.assert_allclose(infos["final_obs"][i], observation, atol=1e-12)
                assert_same_info(infos["final_info"], i, info)
                observation, _ = env.reset()
            else:
                assert_same_info(infos, i, info)
            np.testing.assert_allclose(observations[i], observation, atol=1e-12)
        over = bool(truncated.all())


@pytest.mark.parametrize(("env_id", "kwargs"), EVERY_ID + DRAWN, ids=str)
def test_vector_draws_are_the_scalar_draws_to_the_last_bit(env_id: str, kwargs: dict) -> None:
    """The generators continue from the same state, too: two episodes each."""
    setup = make(env_id, **kwargs).setup
    seeds = [0, 1, 77, 2**40, 5]
    together, aside, alone = ([np.random.default_rng(seed) for seed in seeds] for _ in range(3))
    for _ in range(2):
        for one, other in zip(aside, together, strict=True):
            one.bit_generator.state = other.bit_generator.state
        batch, draws = setup.draw_many(together), setup.world.draw_many(aside, setup.horizon)
        for i, rng in enumerate(alone):
            episode = setup.draw(rng)
            np.testing.assert_array_equal(rewards_of(draws[i]), rewards_of(episode.process))
            np.testing.assert_array_equal(batch.noise[:, i], episode.noise)
            np.testing.assert_allclose(batch.observations[:, i], episode.observations, atol=1e-12)
            assert draws[i].period == episode.process.period
            assert rng.bit_generator.state == together[i].bit_generator.state


@pytest.mark.parametrize(
    ("env_id", "copies"), [("PeriodicGP-AlmostPeriodic-v0", 20), (SYNTHETIC, 60)]
)
def test_vector_optima_are_the_scalar_optima_to_the_last_bit(env_id: str, copies: int) -> None:
    """Rounding by the shape of a batch would change one in some hundred."""
    batch = vector(env_id, copies, horizon=20)
    batch.reset(seed=0)
    nowhere = np.zeros((copies, 1), dtype=np.float32)
    infos = [batch.step(nowhere)[4] for _ in range(20)]
    for i in range(copies):
        env = make(env_id, horizon=20)
        env.reset(seed=i)
        for info in infos:
            alone = env.step(nowhere[i])[4]
            for key in ("optimal_action", "optimal_reward"):
                np.testing.assert_array_equal(info[key][i], alone[key])


def test_worlds_draw_as_in_the_first_version() -> None:
    """For seeds 0 and 1: sums over actions (or weights) at the first and the last time, noise, and
    the state of the generator afterwards.
    """
    for env_id, seeds in json.loads(GOLDEN.read_text()).items():
        for seed, known in seeds.items():
            env = make(env_id)
            env.reset(seed=int(seed))
            rewards, noise = rewards_of(env.episode.process), np.ravel(env.episode.noise)
            sums = [rewards[0].sum(), rewards[-1].sum()]
            assert sums == pytest.approx(known["table"], rel=1e-9, abs=1e-9), env_id
            assert [noise[0], noise[-1]] == pytest.approx(known["noise"], rel=1e-12), env_id
            assert env.np_random.bit_generator.state["state"]["state"] == known["state"], env_id


@pytest.mark.parametrize("env_id", periodic_envs.ids())
def test_vector_is_remade_from_spec_and_pickle(env_id: str) -> None:
    batch = vector(env_id)
    batch.reset(seed=0)
    assert json.loads(batch.spec.to_json())["id"] == env_id
    copy = pickle.loads(pickle.dumps(batch))
    actions = batch.action_space.sample()
    np.testing.assert_array_equal(batch.step(actions)[1], copy.step(actions)[1])


def test_vector_without_autoreset_is_reset_as_a_whole() -> None:
    batch = vector(ARMS, horizon=2, autoreset_mode="Disabled")
    actions = np.zeros(3, dtype=int)
    batch.reset(seed=3)
    batch.step(actions)
    assert batch.step(actions)[3].all()
    with pytest.raises(gym.error.ResetNeeded):
        batch.step(actions)
    batch.reset(options={"reset_mask": np.ones(3, dtype=bool)})
    with pytest.raises(ValueError, match="reset_mask"):
        batch.reset(options={"reset_mask": np.array([True, False, False])})


def test_vector_returns_fresh_arrays() -> None:
    batch = vector(ARMS)
    calls = [batch.reset(seed=0), *(batch.step(np.zeros(3, dtype=int)) for _ in range(2))]
    arrays = [[*call[:-1], *call[-1].values()] for call in calls]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert not any(np.shares_memory(a, b) for a in arrays[one] for b in arrays[other])
    calls[1][4]["_regret"][:] = False
    assert calls[1][4]["_t"].all()


def test_vector_takes_a_list_of_seeds_and_goes_on_without() -> None:
    batch = vector(ARMS)
    actions = np.zeros(3, dtype=int)
    batch.reset(seed=[5, 6, 5])
    rewards = batch.step(actions)[1]
    assert rewards[0] == rewards[2] != rewards[1]
    assert batch.np_random_seed == (5, 6, 5)
    batch.reset()
    assert batch.step(actions)[1][0] != rewards[0]
    with pytest.raises(ValueError, match="seed"):
        batch.reset(seed=[1, 2])


def test_vector_works_with_limits_and_wrappers() -> None:
    env = RecordEpisodeStatistics(vector(ARMS, max_episode_steps=2))
    env.reset(seed=0)
    assert not env.step(np.zeros(3, dtype=int))[3].any()
    *_, truncated, info = env.step(np.zeros(3, dtype=int))
    assert truncated.all()
    assert info["episode"]["l"].tolist() == [2, 2, 2]
    assert vector(ARMS, horizon=7).spec.max_episode_steps == 7


@pytest.mark.parametrize(
    ("env_id", "actions"),
    [
        (SYNTHETIC, np.zeros(3)),
        (SYNTHETIC, np.full((3, 1), np.nan)),
        (SYNTHETIC, np.full((3, 1), 1.5)),
        ("PeriodicGP-RideShare-v0", np.full(3, 12)),
        ("PeriodicGP-RideShare-v0", np.full(3, -1)),
        ("PeriodicGP-RideShare-v0", np.full(3, 0.5)),
        ("PeriodicGP-RideShare-v0", np.array(["a", "b", "c"])),
    ],
)
def test_vector_rejects_bad_actions(env_id: str, actions: np.ndarray) -> None:
    batch = vector(env_id)
    with pytest.raises(gym.error.ResetNeeded):
        batch.step(actions)
    batch.reset(seed=0)
    with pytest.raises(gym.error.InvalidAction):
        batch.step(actions)


@pytest.mark.parametrize(("phases", "steps"), [(4, 4), (4, 12), (4, 10), (600, 600)])
def test_product_draw_is_the_product_of_all_features(phases: int, steps: int) -> None:
    rng = np.random.default_rng(0)
    season, others = rng.standard_normal((phases, 3)), rng.standard_normal((steps, 5))
    normal = rng.standard_normal((3, 5, 7))
    rows = season[np.arange(steps) % phases]
    features = (rows[:, :, None] * others[:, None, :]).reshape(steps, -1)
    actual = seasons.product_draw(season, others, normal)
    np.testing.assert_allclose(actual, features @ normal.reshape(15, 7), atol=1e-12)


@pytest.mark.parametrize("length_scale", [0.1, 1.0, 1e4])
def test_unit_waves_are_the_features_of_each_season(length_scale: float) -> None:
    times, periods = np.arange(400), np.array([10.0, 17.3])
    amplitude = np.sqrt(seasons.harmonic_power(length_scale))
    waves = seasons.unit_waves(times, periods, len(amplitude) - 1)
    scaled = waves * np.concatenate([amplitude, amplitude[1:]])
    for actual, period in zip(scaled, periods, strict=True):
        expected = seasons.season_features(times, period, length_scale)
        np.testing.assert_allclose(actual, expected, atol=1e-11)


@pytest.mark.parametrize("drift", [0.0, 0.02, 1.0])
def test_drift_is_a_filter_of_the_shocks(drift: float) -> None:
    world = Switching(drift=drift)
    process = world.draw(np.random.default_rng(3), 50)
    features = seasons.season_features(np.arange(50), world.period, world.time_length_scale)
    rng = np.random.default_rng(3)
    shocks = rng.standard_normal((50, features.shape[1], process.weights.shape[1]))
    shocks[1:] *= np.sqrt(drift)
    path = lfilter([1.0], [1.0, -np.sqrt(1.0 - drift)], shocks, axis=0)
    expected = np.einsum("tq,tqm->tm", features, path) * process.basis.scale
    np.testing.assert_allclose(process.weights, expected, atol=1e-12)
