"""Agents whose rewards arrive late: played, in protocols and replayed."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import evaluation
from agents.registry import AgentSpec
from evaluation.play import play
from evaluation.protocol import Protocol, ProtocolError
from evaluation.runs import runs_of
from evaluation.specs import UnknownWorldError, WorldSpec
from periodic_envs import DelayedReward
from tests.errors import raises
from tests.platforms import needs_sandbox

LISTENER = """
class Listener:
    def __init__(self, problem, rng):
        self.heard = []
        self.steps = 0

    def act(self, observation):
        self.steps += 1
        return self.steps % 3

    def update(self, observation, action, reward):
        self.heard.append((self.steps, int(observation[0]), action, reward))
"""
WORLD = "PeriodicGP-SyntheticDiscrete-v0"


@pytest.fixture
def listener(tmp_path: Path) -> str:
    file = tmp_path / "listener.py"
    file.write_text(LISTENER)
    return f"{file}:Listener"


@pytest.mark.parametrize("world", ["SyntheticDiscrete", "Synthetic"])
def test_delay_of_zero_changes_nothing(world: str) -> None:
    env = gym.make(f"PeriodicGP-{world}-v0", horizon=40)
    spec = AgentSpec.parse("gp-ucb")
    expected, delayed = play(env, spec, 1), play(DelayedReward(env), spec, 1)
    for name in ("t", "action", "reward", "regret"):
        assert np.array_equal(getattr(expected, name), getattr(delayed, name)), name


def test_agents_receive_rewards_when_they_arrive(listener: str) -> None:
    env = DelayedReward(gym.make(WORLD, horizon=30), delay=4)
    episode = play(env, AgentSpec.parse(listener), 0)
    agent: Any = episode.agent
    assert [(steps, t) for steps, t, *_ in agent.heard] == [(t + 5, t) for t in range(26)]
    assert [action for _, _, action, _ in agent.heard] == episode.action[:26].tolist()
    assert [reward for *_, reward in agent.heard] == episode.reward[:26].tolist()


def test_lost_rewards_are_recorded_and_not_received(listener: str) -> None:
    plain = play(gym.make(WORLD, horizon=50), AgentSpec.parse(listener), 0)
    env = DelayedReward(gym.make(WORLD, horizon=50), random=3, lost=0.3)
    episode = play(env, AgentSpec.parse(listener), 0)
    agent: Any = episode.agent
    assert 20 < len(agent.heard) < 45
    assert all(episode.reward[t] == reward for _, t, _, reward in agent.heard)
    assert [t for _, t, *_ in agent.heard] != sorted(t for _, t, *_ in agent.heard)
    assert (episode.reward == plain.reward).all()  # this agent chooses the same whatever it hears


def test_world_spec_holds_the_delay() -> None:
    spec = WorldSpec.parse(f"{WORLD}:delay=2,delay_random=3,delay_lost=0.5,horizon=30")
    env = spec.make()
    assert not isinstance(env, DelayedReward)
    assert env.horizon == 30
    played: Any = spec.as_played(env)
    assert (played.delay, played.random, played.lost) == (2, 3, 0.5)
    assert WorldSpec.parse(str(spec)) == spec
    assert WorldSpec(WORLD).as_played(env) is env


@pytest.mark.parametrize(
    "argument", ["delay=-1", "delay=2.5", "delay_random=x", "delay_lost=2", "delays=2"]
)
def test_world_spec_rejects_bad_delays(argument: str) -> None:
    with raises(UnknownWorldError, "invalid-argument"):
        WorldSpec.parse(f"{WORLD}:{argument}").make()


def protocol(agents: list[Any], **arguments: Any) -> Protocol:
    worlds = {"now": {}, "late": arguments}
    envs = [{"id": WORLD, "arguments": each, "label": name} for name, each in worlds.items()]
    return Protocol.from_dict({"envs": envs, "agents": agents, "seeds": "0:2", "horizon": 40})


def test_protocol_depends_on_the_delay() -> None:
    one, other = protocol(["ucb1"], delay=3), protocol(["ucb1"], delay=4)
    assert one.challenge != other.challenge
    keys = [{run.key for run in runs_of(p) if run.env == "late"} for p in (one, other)]
    assert not keys[0] & keys[1]


@pytest.mark.parametrize("isolation", ["none", pytest.param("sandbox", marks=needs_sandbox)])
def test_runs_with_delay_equal_those_of_play(isolation: str) -> None:
    results = evaluation.run(
        protocol(["ucb1"], delay=3, delay_lost=0.2), workers=1, isolation=isolation
    )
    steps = results.steps.query("env == 'late' and seed == 1")
    env = DelayedReward(gym.make(WORLD, horizon=40), delay=3, lost=0.2)
    expected = play(env, AgentSpec.parse("ucb1"), 1)
    assert steps["action"].tolist() == expected.action.tolist()
    np.testing.assert_allclose(steps["reward"], expected.reward)
    now = results.steps.query("env == 'now' and seed == 1")
    assert steps["action"].tolist() != now["action"].tolist()
    references = results.totals.query("track == 'references' and agent == 'best-fixed'")
    assert references.groupby("seed")["regret"].nunique().tolist() == [1, 1]


def test_training_rejects_delay() -> None:
    agent = {"name": "gp-ucb", "track": "pretrained", "training_steps": 100}
    with raises(ProtocolError, "untrainable-environment"):
        runs_of(protocol([agent], delay=3))
