"""Episodes of one agent in one environment."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from agents.base import Agent, Experience, Problem
from agents.registry import AgentSpec
from periodic_envs.arrays import Array
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.process import Origin

Arrived = Sequence[tuple[int, float]]
"""Indices of decisions with their rewards, in order of arrival."""


@dataclass(frozen=True)
class Trajectory:
    """Arrays of an episode, with one entry per step, and the origin of replayed rewards.

    ``agent`` is None if the agent ran in a sandbox. Each reward is stored at the step of its
    decision, even if the agent received the reward later or not at all.
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
        """Cumulative regret after each step."""
        return np.cumsum(self.regret)


class Player(Protocol):
    """Interface to the agent of an episode, in this process or in a sandbox.

    Attributes:
        agent: Agent, or None if the agent runs in another process.
        seconds: Seconds that the agent needed for each decision, including the time for updates.
    """

    agent: Agent | None
    seconds: list[float]

    def act(self, arrived: Arrived, observation: NDArray[np.float64] | None) -> Any:
        """Update the agent with rewards; return its action, or None if there is no observation."""


class LocalAgent:
    """Agent in this process, with the decisions whose rewards have not arrived yet."""

    def __init__(
        self,
        spec: AgentSpec,
        problem: Problem,
        rng: np.random.Generator,
        learned: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.agent: Agent | None = spec.make(problem, rng, learned)
        self.seconds: list[float] = []
        self._open: dict[int, tuple[Any, Any]] = {}

    def act(self, arrived: Arrived, observation: NDArray[np.float64] | None) -> Any:
        """Update the agent with rewards; return its action, or None if there is no observation."""
        agent = self.agent
        assert agent is not None
        start = time.perf_counter()
        for number, reward in arrived:
            agent.update(*self._open.pop(number), reward)
        updated = time.perf_counter()
        if self.seconds:
            self.seconds[-1] += updated - start
        if observation is None:
            return None
        action = agent.act(observation)
        self._open[len(self.seconds)] = (observation, action)
        self.seconds.append(time.perf_counter() - updated)
        return action if type(action) in (int, float) else plain(action)


def plain(action: Any) -> Any:
    """Return an action as a Python number or as a copy of an array.

    Objects of other types are returned unchanged, so that the environment reports the error.
    """
    array = np.array(action, subok=False)
    if array.dtype.kind not in "biuf":
        return action
    if array.ndim == 0:
        return array.item()
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64, copy=False)


def problem_of(env: PeriodicBanditEnv, reset_info: dict[str, Any]) -> Problem:
    """Return the information about a world that is available to an agent."""
    public, warm_start = env.public, reset_info.get("warm_start")
    return Problem(
        action_space=env.action_space,
        observation_space=cast("spaces.Box", env.observation_space),
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
    """Return the random generator of an agent, which is independent of the world's generator."""
    return np.random.default_rng(zlib.crc32(f"agent {seed}".encode()))


def play(
    env: gym.Env[Any, Any],
    spec: AgentSpec,
    seed: int,
    on_step: Callable[[], object] | None = None,
    learned: Mapping[str, NDArray[Any]] | None = None,
    agent_seed: int | None = None,
    player: Callable[..., Player] = LocalAgent,
) -> Trajectory:
    """Play one episode.

    Delayed rewards are passed to ``update`` in the order of arrival, each with the observation of
    its decision. Rewards that are lost, or have not arrived by the end of the episode, are not
    passed to the agent.

    Args:
        env: Environment of this package, wrapped in ``DelayedReward`` if rewards are delayed.
        spec: Agent with its settings.
        seed: Seed of the world and, independently, of the agent.
        on_step: Function that is called after every step, for example to update a progress bar.
        learned: Arrays learned in the agent's training, if any.
        agent_seed: Separate seed of the agent, which does not reveal the seed of the world; None
            to use ``seed``.
        player: Factory of the interface to the agent, in this process or in a sandbox.
    """
    world = env.unwrapped
    assert isinstance(world, PeriodicBanditEnv)
    observation, info = env.reset(seed=seed)
    rng = agent_generator(seed if agent_seed is None else agent_seed)
    playing = player(spec, problem_of(world, info), rng, learned)
    rows: list[tuple[int, Any, float, float]] = []
    arrived: list[tuple[int, float]] = []
    truncated = False
    while not truncated:
        # Pass a copy, since the agent may store and modify the observation.
        action = playing.act(arrived, observation.copy())
        observation, reward, _, truncated, info = env.step(action)
        earned = float(info.get("earned", reward))
        arrived = [(len(rows), earned)]
        if "arrived" in info:
            first = info["t"] - len(rows)
            arrived = [(t - first, gained) for t, _, gained in info["arrived"]]
        rows.append((info["t"], action, earned, info["regret"]))
        if on_step is not None:
            on_step()
    playing.act(arrived, None)
    t, actions, rewards, regrets = zip(*rows, strict=True)
    return Trajectory(
        playing.agent,
        world.setup.origin,
        np.array(t),
        np.array(actions),
        np.array(rewards),
        np.array(regrets),
        np.array(playing.seconds),
    )
