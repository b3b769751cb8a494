"""Properties of every registered id; a new id is tested without an edit here."""

import importlib
import inspect
import json
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env, data_equivalence

import periodic_envs
from tests.test_envs.envs import ARMS, SYNTHETIC, episode, make

HEADINGS = [
    *("Description", "Action Space", "Observation Space", "Rewards", "Starting State"),
    *("Episode End", "Arguments", "Version History"),
]
every_id = pytest.mark.parametrize("env_id", periodic_envs.ids())


def is_replay(env_id: str) -> bool:
    origin = make(env_id).setup.origin
    return origin is not None and origin.replay


@every_id
def test_env_passes_the_checkers(env_id: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    check_env(make(env_id), skip_render_check=env_id != ARMS)
    checker.check_env(gym.make(env_id), warn=True)


@every_id
def test_env_is_remade_from_its_spec(env_id: str) -> None:
    registered = gym.spec(env_id)
    assert json.loads(json.dumps(registered.kwargs)) == registered.kwargs
    assert registered.max_episode_steps is None  # it depends on the arguments
    env = gym.make(env_id, horizon=9)
    assert env.spec.max_episode_steps == 9
    again = EnvSpec.from_json(env.spec.to_json())
    assert again == env.spec
    assert data_equivalence(episode(gym.make(again), 3, steps=9), episode(env, 3, steps=9))


@every_id
def test_world_documents_its_sections_and_arguments(env_id: str) -> None:
    world = type(make(env_id).setup.world)
    text = inspect.cleandoc(world.__doc__ or "")
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == HEADINGS
    arguments = text.partition("## Arguments")[2]
    own = set(vars(world).get("__annotations__", {})) - {"period"}
    assert all(f"``{name}``" in arguments for name in own)


@every_id
def test_env_of_another_horizon_begins_alike_unless_documented(env_id: str) -> None:
    """Up to round-off: products of larger matrices are summed in another order."""
    long = make(env_id)
    half = max(1, long.horizon // 2)
    drawn = []
    for env in (long, make(env_id, horizon=half)):
        env.reset(seed=3)
        best = [env.episode.process.optimum(env.public.first_step + i)[1] for i in range(half)]
        drawn.append([best, env.episode.noise[:half], env.episode.observations[: half + 1]])
    same = all(np.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in zip(*drawn, strict=True))
    text = " ".join((type(long.setup.world).__doc__ or "").split())
    assert same != ("with another ``horizon``, the same seed" in text)


@every_id
def test_reset_repeats_a_seed_and_goes_on_without(env_id: str) -> None:
    env = gym.make(env_id)
    first = episode(env, seed=7)
    other = episode(env, seed=8)
    assert data_equivalence(first, episode(env, seed=7), exact=True)
    assert data_equivalence(first, episode(gym.make(env_id), seed=7), exact=True)
    following = episode(env, seed=None)
    for different in (other, following):
        assert data_equivalence(first, different) == is_replay(env_id)


@every_id
def test_randomness_does_not_depend_on_the_actions(env_id: str) -> None:
    envs = [gym.make(env_id), gym.make(env_id)]
    traces = [episode(env, seed=5, actions_seed=i) for i, env in enumerate(envs)]
    for (_, reward, *_, info), (_, other, *_, infos) in zip(*(t[1:] for t in traces), strict=True):
        assert info["optimal_reward"] == infos["optimal_reward"]
        if make(env_id).noise_std is not None:
            noise = other - infos["mean_reward"]
            assert reward - info["mean_reward"] == pytest.approx(noise, abs=1e-12)
    action = envs[0].action_space.sample()
    ends = [env.step(action)[:2] for env in envs]
    assert data_equivalence(*ends, exact=True)


@every_id
def test_pickle_continues_the_episode(env_id: str) -> None:
    env = make(env_id)
    episode(env, seed=3, steps=5)
    copy = pickle.loads(pickle.dumps(env))
    action = env.action_space.sample()
    for _ in range(3):
        assert data_equivalence(env.step(action), copy.step(action), exact=True)


@every_id
def test_step_reports_time_phase_and_regret(env_id: str) -> None:
    env = make(env_id, horizon=50)
    (_, start), *steps = episode(env, seed=1, steps=50)
    t, infos = start["t"] + np.arange(50), [step[4] for step in steps]
    info = {key: np.array([one[key] for one in infos]) for key in infos[0]}
    assert [step[2:4] for step in steps] == [(False, False)] * 49 + [(False, True)]
    np.testing.assert_array_equal(info["t"], t)
    np.testing.assert_allclose(info["phase"], t % env.episode.process.period)
    loss = info["optimal_reward"] - info["mean_reward"]
    assert loss.min() >= -1e-9  # regret is clipped for round-off only
    np.testing.assert_allclose(info["regret"], np.maximum(loss, 0.0), atol=1e-9)
    np.testing.assert_allclose(info["cumulative_regret"], np.cumsum(info["regret"]))
    observations = np.array([step[0] for step in steps])
    np.testing.assert_array_equal(observations[:, 0], t + 1)
    if "cos_phase" in env.observation_fields:
        waves = np.exp(2j * np.pi * (t + 1) / env.episode.process.period)
        np.testing.assert_allclose(observations[:, 1:3] @ [1, 1j], waves, atol=1e-9)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(env.action_space.sample())


@every_id
def test_hidden_period_is_in_nothing_public(env_id: str) -> None:
    env = make(env_id, reveal_period=False)
    assert env.public.periods == ()
    assert {"cos_phase", "sin_phase"}.isdisjoint(env.observation_fields)
    assert env.observation_space.shape == (len(env.observation_fields),)


@every_id
def test_optimum_is_the_best_on_a_fine_grid(env_id: str) -> None:
    env = make(env_id)
    env.reset(seed=2)
    process = env.episode.process
    discrete = env.public.n_actions is not None
    grid = np.arange(env.public.n_actions) if discrete else np.linspace(-1, 1, 20_001)[:, None]
    for t in range(0, env.horizon, max(1, env.horizon // 40)):
        action, value = process.optimum(t)
        assert env.action_space.contains(action)
        assert np.max(process.mean(grid, t)) <= value + 1e-9
        assert float(process.mean(np.asarray(action), t)) == pytest.approx(value, abs=1e-9)


def test_reload_registers_the_same_ids_without_warning() -> None:
    before = periodic_envs.ids()
    importlib.reload(importlib.import_module("periodic_envs.worlds.synthetic"))
    importlib.reload(periodic_envs)
    assert periodic_envs.ids() == before
    assert gym.make(f"periodic_envs:{SYNTHETIC}").spec is not None


def test_step_returns_fresh_objects() -> None:
    env = make(SYNTHETIC)
    calls = [env.reset(seed=0), *(env.step(np.zeros(1)) for _ in range(2)), env.reset(seed=0)]
    for i, one in enumerate(calls):
        for other in calls[i + 1 :]:
            assert not np.shares_memory(one[0], other[0])
            assert one[-1] is not other[-1]
    optima = [call[-1]["optimal_action"] for call in calls[1:3]]
    assert not np.shares_memory(*optima)


@pytest.mark.parametrize("copies", [1, 3])
def test_regret_can_be_omitted(copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("draws", "process"):
        monkeypatch.setattr(f"periodic_envs.{module}.maximise", lambda *_: 1 / 0)
    env = gym.make_vec(SYNTHETIC, copies, vectorization_mode="vector_entry_point", regret=False)
    env = env if copies > 1 else gym.make(SYNTHETIC, regret=False)
    env.reset(seed=0)
    info = env.step(np.zeros_like(env.action_space.sample()))[4]
    assert {key for key in info if not key.startswith("_")} == {"t", "phase"}
    rewards = [episode(gym.make(ARMS, regret=regret), 0)[1][1] for regret in (True, False)]
    assert rewards[0] == rewards[1]
    with pytest.raises(ValueError, match="regret"):
        gym.make(SYNTHETIC, render_mode="ansi", regret=False)
