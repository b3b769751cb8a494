"""Gymnasium's wrappers around an environment, and delayed rewards."""

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.utils.env_checker import check_env

import periodic_envs
from periodic_envs import DelayedReward
from tests.test_envs.envs import ARMS, SYNTHETIC

HORIZON = 7
Wrap = Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]]
ANY: dict[str, Wrap] = {
    "Autoreset": wrappers.Autoreset,
    "DelayObservation": lambda env: wrappers.DelayObservation(env, 2),
    "DiscretizeObservation": lambda env: wrappers.DiscretizeObservation(env, 5),
    "DtypeObservation": lambda env: wrappers.DtypeObservation(env, np.float32),
    "FlattenObservation": wrappers.FlattenObservation,
    "FrameStackObservation": lambda env: wrappers.FrameStackObservation(env, 3),
    "MaxAndSkipObservation": lambda env: wrappers.MaxAndSkipObservation(env, 2),
    "NormalizeObservation": wrappers.NormalizeObservation,
    "NormalizeReward": wrappers.NormalizeReward,
    "PassiveEnvChecker": wrappers.PassiveEnvChecker,
    "RecordEpisodeStatistics": wrappers.RecordEpisodeStatistics,
    "RepeatAction": lambda env: wrappers.RepeatAction(env, 2),
    "RescaleObservation": lambda env: wrappers.RescaleObservation(env, 0.0, 1.0),
    "StickyAction": lambda env: wrappers.StickyAction(env, 0.3),
    "TimeAwareObservation": wrappers.TimeAwareObservation,
    "TimeLimit": lambda env: wrappers.TimeLimit(env, 4),
}
BOXES: dict[str, Wrap] = {
    "ClipAction": wrappers.ClipAction,
    "DiscretizeAction": lambda env: wrappers.DiscretizeAction(env, 5),
    "RescaleAction": lambda env: wrappers.RescaleAction(env, np.float32(0.0), np.float32(3.0)),
}
CASES = [
    *((env_id, name) for env_id in (ARMS, SYNTHETIC) for name in ANY),
    *((SYNTHETIC, name) for name in BOXES),
]


def steps_of(env: gym.Env[Any, Any], seed: int = 0) -> int:
    """Return the length of an episode whose observations are in the space of the wrapper."""
    env.action_space.seed(seed)
    observation, _ = env.reset(seed=seed)
    for step in range(1, HORIZON + 2):
        is_normalized = isinstance(env, wrappers.NormalizeObservation)
        assert is_normalized or env.observation_space.contains(observation)
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        assert np.isfinite(reward)
        assert not terminated
        if truncated:
            return step
    raise AssertionError("the episode did not end")


@pytest.mark.filterwarnings("ignore:.*precision lowered by casting")  # Gymnasium's own
@pytest.mark.parametrize(("env_id", "name"), CASES)
def test_wrapper_keeps_spaces_and_length(env_id: str, name: str) -> None:
    if name not in dir(wrappers):
        pytest.skip(f"this Gymnasium has no {name}")
    env = {**ANY, **BOXES}[name](gym.make(env_id, horizon=HORIZON))
    is_short = name in ("TimeLimit", "RepeatAction", "MaxAndSkipObservation")
    for seed in (0, 1):
        assert steps_of(env, seed) == (4 if is_short else HORIZON)


def test_episodes_end_once() -> None:
    """The environment ends them itself: no time limit around it, and none that is shorter."""
    env = gym.make(ARMS, horizon=HORIZON)
    assert "TimeLimit" not in str(env)
    again = gym.make(env.spec)  # type: ignore[arg-type]
    short = gym.make(ARMS, horizon=HORIZON, max_episode_steps=2)
    for one, steps in ((again, HORIZON), (short, 2)):
        assert steps_of(one) == steps
        assert one.spec is not None
        assert one.spec.max_episode_steps == steps
    aware = wrappers.TimeAwareObservation(env)
    assert aware.observation_space.high[-1] == HORIZON  # type: ignore[attr-defined]


NO_PYGAME = """
import sys
sys.path.insert(0, {place!r})
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name == "pygame" else found(name, *a)
sys.modules["pygame"] = None
import gymnasium as gym, periodic_envs
from gymnasium.utils.env_checker import check_env
check_env(gym.make("PeriodicGP-SyntheticDiscrete-v0", horizon=3).unwrapped)
world = "periodic_envs.worlds.synthetic_discrete:SyntheticDiscrete"
try:
    periodic_envs.PeriodicBanditEnv(world, render_mode="human").reset(seed=0)
except gym.error.DependencyNotInstalled as error:
    print(error)
"""


def test_checker_needs_no_pygame() -> None:
    code = NO_PYGAME.format(place=str(Path(periodic_envs.__file__).parents[1]))
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "pip install" in done.stdout


# Rewards that come late, or never.


def played(seed: int = 0, **delay: Any) -> tuple[list[float], list[Any]]:
    """Return the rewards of the steps, and those that arrived in each; arms take turns."""
    env = DelayedReward(gym.make(ARMS), **delay)
    env.reset(seed=seed)
    steps = [env.step(step % 3) for step in range(200)]
    assert [step[3] for step in steps] == [False] * 199 + [True]
    return [float(step[1]) for step in steps], [step[4]["arrived"] for step in steps]


@pytest.fixture(scope="module")
def plain() -> list[float]:
    """Rewards without the wrapper."""
    env = gym.make(ARMS)
    env.reset(seed=0)
    return [float(env.step(step % 3)[1]) for step in range(200)]


@pytest.mark.parametrize("delay", [0, 5])
def test_fixed_delay_shifts_rewards(plain: list[float], delay: int) -> None:
    rewards, arrived = played(delay=delay)
    assert rewards == [0.0] * delay + plain[: 200 - delay]
    expected = [[(t, t % 3, plain[t])] for t in range(200 - delay)]
    assert arrived == [[]] * delay + expected


def test_random_delays_are_bounded_and_in_order(plain: list[float]) -> None:
    rewards, arrived = played(delay=1, random=4)
    assert {now - t for now, each in enumerate(arrived) for t, _, _ in each} == {1, 2, 3, 4, 5}
    for each, reward in zip(arrived, rewards, strict=True):
        assert [t for t, *_ in each] == sorted(t for t, *_ in each)
        assert reward == pytest.approx(sum(gained for *_, gained in each))
        assert all(gained == plain[t] for t, _, gained in each)
    assert any(len(each) > 1 for each in arrived)
    # All arrive once, but for those under way at the end.
    times = sorted(t for each in arrived for t, *_ in each)
    assert times[:195] == list(range(195))


def test_share_of_rewards_is_lost() -> None:
    _, arrived = played(lost=0.2)
    assert 0.1 < 1.0 - sum(map(len, arrived)) / 200 < 0.3  # 3.5 standard deviations
    assert sum(played(lost=1.0)[0]) == 0.0


def test_delays_are_fixed_by_the_seed() -> None:
    assert played(3, random=5, lost=0.1) == played(3, random=5, lost=0.1)
    times = [[[t for t, *_ in each] for each in played(s, random=5)[1]] for s in (3, 4)]
    assert times[0] != times[1]


def test_reset_forgets_rewards_under_way() -> None:
    env = DelayedReward(gym.make(ARMS), delay=3)
    env.reset(seed=0)
    assert [env.step(0)[4]["open"] for _ in range(5)] == [1, 2, 3, 3, 3]
    env.reset(seed=0)
    assert env.step(0)[4]["open"] == 1


@pytest.mark.parametrize("env_id", [ARMS, SYNTHETIC])
def test_wrapped_env_passes_the_checker(env_id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a wrapped environment is noted
        env = DelayedReward(gym.make(env_id).unwrapped, delay=2, random=3, lost=0.1)
        check_env(env, skip_render_check=True)


def test_arrived_action_is_the_one_that_was_taken() -> None:
    env = DelayedReward(gym.make(SYNTHETIC), delay=1)
    env.reset(seed=0)
    action = np.array([0.5], dtype=np.float32)
    env.step(action)
    action[:] = -1.0
    assert env.step(action)[4]["arrived"][0][1] == 0.5


@pytest.mark.parametrize("wrong", [{"delay": -1}, {"random": 1.5}, {"lost": 1.1}, {"lost": "x"}])
def test_bad_arguments_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DelayedReward(gym.make(ARMS), **wrong)
