"""Frames drawn step by step are the frames that would be drawn at once, for a fraction of it."""

import gc
import pickle
import weakref
from itertools import pairwise

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import RenderCollection
from matplotlib.figure import Figure

import periodic_envs
from periodic_envs import rendering
from periodic_envs.env import PeriodicBanditEnv

SYNTHETIC = "PeriodicGP-Synthetic-v0"


def make(env_id: str = SYNTHETIC, *, seed: int = 1, **arguments: object) -> PeriodicBanditEnv:
    env = gym.make(env_id, **{"render_mode": "rgb_array", **arguments}).unwrapped
    assert isinstance(env, PeriodicBanditEnv)
    env.action_space.seed(0)
    env.reset(seed=seed)
    return env


def go(env: PeriodicBanditEnv, steps: int) -> None:
    for _ in range(steps):
        env.step(env.action_space.sample())


def at_once(env: PeriodicBanditEnv) -> np.ndarray:
    """The same moment, drawn by somebody who has seen nothing before it."""
    return pickle.loads(pickle.dumps(env)).render()


@pytest.mark.parametrize("env_id", periodic_envs.ids())
def test_a_frame_does_not_depend_on_the_frames_before_it(env_id: str) -> None:
    env = make(env_id)
    frames = [env.render()]
    for steps in (1, 30, 60, 61):
        for _ in range(3):
            go(env, 1)
            env.render()
        go(env, steps - 3 if steps > 3 else 0)
        frames.append(env.render())
        assert np.array_equal(frames[-1], at_once(env))
    assert all(not np.array_equal(*pair) for pair in pairwise(frames))


def test_a_frame_is_nobody_elses() -> None:
    env = make()
    first = env.render()
    kept = first.copy()
    go(env, 20)
    assert not np.array_equal(env.render(), kept)
    assert np.array_equal(first, kept)


def test_the_same_moment_is_the_same_picture() -> None:
    env = make()
    go(env, 7)
    assert np.array_equal(env.render(), env.render())


def test_another_world_and_the_same_one_again() -> None:
    env = make()
    go(env, 12)
    env.render()
    env.reset(seed=2)
    other = env.render()
    assert np.array_equal(other, make(seed=2).render())
    env.reset(seed=1)
    assert np.array_equal(env.render(), make(seed=1).render())
    assert not np.array_equal(env.render(), other)


def test_the_window_follows_the_present() -> None:
    env = make("PeriodicGP-MultiSeason-v0")
    go(env, 149)
    before = env.render()
    go(env, 1)
    after = env.render()
    landscape = np.s_[70:390, 100:780]
    # The one step changes next to nothing, the jump of the window nearly all.
    assert (before[landscape] != after[landscape]).any(axis=2).mean() > 0.5
    assert np.array_equal(after, at_once(env))
    go(env, env.horizon - 150)
    assert np.array_equal(env.render(), at_once(env))


def test_the_landscape_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    def draw_landscape(*arguments: object) -> object:
        drawn.append(arguments)
        return original(*arguments)

    original = rendering.draw_landscape
    monkeypatch.setattr(rendering, "draw_landscape", draw_landscape)
    env = RenderCollection(gym.make(SYNTHETIC, render_mode="rgb_array", horizon=100))
    env.reset(seed=1)
    env.action_space.seed(0)
    while not env.step(env.action_space.sample())[3]:
        pass
    assert len(env.render()) == 101
    assert len(drawn) == 1


@pytest.mark.parametrize("scale", [0.0, 1e-7, 1.0, 1e4, 1e6, 1e9])
def test_regrets_of_any_size(scale: float) -> None:
    env = make(horizon=300)
    for _ in range(40):
        go(env, 1)
        info = env._history[-1].info
        info["cumulative_regret"] *= scale
        env.render()
    assert np.array_equal(env.render(), at_once(env))


def figures() -> int:
    gc.collect()
    return sum(type(one) is Figure for one in gc.get_objects())


def test_there_is_one_figure_until_the_env_is_closed() -> None:
    before = figures()
    env = make(horizon=260)
    for seed in range(3):
        env.reset(seed=seed)
        for _ in range(3):
            go(env, 50)
            env.render()
    assert figures() == before + 1
    assert env._viewer is not None
    picture = weakref.ref(env._viewer._picture)
    env.close()
    assert figures() == before
    assert picture() is None
    env.reset(seed=0)
    assert env.render().shape == (600, 900, 3)  # closed, but not broken


def test_memory_does_not_grow() -> None:
    env = make(horizon=10_000)
    go(env, 200)
    env.render()
    objects = []
    for _ in range(3):
        for _ in range(40):
            go(env, 2)
            env.render()
        gc.collect()
        objects.append(len(gc.get_objects()))
    # A step is remembered by some objects of its own; a frame by none.
    assert objects[2] - objects[1] < 80 * 4


def test_a_window_shows_the_same_picture() -> None:
    import pygame

    env, window = make(), make(render_mode="human")
    window.metadata = {**window.metadata, "render_fps": 1000}
    for one in (env, window):
        go(one, 5)
    shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    assert np.array_equal(shown, env.render())
    window.close()


def test_envs_side_by_side_have_pictures_of_their_own() -> None:
    envs = gym.make_vec(
        SYNTHETIC, 2, vectorization_mode="sync", vector_kwargs={}, render_mode="rgb_array"
    )
    envs.reset(seed=[1, 2])
    frames = envs.render()
    assert frames is not None
    for frame, seed in zip(frames, (1, 2), strict=True):
        assert np.array_equal(frame, make(seed=seed).render())
    envs.close()
