"""An agent that is told of changes starts afresh, and one that is not told does not."""

import numpy as np
import pytest
from gymnasium import spaces

from agents import load, make_agent
from agents.base import Problem
from agents.gp import Array

LISTENERS = ["periodic-gp-ucb", "gp-ucb", "switching-gp-ucb", "et-gp-ucb", "tv-gp-ucb"]


def problem(*, scale: bool = True, entry: str = "changed") -> Problem:
    low, high = np.array([0.0, -1.0]), np.array([np.inf, 1.0])
    return Problem(
        spaces.Discrete(3),
        spaces.Box(low, high, dtype=np.float64),
        observation_fields=("t", entry),
        horizon=60,
        periods=(6.0,),
        noise_std=0.5,
        reward_scale=(0.0, 1.0) if scale else None,
    )


def at(t: int, changed: float = 0.0) -> Array:
    return np.array([float(t), changed])


def learn(agent, times, rewards) -> None:
    for t in times:
        agent.update(at(t), t % 3, float(rewards[t]))


def made(name: str, told: Problem, settings: str = ":restart_on=changed"):
    return make_agent(name + settings, told, np.random.default_rng(0))


@pytest.fixture
def rewards() -> Array:
    return np.random.default_rng(1).normal(size=60)


@pytest.mark.parametrize("name", LISTENERS)
def test_after_a_notice_it_believes_what_a_new_one_does(name: str, rewards: Array) -> None:
    agent, fresh, deaf = made(name, problem()), made(name, problem()), made(name, problem(), "")
    for one in (agent, deaf):
        learn(one, range(20), rewards)
        one.act(at(20, changed=1.0))
    fresh.act(at(20))
    for one in (agent, fresh, deaf):
        learn(one, range(20, 30), rewards)
    np.testing.assert_allclose(agent.belief(31.0), fresh.belief(31.0), rtol=1e-9, atol=1e-12)
    assert not np.allclose(agent.belief(31.0), deaf.belief(31.0))


def test_what_was_decided_before_the_change_is_not_news(rewards: Array) -> None:
    agent = made("periodic-gp-ucb", problem())
    learn(agent, range(10), rewards)
    agent.act(at(10, changed=1.0))
    before = agent.belief(12.0)
    learn(agent, [8, 9], rewards)
    np.testing.assert_array_equal(agent.belief(12.0), before)
    learn(agent, [10], rewards)
    assert not np.array_equal(agent.belief(12.0), before)


def test_rewards_that_waited_for_a_scale_are_of_the_past_too(rewards: Array) -> None:
    """They set the scale, and are not learned from."""
    agent = made("gp-ucb", problem(scale=False))
    learn(agent, range(6), rewards)
    agent.act(at(6, changed=1.0))
    learn(agent, range(6, 10), rewards)
    assert agent.scale is not None
    assert agent.scale.mean == pytest.approx(rewards[:10].mean())
    assert agent.posterior.count == 4


def test_where_nothing_is_told_nothing_is_forgotten(rewards: Array) -> None:
    told = problem(entry="context_0")
    one, other = made("gp-ucb", told), made("gp-ucb", told, "")
    for agent in (one, other):
        learn(agent, range(9), rewards)
        agent.act(at(9, changed=1.0))
    np.testing.assert_array_equal(one.belief(9.0), other.belief(9.0))


def test_saved_and_loaded_it_still_ignores_the_past(rewards: Array, tmp_path) -> None:
    agent = made("periodic-gp-ucb", problem())
    learn(agent, range(9), rewards)
    agent.act(at(9, changed=1.0))
    agent.save(tmp_path / "agent")
    again = load(tmp_path / "agent")
    for one in (agent, again):
        learn(one, [8, 9, 10], rewards)
    np.testing.assert_array_equal(agent.belief(11.0), again.belief(11.0))
    assert again.posterior.count == 2


def test_a_name_is_a_text() -> None:
    with pytest.raises(ValueError, match=r"restart_on is the name of an entry .* got 3"):
        made("gp-ucb", problem(), ":restart_on=3")
