"""One agent in one world: the only place where both are in the same room."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from agents.base import Agent, Experience, Problem
from agents.registry import AgentSpec
from periodic_envs.base import PeriodicBanditEnv

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """What happened, one entry per step."""

    agent: Agent
    t: NDArray[np.int64]
    action: NDArray[Any]
    reward: Array
    regret: Array
    agent_seconds: Array

    @property
    def cumulative_regret(self) -> Array:
        """Regret so far."""
        return np.cumsum(self.regret)


def problem_of(env: PeriodicBanditEnv, reset_info: dict[str, Any]) -> Problem:
    """What an agent may know of a world: nothing from ``info`` but the warm start.

    It is the world's own word: a wrapper around the environment does not change it.
    """
    public, warm_start = env.public, reset_info.get("warm_start")
    return Problem(
        action_space=env.action_space,
        observation_space=env.setup.observation_space(),
        observation_fields=env.observation_fields,
        horizon=env.horizon,
        periods=public.periods,
        noise_std=env.noise_std,
        reward_scale=public.reward_scale,
        action_features=public.action_features,
        action_half_width=public.action_half_width,
        warm_start=None if warm_start is None else Experience(**warm_start),
    )


def agent_generator(seed: int) -> np.random.Generator:
    """The agent's own randomness: fixed by the seed, apart from the world's."""
    # Through a hash: the generator must not give the world's seed away.
    return np.random.default_rng(zlib.crc32(f"agent {seed}".encode()))


def play(
    env: gym.Env[Any, Any],
    spec: AgentSpec,
    seed: int,
    on_step: Callable[[], object] = lambda: None,
) -> Run:
    """One episode.

    Args:
        env: An environment of this suite.
        spec: The agent.
        seed: Of the world and, apart from it, of the agent.
        on_step: Called after every step, for a progress bar.
    """
    world = env.unwrapped
    assert isinstance(world, PeriodicBanditEnv)
    observation, info = env.reset(seed=seed)
    agent = spec.make(problem_of(world, info), agent_generator(seed))
    rows: list[tuple[int, Any, float, float, float]] = []
    truncated = False
    while not truncated:
        start = time.perf_counter()
        action = agent.act(observation)
        middle = time.perf_counter()
        after, reward, _, truncated, info = env.step(action)
        paused = time.perf_counter()
        agent.update(observation, action, float(reward))
        seconds = middle - start + time.perf_counter() - paused
        rows.append((info["t"], action, float(reward), info["regret"], seconds))
        observation = after
        on_step()
    t, actions, rewards, regrets, seconds_each = zip(*rows, strict=True)
    return Run(
        agent,
        np.array(t),
        np.array(actions),
        np.array(rewards),
        np.array(regrets),
        np.array(seconds_each),
    )
