"""One episode: what the agent is given, and what is recorded of it."""

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import periodic_envs  # noqa: F401
from agents import AgentSpec
from evaluation.play import plain, play

AGENTS = Path(__file__).with_name("faulty_agents.py")


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (3, 3),
        (np.int64(3), 3),
        (np.array(3), 3),
        (True, True),
        (2.5, 2.5),
        (np.float32(0.5), 0.5),
        ([0.25, -0.5], [0.25, -0.5]),
        (np.float32([0.25]), [0.25]),
        ("left", "left"),
        (None, None),
    ],
)
def test_actions_become_plain(action: object, expected: object) -> None:
    result = plain(action)
    assert type(result) in (int, float, bool, str, type(None), np.ndarray)
    assert np.array_equal(result, expected)


class Meddler:
    """Changes its observations, and the array of its action after it was returned."""

    def __init__(self, problem, rng):
        self.action = np.zeros(1)

    def act(self, observation):
        observation[:] = 1e9
        self.action[:] = 0.5
        return self.action

    def update(self, observation, action, reward):
        self.action[:] = -1.0


def test_later_changes_by_the_agent_change_nothing() -> None:
    class Spec:
        def make(self, problem, rng, learned=None):
            return Meddler(problem, rng)

    episode = play(gym.make("PeriodicGP-Synthetic-v0", horizon=6), Spec(), 0)
    assert episode.t.tolist() == list(range(6))
    assert (episode.action == 0.5).all()
    assert len(episode.agent_seconds) == 6


def test_episodes_name_the_origin_of_their_rewards() -> None:
    spec = AgentSpec.parse("random")
    episode = play(gym.make("PeriodicGP-MadridSim-v0", horizon=3), spec, 0)
    assert episode.origin.source == "simulator"
    assert play(gym.make("PeriodicGP-Synthetic-v0", horizon=3), spec, 0).origin is None


def test_errors_of_agents_keep_their_place() -> None:
    env = gym.make("PeriodicGP-SyntheticDiscrete-v0", horizon=2)
    with pytest.raises(RuntimeError, match="a bad day") as caught:
        play(env, AgentSpec.parse(f"{AGENTS}:Raises"), 0)
    assert caught.traceback[-1].path.name == "faulty_agents.py"
