"""Gymnasium's own conventions: every wrapper that makes sense, the specification, the checker."""

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces, wrappers
from gymnasium.utils.env_checker import check_env

import periodic_envs

ARMS, BOX = "PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-Synthetic-v0"
HORIZON = 7

Made = Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]]
ANY: dict[str, Made] = {
    "Autoreset": wrappers.Autoreset,
    "ClipReward": lambda env: wrappers.ClipReward(env, -1.0, 1.0),
    "DelayObservation": lambda env: wrappers.DelayObservation(env, 2),
    "DiscretizeObservation": lambda env: wrappers.DiscretizeObservation(env, 5),
    "DtypeObservation": lambda env: wrappers.DtypeObservation(env, np.float32),
    "FlattenObservation": wrappers.FlattenObservation,
    "FrameStackObservation": lambda env: wrappers.FrameStackObservation(env, 3),
    "MaxAndSkipObservation": lambda env: wrappers.MaxAndSkipObservation(env, 2),
    "NormalizeObservation": wrappers.NormalizeObservation,
    "NormalizeReward": wrappers.NormalizeReward,
    "OrderEnforcing": wrappers.OrderEnforcing,
    "PassiveEnvChecker": wrappers.PassiveEnvChecker,
    "RecordEpisodeStatistics": wrappers.RecordEpisodeStatistics,
    "RepeatAction": lambda env: wrappers.RepeatAction(env, 2),
    "RescaleObservation": lambda env: wrappers.RescaleObservation(env, 0.0, 1.0),
    "ReshapeObservation": lambda env: wrappers.ReshapeObservation(env, (3, 1)),
    "StickyAction": lambda env: wrappers.StickyAction(env, 0.3),
    "TimeAwareObservation": wrappers.TimeAwareObservation,
    "TimeAwareObservation, a share": lambda env: wrappers.TimeAwareObservation(
        env, normalize_time=True
    ),
    "TimeLimit": lambda env: wrappers.TimeLimit(env, 4),
    "TransformObservation": lambda env: wrappers.TransformObservation(
        env, lambda seen: seen, env.observation_space
    ),
    "TransformReward": lambda env: wrappers.TransformReward(env, lambda reward: 2.0 * reward),
}
BOXES: dict[str, Made] = {
    "ClipAction": wrappers.ClipAction,
    "DiscretizeAction": lambda env: wrappers.DiscretizeAction(env, 5),
    "RescaleAction": lambda env: wrappers.RescaleAction(env, np.float32(0.0), np.float32(3.0)),
    "TransformAction": lambda env: wrappers.TransformAction(
        env, lambda action: -action, env.action_space
    ),
}
DRAWN: dict[str, Made] = {
    "AddRenderObservation": wrappers.AddRenderObservation,
    "AddWhiteNoise": lambda env: wrappers.AddWhiteNoise(env, 0.1),
    "GrayscaleObservation": lambda env: wrappers.GrayscaleObservation(
        wrappers.AddRenderObservation(env)
    ),
    "ObstructView": lambda env: wrappers.ObstructView(env, 0.1, 16),
    "RenderCollection": wrappers.RenderCollection,
}
NOT_TRIED = {
    "AtariPreprocessing": "for Atari",
    "FilterObservation": "for observations that are dictionaries",
    "HumanRendering": "needs a window",
    "RecordVideo": "needs moviepy",
    "ResizeObservation": "needs OpenCV",
}
CASES = [
    *((env_id, name, made) for env_id in (ARMS, BOX) for name, made in ANY.items()),
    *((BOX, name, made) for name, made in BOXES.items()),
]


def plain(env_id: str, **more: Any) -> gym.Env[Any, Any]:
    return gym.make(env_id, horizon=HORIZON, **more)


def played(env: gym.Env[Any, Any], seed: int = 0) -> int:
    """Steps of an episode; what is seen is in the space that was promised."""
    env.action_space.seed(seed)
    seen, _ = env.reset(seed=seed)
    for step in range(1, HORIZON + 2):
        assert env.observation_space.contains(seen) or isinstance(
            env, wrappers.NormalizeObservation
        )
        seen, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        assert np.isfinite(reward)
        assert not terminated
        if truncated:
            return step
    raise AssertionError("the episode did not end")


@pytest.mark.filterwarnings("ignore:.*precision lowered by casting")  # Gymnasium's own
@pytest.mark.parametrize(
    ("env_id", "name", "made"), CASES, ids=[f"{env_id} {name}" for env_id, name, _ in CASES]
)
def test_wrapper(env_id: str, name: str, made: Made) -> None:
    steps = {"TimeLimit": 4, "RepeatAction": 4, "MaxAndSkipObservation": 4}
    if name not in dir(wrappers) and "," not in name:
        pytest.skip(f"this Gymnasium has no {name}")
    env = made(plain(env_id))
    assert played(env) == steps.get(name, HORIZON)
    assert played(env, seed=1) == steps.get(name, HORIZON)


@pytest.mark.parametrize("name", DRAWN)
def test_wrapper_of_pictures(name: str) -> None:
    if name not in dir(wrappers):
        pytest.skip(f"this Gymnasium has no {name}")
    env = plain(ARMS, render_mode="rgb_array")
    if name in ("AddWhiteNoise", "ObstructView"):  # they change what render() returns
        env = DRAWN[name](env)
        env.reset(seed=0)
        assert np.asarray(env.render()).ndim == 3
        return
    assert played(DRAWN[name](env)) == HORIZON


def test_no_wrapper_is_forgotten() -> None:
    known = {name.partition(",")[0] for name in (*ANY, *BOXES, *DRAWN)} | set(NOT_TRIED)
    given = {
        name
        for name, wrapper in vars(wrappers).items()
        if isinstance(wrapper, type) and issubclass(wrapper, gym.Wrapper)
    }
    assert given <= known


@pytest.mark.parametrize("env_id", periodic_envs.ids())
def test_the_specification_says_how_long_episodes_are(env_id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = gym.make(env_id, horizon=3)
        whole = gym.make(env_id)
    assert env.spec is not None
    assert env.spec.max_episode_steps == 3
    assert whole.spec is not None
    assert whole.spec.max_episode_steps == whole.unwrapped.horizon  # type: ignore[attr-defined]
    assert gym.spec(env_id).max_episode_steps is None  # it depends on the arguments


def test_episodes_end_once() -> None:
    """The environment ends them itself: no time limit around it, and none that is shorter."""
    env = plain(ARMS)
    assert "TimeLimit" not in str(env)
    again = gym.make(env.spec)  # type: ignore[arg-type]
    assert played(again) == HORIZON
    assert again.spec is not None
    assert again.spec.max_episode_steps == HORIZON
    short = gym.make(ARMS, horizon=HORIZON, max_episode_steps=2)
    assert played(short) == 2
    assert short.spec is not None
    assert short.spec.max_episode_steps == 2
    batch = gym.make_vec(ARMS, 2, vectorization_mode="vector_entry_point", horizon=HORIZON)
    assert batch.spec is not None
    assert batch.spec.max_episode_steps == HORIZON


def test_time_aware_observations_count_to_the_horizon() -> None:
    env = wrappers.TimeAwareObservation(plain(ARMS))
    assert isinstance(env.observation_space, spaces.Box)
    assert env.observation_space.high[-1] == HORIZON
    env.reset(seed=0)
    assert [env.step(0)[0][-1] for _ in range(HORIZON)] == list(range(1, HORIZON + 1))


NO_PYGAME = """
import sys
sys.path.insert(0, {place!r})
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name == "pygame" else found(name, *a)
sys.modules["pygame"] = None
import gymnasium as gym, periodic_envs
from gymnasium.utils.env_checker import check_env
env = gym.make("PeriodicGP-SyntheticDiscrete-v0", horizon=3)
check_env(env.unwrapped)
from periodic_envs.env import PeriodicBanditEnv
world = "periodic_envs.worlds.synthetic_discrete:SyntheticDiscrete"
window = PeriodicBanditEnv(world, render_mode="human")
try:
    window.reset(seed=0)
except gym.error.DependencyNotInstalled as error:
    print(error)
"""


def test_the_checker_needs_no_pygame() -> None:
    place = str(Path(periodic_envs.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", NO_PYGAME.format(place=place)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == 'render_mode="human" needs pygame: pip install -e ".[render]"\n'


def test_the_checker_with_pygame(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(plain(ARMS).unwrapped)
