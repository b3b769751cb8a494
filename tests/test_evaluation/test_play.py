"""One episode of an agent, and its record."""

import gymnasium as gym
import numpy as np
import pytest

import periodic_envs  # noqa: F401
from agents import AgentSpec
from evaluation.play import plain, play


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
def test_plain_copies_actions(action: object, expected: object) -> None:
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


def test_play_records_copies() -> None:
    spec = AgentSpec.parse(f"{__file__}:Meddler")
    episode = play(gym.make("PeriodicGP-Synthetic-v0", horizon=6), spec, 0)
    assert episode.t.tolist() == list(range(6))
    assert (episode.action == 0.5).all()
    assert len(episode.agent_seconds) == 6


def test_play_records_the_origin_of_rewards() -> None:
    spec = AgentSpec.parse("random")
    episode = play(gym.make("PeriodicGP-MadridSim-v0", horizon=3), spec, 0)
    assert episode.origin.source == "simulator"
    assert play(gym.make("PeriodicGP-Synthetic-v0", horizon=3), spec, 0).origin is None
