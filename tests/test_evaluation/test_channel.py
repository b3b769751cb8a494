"""What an agent can and cannot find out."""

import gymnasium as gym
import numpy as np
import pytest

import periodic_envs  # noqa: F401
from agents import AgentSpec
from agents.registry import find_class
from evaluation.play import play
from evaluation.running.channel import plain

FILE = __file__.replace("test_channel.py", "faulty_agents.py")


@pytest.mark.parametrize("spy", ["Spy", "SlySpy"])
@pytest.mark.parametrize("world", ["SyntheticDiscrete", "Synthetic", "HiddenPeriod", "MadridSim"])
def test_a_spy_finds_nothing(world: str, spy: str) -> None:
    env = gym.make(f"PeriodicGP-{world}-v0", horizon=5)
    run = play(env, AgentSpec.parse(f"{FILE}:{spy}"), 0)
    assert run.agent.found == set()


def test_a_refused_action_finds_nothing_either() -> None:
    born = []

    class Spec:
        def make(self, problem, rng, learned=None):
            born.append(find_class(f"{FILE}:SlyFailure")(problem, rng))
            return born[0]

    with pytest.raises(gym.error.InvalidAction):
        play(gym.make("PeriodicGP-Synthetic-v0", horizon=5), Spec(), 0)
    # (Globals are those of this file, which made the agent.)
    assert {name for name in born[0].found if not name.startswith("global ")} == set()


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
        ({1: 2}, "{1: 2}"),
    ],
)
def test_actions_become_plain(action: object, expected: object) -> None:
    found = plain(action)
    assert type(found) in (int, float, bool, str, type(None), np.ndarray)
    assert np.array_equal(found, expected)


def test_the_spy_would_find_it() -> None:
    """Called from a frame that holds the world, the same agent finds regret in many places."""
    env = gym.make("PeriodicGP-SyntheticDiscrete-v0", horizon=5).unwrapped
    observation, _ = env.reset(seed=0)
    spy = play(env, AgentSpec.parse(f"{FILE}:Spy"), 0).agent
    env.reset(seed=0)
    info = env.step(0)[-1]
    assert info["regret"] >= 0
    spy.act(observation)
    assert any(name.endswith(".env") for name in spy.found)
    assert any(name.endswith(".info") for name in spy.found)


def test_what_is_not_prevented() -> None:
    """The documentation says so: in one process, a search of all objects finds the world."""
    env = gym.make("PeriodicGP-SyntheticDiscrete-v0", horizon=2)
    assert play(env, AgentSpec.parse(f"{FILE}:DeterminedSpy"), 0).agent.found


def test_what_the_agent_changes_later_changes_nothing() -> None:
    """Observations are copies, and so are recorded actions."""

    class Meddler:
        def __init__(self, problem, rng):
            self.action = np.zeros(1)

        def act(self, observation):
            observation[:] = 1e9
            self.action = self.action  # the same array every time
            self.action[:] = 0.5
            return self.action

        def update(self, observation, action, reward):
            self.action[:] = -1.0

    class Spec:
        def make(self, problem, rng, learned=None):
            return Meddler(problem, rng)

    env = gym.make("PeriodicGP-Synthetic-v0", horizon=6)
    run = play(env, Spec(), 0)
    assert run.t.tolist() == list(range(6))
    assert (run.action == 0.5).all()


def test_a_run_says_where_its_rewards_come_from() -> None:
    spec = AgentSpec.parse("random")
    run = play(gym.make("PeriodicGP-MadridSim-v0", horizon=3), spec, 0)
    assert run.origin.source == "simulator"
    assert play(gym.make("PeriodicGP-Synthetic-v0", horizon=3), spec, 0).origin is None


def test_an_agents_error_keeps_its_place() -> None:
    env = gym.make("PeriodicGP-SyntheticDiscrete-v0", horizon=2)
    with pytest.raises(RuntimeError, match="a bad day") as caught:
        play(env, AgentSpec.parse(f"{FILE}:Raises"), 0)
    assert caught.traceback[-1].path.name == "faulty_agents.py"
