"""Frames, windows and texts of episodes."""

import gc
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import periodic_envs
from periodic_envs.env import PeriodicBanditEnv
from tests.test_envs import envs
from tests.test_envs.envs import SYNTHETIC


def make(env_id: str = SYNTHETIC, *, seed: int = 1, **arguments: Any) -> PeriodicBanditEnv:
    env = envs.make(env_id, **{"render_mode": "rgb_array", **arguments})
    env.action_space.seed(0)
    env.reset(seed=seed)
    return env


def go(env: PeriodicBanditEnv, steps: int) -> None:
    for _ in range(steps):
        env.step(env.action_space.sample())


def at_once(env: PeriodicBanditEnv) -> np.ndarray:
    """Return the frame drawn without any frame before it."""
    return pickle.loads(pickle.dumps(env)).render()


@pytest.mark.parametrize("env_id", periodic_envs.ids())
def test_frames_show_the_choices_in_any_mode(env_id: str) -> None:
    env = make(env_id)
    empty = env.render()
    go(env, 20)
    frame = env.render()
    assert (frame.dtype, frame.shape) == (np.uint8, (600, 900, 3))
    # The choices are red rings, the regret a red curve.
    red = [(f[..., 0] > 180) & (f[..., 1] < 70) & (f[..., 2] < 70) for f in (empty, frame)]
    assert red[1].sum() > red[0].sum() + 50
    text = make(env_id, render_mode="ansi")
    go(text, 1)
    assert env_id in text.render()
    assert "regret" in text.render()


@pytest.mark.parametrize("env_id", [SYNTHETIC, "PeriodicGP-MultiSeason-v0", "PeriodicGP-Madrid-v0"])
def test_frame_does_not_depend_on_the_frames_before_it(env_id: str) -> None:
    env = make(env_id)
    frames = [env.render()]
    for steps in (1, 60, 88, 1):  # the window of MultiSeason jumps at step 150
        go(env, steps)
        frames.append(env.render())
        assert np.array_equal(frames[-1], at_once(env))
        assert np.array_equal(frames[-1], env.render())
    assert all(not np.array_equal(*pair) for pair in pairwise(frames))
    # One step changes next to nothing, a jump of the window nearly all.
    landscape = np.s_[70:390, 100:780]
    changed = (frames[-1][landscape] != frames[-2][landscape]).any(axis=2).mean()
    assert (changed > 0.5) == ("MultiSeason" in env_id)


def test_frame_follows_resets() -> None:
    env = make()
    first = env.render()
    copy = first.copy()
    go(env, 12)
    env.render()
    env.reset(seed=2)
    assert np.array_equal(env.render(), make(seed=2).render())
    env.reset(seed=1)
    assert np.array_equal(env.render(), first)
    assert np.array_equal(first, copy)


@pytest.mark.parametrize("scale", [0.0, 1e-7, 1e6])
def test_frame_takes_regrets_of_any_size(scale: float) -> None:
    env = make(horizon=300)
    for _ in range(10):
        go(env, 1)
        env._history[-1].info["cumulative_regret"] *= scale
        env.render()
    assert np.array_equal(env.render(), at_once(env))


def figures() -> int:
    gc.collect()
    return sum(type(one) is Figure for one in gc.get_objects())


def test_env_has_one_figure_until_it_is_closed() -> None:
    before = figures()
    env = make(horizon=260)
    for seed in range(2):
        env.reset(seed=seed)
        go(env, 150)
        env.render()
    assert figures() == before + 1
    env.close()
    assert figures() == before
    env.reset(seed=0)
    assert env.render().shape == (600, 900, 3)  # closed, and usable again


def test_window_shows_the_frame_of_every_step() -> None:
    import pygame

    env, window = make(), make(render_mode="human")
    window.metadata = {**window.metadata, "render_fps": 1000}
    for _ in range(3):
        go(env, 1)
        go(window, 1)  # draws without a call of render()
        displayed = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
        assert np.array_equal(displayed, env.render())
    assert window.render() is None
    window.close()


def test_frame_takes_names_with_markup() -> None:
    table = pd.DataFrame({"t": range(9), "$x_{": 1.0, "_": 2.0, "\u6771": 3.0})
    env = make("PeriodicGP-Replay-v0", data=table, period=3)
    assert env.render().shape == (600, 900, 3)
