"""One agent in one world whose rewards come late."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from agents.registry import AgentSpec
from evaluation.running.actions import plain
from evaluation.running.play import Trajectory, agent_generator, problem_of
from periodic_envs.delay import DelayedReward
from periodic_envs.env import PeriodicBanditEnv


def play_delayed(env: DelayedReward, spec: AgentSpec, seed: int) -> Trajectory:
    """One episode in which the agent learns from each reward when it arrives.

    ``update`` gets the observation that the decision was made on, in the order of arrival; of what
    is lost or still under way at the end the agent hears nothing. Without delay it is ``play``.

    Args:
        env: An environment of this suite, wrapped.
        spec: The agent, which is in this process.
        seed: Of the world and its delays and, apart from these, of the agent.

    Returns:
        What happened; ``reward`` has what arrived in each step, ``regret`` that of its decision.
    """
    world = env.unwrapped
    assert isinstance(world, PeriodicBanditEnv)
    observation, info = env.reset(seed=seed)
    agent = spec.make(problem_of(world, info), agent_generator(seed))
    decided: dict[int, Any] = {}
    rows: list[tuple[int, Any, float, float, float]] = []
    truncated = False
    while not truncated:
        start = time.perf_counter()
        # Copies: the agent may keep and change what it is given.
        action = plain(agent.act(observation.copy()))
        thought = time.perf_counter()
        before = observation
        observation, reward, _, truncated, info = env.step(action)
        decided[info["t"]] = before
        learning = time.perf_counter()
        for t, chosen, gained in info["arrived"]:
            agent.update(decided.pop(t).copy(), chosen, gained)
        spent = thought - start + time.perf_counter() - learning
        rows.append((info["t"], action, reward, info["regret"], spent))
    t, actions, rewards, regrets, seconds = zip(*rows, strict=True)
    return Trajectory(
        agent,
        world.setup.origin,
        np.array(t),
        np.array(actions),
        np.array(rewards),
        np.array(regrets),
        np.array(seconds),
    )
