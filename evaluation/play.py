"""One agent in one world: the only place where both are in the same room."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from agents.base import Agent, Experience, Problem
from agents.registry import AgentSpec
from evaluation.running.channel import AgentChannel
from evaluation.running.isolation import IsolatedAgent
from periodic_envs.arrays import Array
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.process import Origin


@dataclass(frozen=True)
class Trajectory:
    """What happened, one entry per step, and where the rewards came from if from data.

    The agent itself is there if it lived in this process. A reward is that of its step's decision,
    whenever the agent heard of it, and even if it never did.
    """

    agent: Agent | None
    origin: Origin | None
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
        action_space=env.setup.action_space(),
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
    # Through a hash, so that it is not the world's stream over again.
    return np.random.default_rng(zlib.crc32(f"agent {seed}".encode()))


def _arrived(info: Mapping[str, Any], step: int, earned: float) -> list[tuple[int, float]]:
    """Numbers and rewards of the decisions that the agent is told of after a step."""
    if "arrived" not in info:
        return [(step, earned)]
    return [(t - info["t"] + step, gained) for t, _, gained in info["arrived"]]


def play(
    env: gym.Env[Any, Any],
    spec: AgentSpec,
    seed: int,
    on_step: Callable[[], object] = lambda: None,
    learned: Mapping[str, NDArray[Any]] | None = None,
    agent_seed: int | None = None,
    open_channel: Callable[..., AgentChannel | IsolatedAgent] = AgentChannel,
) -> Trajectory:
    """One episode.

    Where rewards come late, ``update`` gets the observation that the decision was made on, in the
    order of arrival; of what is lost or still under way at the end the agent hears nothing.

    Args:
        env: An environment of this suite, in ``DelayedReward`` if rewards come late.
        spec: The agent.
        seed: Of the world and, apart from it, of the agent.
        on_step: Called after every step, for a progress bar.
        learned: What the agent learned in its training, if it had one.
        agent_seed: Of the agent, where it must not give the world's away.
        open_channel: Where the agent is: in this process, or ``IsolatedAgent`` in one of its own.
    """
    world = env.unwrapped
    assert isinstance(world, PeriodicBanditEnv)
    observation, info = env.reset(seed=seed)
    rng = agent_generator(seed if agent_seed is None else agent_seed)
    channel = open_channel(spec, problem_of(world, info), rng, learned)
    rows: list[tuple[int, Any, float, float]] = []
    arrived: list[tuple[int, float]] = []
    truncated = False
    while not truncated:
        # A copy: the agent may keep and change what it is given.
        action = channel.act(arrived, observation.copy())
        observation, reward, _, truncated, info = env.step(action)
        earned = float(info.get("earned", reward))
        arrived = _arrived(info, len(rows), earned)
        rows.append((info["t"], action, earned, info["regret"]))
        on_step()
    channel.act(arrived, None)
    t, actions, rewards, regrets = zip(*rows, strict=True)
    return Trajectory(
        channel.agent,
        world.setup.origin,
        np.array(t),
        np.array(actions),
        np.array(rewards),
        np.array(regrets),
        np.array(channel.seconds),
    )
