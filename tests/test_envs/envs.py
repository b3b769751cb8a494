"""Environments for tests."""

from typing import Any

import gymnasium as gym
import numpy as np

from periodic_envs.env import PeriodicBanditEnv

SYNTHETIC, ARMS = "PeriodicGP-Synthetic-v0", "PeriodicGP-SyntheticDiscrete-v0"


def make(env_id: str, **kwargs: Any) -> PeriodicBanditEnv:
    """Return a registered environment without wrappers."""
    env = gym.make(env_id, **kwargs).unwrapped
    assert isinstance(env, PeriodicBanditEnv)
    return env


def vector(env_id: str, copies: int = 3, **kwargs: Any) -> gym.vector.VectorEnv:
    """Return the native vector environment of an id."""
    return gym.make_vec(env_id, copies, vectorization_mode="vector_entry_point", **kwargs)


def episode(env: gym.Env, seed: int, actions_seed: int = 0, steps: int = 30) -> list[tuple]:
    """Return what ``reset`` and some steps with sampled actions return."""
    env.action_space.seed(actions_seed)
    start = env.reset(seed=seed)
    return [start, *(env.step(env.action_space.sample()) for _ in range(steps))]


def table(env: PeriodicBanditEnv, seed: int = 0) -> np.ndarray:
    """Return the mean rewards of the steps to decide on (steps, arms)."""
    env.reset(seed=seed)
    times = env.public.first_step + np.arange(env.horizon)
    return env.episode.process.mean(np.arange(env.public.n_actions), times[:, None])
