"""Worlds drawn for all copies at once are the worlds drawn one by one."""

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.special import wrightomega

import periodic_envs
from periodic_envs.data.madrid.simulator import wright_omega
from periodic_envs.fields import seasons
from periodic_envs.worlds.hidden_period import HiddenPeriod
from periodic_envs.worlds.switching import Switching

SEEDS = [0, 1, 77, 2**40, 5]
VARIANTS = [(env_id, {}) for env_id in periodic_envs.ids()] + [
    ("PeriodicGP-Synthetic-v0", {"dim": 2, "horizon": 30}),
    ("PeriodicGP-Synthetic-v0", {"dim": 3, "period": 7.3, "horizon": 30}),
    ("PeriodicGP-SyntheticDiscrete-v0", {"dim": 3}),
    ("PeriodicGP-Synthetic-v0", {"action_kernel": "linear"}),
    ("PeriodicGP-Piecewise-v0", {"n_actions": 9, "noise": "student-t"}),
    ("PeriodicGP-HiddenPeriod-v0", {"n_actions": 5, "reveal_period": True}),
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
BEFORE = Path(__file__).parents[1] / "golden" / "worlds.json"


def table_of(process: Any) -> np.ndarray:
    """What the process knows of each time."""
    table = process.values if hasattr(process, "values") else process.weights
    return np.asarray(table[process.rows])


@pytest.mark.parametrize(("env_id", "kwargs"), VARIANTS, ids=str)
def test_all_at_once_is_one_by_one(env_id: str, kwargs: dict) -> None:
    """To the last bit, and the generators go on from the same place: two episodes each."""
    setup = gym.make(env_id, **kwargs).unwrapped.setup
    together = [np.random.default_rng(seed) for seed in SEEDS]
    alone = [np.random.default_rng(seed) for seed in SEEDS]
    aside = [np.random.default_rng(seed) for seed in SEEDS]
    for _ in range(2):
        batch = setup.draw_many(together)
        draws = setup.world.draw_many(aside, setup.horizon)
        for i, rng in enumerate(alone):
            episode = setup.draw(rng)
            np.testing.assert_array_equal(table_of(draws[i]), table_of(episode.process))
            np.testing.assert_array_equal(batch.noise[:, i], episode.noise)
            np.testing.assert_allclose(batch.observations[:, i], episode.observations, atol=1e-12)
            assert draws[i].period == episode.process.period
            assert rng.bit_generator.state == together[i].bit_generator.state
        aside = [np.random.default_rng() for _ in SEEDS]
        for one, other in zip(aside, together, strict=True):
            one.bit_generator.state = other.bit_generator.state


@pytest.mark.parametrize("env_id", periodic_envs.ids())
def test_same_step_autoreset_goes_on_like_the_scalar_env(env_id: str) -> None:
    batch = gym.make_vec(
        env_id,
        4,
        vectorization_mode="vector_entry_point",
        autoreset_mode="SameStep",
        horizon=3,
    )
    singles = [gym.make(env_id, horizon=3) for _ in range(4)]
    batch.reset(seed=SEEDS[:4])
    for env, seed in zip(singles, SEEDS, strict=False):
        env.reset(seed=seed)
    batch.action_space.seed(0)
    for _ in range(8):
        actions = batch.action_space.sample()
        observations, rewards, _, truncated, _ = batch.step(actions)
        for i, env in enumerate(singles):
            observation, reward, _, over, _ = env.step(actions[i])
            assert rewards[i] == pytest.approx(reward, abs=1e-9)
            assert truncated[i] == over
            if over:
                observation, _ = env.reset()
            np.testing.assert_allclose(observations[i], observation, atol=1e-12)


@pytest.mark.parametrize("env_id", periodic_envs.ids())
def test_resets_say_what_the_scalar_env_says(env_id: str) -> None:
    batch = gym.make_vec(env_id, 3, vectorization_mode="vector_entry_point")
    _, infos = batch.reset(seed=4)
    for i in range(3):
        _, info = gym.make(env_id).reset(seed=4 + i)
        assert set(infos) == {*info, *(f"_{key}" for key in info)}
        warm, warms = info.pop("warm_start", {}), infos.get("warm_start", {})
        for key, value in warm.items():
            np.testing.assert_array_equal(warms[key][i], value)
            assert warms[key].dtype == value.dtype
        assert {key: infos[key][i] for key in info} == info


def test_worlds_are_those_of_the_first_version() -> None:
    """An id never changes what it gives. Written before draws were made all at once.

    For seeds 0 and 1: sums over actions (or weights) at the first and the last time, noise, and the
    state of the generator afterwards.
    """
    for env_id, seeds in json.loads(BEFORE.read_text()).items():
        for seed, known in seeds.items():
            env = gym.make(env_id).unwrapped
            env.reset(seed=int(seed))
            table = table_of(env.episode.process)
            sums = [table[0].sum(), table[-1].sum()]
            assert sums == pytest.approx(known["table"], rel=1e-9, abs=1e-9), env_id
            noise = np.ravel(env.episode.noise)
            assert [noise[0], noise[-1]] == pytest.approx(known["noise"], rel=1e-12), env_id
            assert env.np_random.bit_generator.state["state"]["state"] == known["state"], env_id


def test_features_of_a_season_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    original = seasons.season_features

    def counting(*args: Any) -> np.ndarray:
        made.append(args)
        return original(*args)

    monkeypatch.setattr(seasons, "season_features", counting)
    for horizon, times in ((60, 1), (seasons.MAX_KEPT_ROWS + 1, 3)):
        made.clear()
        env = gym.make("PeriodicGP-Synthetic-v0", period=31.25, horizon=horizon)
        for _ in range(3):
            env.reset()
        assert len(made) == times


@pytest.mark.parametrize(("phases", "steps"), [(4, 4), (4, 12), (4, 10), (600, 600)])
def test_products_of_two_kernels(phases: int, steps: int) -> None:
    """Against the product with all products of their features."""
    rng = np.random.default_rng(0)
    season, others = rng.standard_normal((phases, 3)), rng.standard_normal((steps, 5))
    normal = rng.standard_normal((3, 5, 7))
    rows = season[np.arange(steps) % phases]
    features = (rows[:, :, None] * others[:, None, :]).reshape(steps, -1)
    found = seasons.product_draw(season, others, normal)
    np.testing.assert_allclose(found, features @ normal.reshape(15, 7), atol=1e-12)


@pytest.mark.parametrize("length_scale", [0.2, 1.0, 1e4])
def test_waves_by_recurrence(length_scale: float) -> None:
    times, periods = np.arange(400), np.array([10.0, 17.3])
    amplitude = np.sqrt(seasons.harmonic_power(length_scale))
    waves = seasons.unit_waves(times, periods, len(amplitude) - 1)
    scaled = waves * np.concatenate([amplitude, amplitude[1:]])
    for found, period in zip(scaled, periods, strict=True):
        expected = seasons.season_features(times, period, length_scale)
        np.testing.assert_allclose(found, expected, atol=1e-11)


@pytest.mark.parametrize("drift", [0.0, 0.02, 1.0])
def test_the_drift_is_a_filter(drift: float) -> None:
    world = Switching(drift=drift)
    process = world.draw(np.random.default_rng(3), 50)
    features = seasons.season_features(np.arange(50), world.period, world.time_length_scale)
    rng = np.random.default_rng(3)
    shocks = rng.standard_normal((50, features.shape[1], process.weights.shape[1]))
    shocks[1:] *= np.sqrt(drift)
    path = lfilter([1.0], [1.0, -np.sqrt(1.0 - drift)], shocks, axis=0)
    expected = np.einsum("tq,tqm->tm", features, path) * process.basis.scale
    np.testing.assert_allclose(process.weights, expected, atol=1e-12)


def test_periods_of_a_batch_are_each_copys_own() -> None:
    world = HiddenPeriod()
    draws = world.draw_many([np.random.default_rng(seed) for seed in SEEDS], 20)
    assert len(set(draws.periods.tolist())) == len(SEEDS)


def test_wright_omega() -> None:
    x = np.linspace(-600.0, 900.0, 20_001)
    np.testing.assert_allclose(wright_omega(x), wrightomega(x), rtol=1e-14)
