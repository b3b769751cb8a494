"""Agents that play in worlds with a table of mean rewards."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from agents import Problem, load, make_agent
from agents.testing import example_problem, observe

CLOCK = spaces.Box(0.0, np.inf, (1,), np.float64)


def clock(t: float) -> np.ndarray:
    """An observation of the time alone."""
    return np.array([float(t)])


def arms(n: int, **known: Any) -> Problem:
    """A problem of ``n`` arms."""
    return Problem(spaces.Discrete(n), CLOCK, **known)


def fresh(text: str, problem: str | Problem = "finite", seed: int = 0) -> Any:
    """An agent for an example problem or for another one."""
    there = example_problem(problem) if isinstance(problem, str) else problem
    return make_agent(text, there, np.random.default_rng(seed))


def tell(agent: Any, plays: Iterable[tuple[float, Any, float]]) -> None:
    """Update an agent with times, actions and rewards."""
    for t, action, reward in plays:
        agent.update(observe(t), action, reward)


def played(
    text: str, means: np.ndarray, seed: int = 0, noise: float = 0.5, **known: Any
) -> tuple[np.ndarray, Any]:
    """The regret of each step, as rows of ``means`` are the mean rewards, and the agent."""
    known = {"horizon": len(means), "noise_std": noise, "reward_scale": (0.0, 0.7), **known}
    agent = fresh(text, arms(means.shape[1], **known), seed)
    errors = np.random.default_rng(seed + 100).normal(0.0, noise, len(means))
    lost = np.zeros(len(means))
    for t, row in enumerate(means):
        arm = agent.act(clock(t))
        agent.update(clock(t), arm, float(row[arm] + errors[t]))
        lost[t] = row.max() - row[arm]
    return lost, agent


def uniform(means: np.ndarray) -> np.ndarray:
    """The mean regret of each step of choosing at random."""
    return means.max(axis=1) - means.mean(axis=1)


def compared(agent: Any, monkeypatch: pytest.MonkeyPatch, t: float) -> np.ndarray:
    """The values of which the agent takes the greatest at time t."""
    seen: list[np.ndarray] = []
    with monkeypatch.context() as patch:
        patch.setattr(
            agent, "best_of", lambda values: seen.append(values) or int(np.argmax(values))
        )
        arm = agent.act(clock(t))
    (values,) = seen
    assert arm == int(np.argmax(values))
    return np.array(values, dtype=float)


def reloaded_agent(agent: Any, folder: Path) -> Any:
    """The agent from its file."""
    agent.save(folder / "agent")
    return load(folder / "agent")
