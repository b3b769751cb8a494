"""Every registered id keeps the promises of the suite: a new id is tested with no edit here."""

import importlib
import inspect
import json
import pickle
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env, data_equivalence

import periodic_envs
from periodic_envs.env import PeriodicBanditEnv

IDS = periodic_envs.ids()
HEADINGS = [
    "## Description",
    "## Action Space",
    "## Observation Space",
    "## Rewards",
    "## Starting State",
    "## Episode End",
    "## Arguments",
    "## Version History",
]
every_id = pytest.mark.parametrize("env_id", IDS)


def make(env_id: str, **kwargs: object) -> PeriodicBanditEnv:
    env = gym.make(env_id, **kwargs).unwrapped
    assert isinstance(env, PeriodicBanditEnv)
    return env


def episode(env: gym.Env, seed: int, actions_seed: int = 0, steps: int = 30) -> list[tuple]:
    env.action_space.seed(actions_seed)
    trace = [env.reset(seed=seed)]
    trace += [env.step(env.action_space.sample()) for _ in range(steps)]
    return trace


def is_replay(env: PeriodicBanditEnv) -> bool:
    return env.setup.origin is not None and env.setup.origin.replay


def test_the_worlds_are_there() -> None:
    names = "AlmostPeriodic Contextual HiddenPeriod MultiSeason Piecewise Replay RideShare "
    names += "Shift Stationary Switching Synthetic SyntheticDiscrete"
    assert {f"PeriodicGP-{name}-v0" for name in names.split()} <= set(IDS)


@every_id
def test_gymnasium_checker(env_id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(env_id).unwrapped)


@every_id
def test_stable_baselines3_checker(env_id: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(gym.make(env_id), warn=True)


@every_id
def test_registry_entry_is_plain_data(env_id: str) -> None:
    spec = gym.spec(env_id)
    assert isinstance(spec.entry_point, str)
    assert isinstance(spec.vector_entry_point, str)
    assert json.loads(json.dumps(spec.kwargs)) == spec.kwargs
    made = gym.make(env_id).spec
    assert made is not None
    again = EnvSpec.from_json(made.to_json())
    assert again == made
    assert data_equivalence(episode(gym.make(again), 3), episode(gym.make(env_id), 3))


@every_id
def test_docstring_has_the_fixed_headings(env_id: str) -> None:
    text = inspect.cleandoc(type(make(env_id).setup.world).__doc__ or "")
    found = [line for line in text.splitlines() if line.startswith("##")]
    assert found == HEADINGS
    assert len(text.splitlines()[0]) <= 100


@every_id
def test_documented_arguments_exist(env_id: str) -> None:
    """Every argument of the world itself is named under Arguments."""
    world = type(make(env_id).setup.world)
    own = set(vars(world).get("__annotations__", {})) - {"period"}
    section = (world.__doc__ or "").partition("## Arguments")[2]
    assert all(f"``{name}``" in section for name in own)


@every_id
def test_a_longer_horizon_goes_on_in_the_same_world_or_the_docstring_says_not(env_id: str) -> None:
    """Up to round-off: products of larger matrices are summed in another order."""
    long = make(env_id)
    half = max(1, long.horizon // 2)
    drawn = []
    for env in (long, make(env_id, horizon=half)):
        env.reset(seed=3)
        best = [env.episode.process.optimum(env.public.first_step + i)[1] for i in range(half)]
        drawn.append([best, env.episode.noise[:half], env.episode.observations[: half + 1]])
    same = all(np.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in zip(*drawn, strict=True))
    section = (type(long.setup.world).__doc__ or "").partition("## Arguments")[2]
    said = "with another ``horizon``, the same seed" in " ".join(section.split())
    assert same != said


@every_id
def test_same_seed_same_episode(env_id: str) -> None:
    env = gym.make(env_id)
    first = episode(env, seed=7)
    assert data_equivalence(first, episode(env, seed=7), exact=True)
    assert data_equivalence(first, episode(gym.make(env_id), seed=7), exact=True)
    assert data_equivalence(first, episode(env, seed=8)) == is_replay(make(env_id))


@every_id
def test_a_later_seed_recreates_the_world(env_id: str) -> None:
    env = gym.make(env_id)
    first = episode(env, seed=7)
    episode(env, seed=11)
    env.reset()
    assert data_equivalence(first, episode(env, seed=7), exact=True)


@every_id
def test_reset_without_seed_is_a_new_world(env_id: str) -> None:
    """Unless measurements are replayed: they are what they are."""
    env = make(env_id)
    env.action_space.seed(0)
    actions = np.array([env.action_space.sample() for _ in range(10)])

    def rewards() -> list[float]:
        first, process = env.public.first_step, env.episode.process
        return [float(process.mean(action, first + t)) for t, action in enumerate(actions)]

    env.reset(seed=7)
    before = rewards()
    env.reset()
    assert (rewards() == before) == is_replay(env)


@every_id
def test_randomness_does_not_depend_on_the_actions(env_id: str) -> None:
    """Two agents meet the same world and noise: pinned down on a shared last action."""
    traces = [episode(gym.make(env_id), seed=5, actions_seed=s) for s in (1, 2)]
    pairs = zip(traces[0][1:], traces[1][1:], strict=True)
    for (_, reward, *_, info), (_, other_reward, *_, other) in pairs:
        assert info["optimal_reward"] == other["optimal_reward"]
        if make(env_id).noise_std is not None:
            noise, other_noise = reward - info["mean_reward"], other_reward - other["mean_reward"]
            assert noise == pytest.approx(other_noise, abs=1e-12)
    envs = [gym.make(env_id), gym.make(env_id)]
    common = envs[0].action_space.sample()
    for seed, env in enumerate(envs):
        episode(env, seed=5, actions_seed=seed, steps=20)
    assert data_equivalence(
        tuple(envs[0].step(common)[:2]), tuple(envs[1].step(common)[:2]), exact=True
    )


@every_id
def test_pickle_in_the_middle_of_an_episode(env_id: str) -> None:
    env = make(env_id, render_mode="rgb_array")
    episode(env, seed=3, steps=5)
    env.render()
    copy = pickle.loads(pickle.dumps(env))
    action = env.action_space.sample()
    for _ in range(3):
        assert data_equivalence(env.step(action), copy.step(action), exact=True)
    assert np.array_equal(env.render(), copy.render())


@every_id
def test_info(env_id: str) -> None:
    env = make(env_id)
    _, start = env.reset(seed=1)
    assert {"t", "phase"} <= set(start)
    total, t = 0.0, start["t"]
    env.action_space.seed(0)
    while True:
        action = env.action_space.sample()
        observation, _, terminated, truncated, info = env.step(action)
        total += info["regret"]
        assert info["t"] == t
        assert info["phase"] == pytest.approx(t % env.episode.process.period)
        assert info["regret"] >= 0
        assert info["cumulative_regret"] == pytest.approx(total)
        assert info["mean_reward"] == pytest.approx(float(env.episode.process.mean(action, t)))
        gap = info["optimal_reward"] - info["mean_reward"]
        assert gap >= -1e-9  # regret is clipped for round-off only
        assert info["regret"] == pytest.approx(gap, abs=1e-9)
        assert observation in env.observation_space
        t += 1
        assert observation[0] == t
        assert not terminated
        if truncated:
            break
    assert t - start["t"] == env.horizon
    with pytest.raises(gym.error.ResetNeeded, match=r"call reset\(\)"):
        env.step(action)


@every_id
def test_declared_optimum_is_the_optimum(env_id: str) -> None:
    """No action on a fine grid does better, and the declared action does as well as declared."""
    env = make(env_id)
    env.reset(seed=2)
    process = env.episode.process
    if env.public.n_actions is not None:
        grid = np.arange(env.public.n_actions)
    else:
        grid = np.linspace(-1, 1, 20_001)[:, None]
    for t in range(0, env.horizon, max(1, env.horizon // 40)):
        action, value = process.optimum(t)
        assert env.action_space.contains(action)
        assert np.max(process.mean(grid, t)) <= value + 1e-9
        assert float(process.mean(np.asarray(action), t)) == pytest.approx(value, abs=1e-9)


@every_id
def test_observation(env_id: str) -> None:
    env = make(env_id)
    observation, _ = env.reset(seed=1)
    fields = env.observation_fields
    assert fields[0] == "t"
    assert len(fields) == len(observation)
    assert np.isfinite(env.observation_space.low).all()
    assert np.isfinite(env.observation_space.high).all()
    if "cos_phase" in fields:
        env.step(env.action_space.sample())
        observation = env.step(env.action_space.sample())[0]
        angle = 2 * np.pi * 2 / env.episode.process.period
        assert observation[1:3] == pytest.approx([np.cos(angle), np.sin(angle)])
    hidden = make(env_id, reveal_period=False)
    assert hidden.public.periods == ()
    assert {"cos_phase", "sin_phase"}.isdisjoint(hidden.observation_fields)
    assert hidden.observation_fields[0] == "t"


@every_id
def test_pictures(env_id: str) -> None:
    env = make(env_id, render_mode="rgb_array")
    episode(env, seed=1, steps=0)
    empty = env.render()
    for _ in range(20):
        env.step(env.action_space.sample())
    picture = env.render()
    assert picture.dtype == np.uint8
    assert picture.shape == empty.shape == (600, 900, 3)
    # The choices are red rings, the regret a red curve: neither is there at the start.
    red, red_before = (
        int(((p[..., 0] > 180) & (p[..., 1] < 70) & (p[..., 2] < 70)).sum())
        for p in (picture, empty)
    )
    assert red > red_before + 50
    text = make(env_id, render_mode="ansi")
    text.reset(seed=1)
    text.step(text.action_space.sample())
    assert env_id in text.render()
    assert "regret" in text.render()
    window = make(env_id, render_mode="human")
    window.reset(seed=1)
    window.step(window.action_space.sample())
    assert window.render() is None
    window.close()


def test_a_second_import_or_reload_warns_nothing() -> None:
    module = importlib.import_module("periodic_envs.worlds.synthetic")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        importlib.reload(module)
        importlib.reload(periodic_envs)
    assert periodic_envs.ids() == IDS


def test_module_prefix() -> None:
    assert gym.make("periodic_envs:PeriodicGP-Synthetic-v0").spec is not None


def test_returned_objects_are_fresh() -> None:
    env = make("PeriodicGP-Synthetic-v0")
    calls = [env.reset(seed=0), *(env.step(np.zeros(1)) for _ in range(2)), env.reset(seed=0)]
    for i, one in enumerate(calls):
        for other in calls[i + 1 :]:
            assert not np.shares_memory(one[0], other[0])
            assert one[-1] is not other[-1]
    first, second = calls[1][-1]["optimal_action"], calls[2][-1]["optimal_action"]
    assert not np.shares_memory(first, second)
