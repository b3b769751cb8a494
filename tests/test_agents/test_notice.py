"""An agent that hears of changes starts afresh, and one that does not keeps its beliefs."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from agents.base import Problem
from tests.test_agents.playing import fresh

REWARDS = np.random.default_rng(1).normal(size=60)


def at(t: int, changed: float = 0.0) -> np.ndarray:
    return np.array([float(t), changed])


def learn(agent: Any, times: Any) -> None:
    for t in times:
        agent.update(at(t), t % 3, float(REWARDS[t]))


def made(name: str, *, scale: Any = (0.0, 1.0), entry: str = "changed", hears: bool = True) -> Any:
    space = spaces.Box(np.array([0.0, -1.0]), np.array([np.inf, 1.0]), dtype=np.float64)
    known = {"horizon": 60, "periods": (6.0,), "noise_std": 0.5, "reward_scale": scale}
    problem = Problem(spaces.Discrete(3), space, observation_fields=("t", entry), **known)
    return fresh(name + ":restart_on=changed" * hears, problem)


@pytest.mark.parametrize(
    "name", ["periodic-gp-ucb", "gp-ucb", "switching-gp-ucb", "et-gp-ucb", "tv-gp-ucb"]
)
def test_notice_makes_an_agent_believe_as_a_new_one(name: str) -> None:
    agent, new, deaf = made(name), made(name), made(name, hears=False)
    for one in (agent, deaf):
        learn(one, range(20))
        one.act(at(20, changed=1.0))
    learn(agent, [18, 19])  # decided before the change
    new.act(at(20))
    for one in (agent, new, deaf):
        learn(one, range(20, 30))
    np.testing.assert_allclose(agent.belief(31.0), new.belief(31.0), rtol=1e-9, atol=1e-12)
    assert not np.allclose(agent.belief(31.0), deaf.belief(31.0))
