"""Tests that every agent of the package keeps the contract and reports a missing library."""

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest
from periodic_gp_peers.peer import Peer

from agents import AgentSpec, Problem, make_agent, names
from agents.registry import find_class
from agents.testing import AgentContract, example_problem, example_reward, observe

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parents[1]
PROJECT = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
ENTRY_POINTS = PROJECT["entry-points"]["periodic_gp.agents"]
SETTINGS = [
    "bayesianbandits-ucb:decay=0.9,alpha=0.54",
    "lightgbm-thompson:models=2",
    "mabwiser-lints:alpha=0.1",
    "river-linucb:alpha=100,beta=100",
]
REQUIRED = os.environ.get("PERIODIC_GP_REQUIRE_PEERS", "").split(",")
"""Libraries whose tests must not be skipped."""


def installed(text: str) -> str:
    """Return the name unchanged; skip the test if the library of the agent is missing."""
    library = find_class(AgentSpec.parse(text).name).libraries[0]
    try:
        version(library)
    except PackageNotFoundError:
        if library in REQUIRED:
            pytest.fail(f"{library} is not installed, and PERIODIC_GP_REQUIRE_PEERS names it")
        pytest.skip(f"{library} is not installed")
    return text


def no_scale(kind: str = "arms", **changes: object) -> Problem:
    """Return a problem without the scale of its rewards."""
    found = example_problem(kind)
    told = {"periods": found.periods, "action_features": found.action_features, **changes}
    return Problem(found.action_space, found.observation_space, **told)


@pytest.mark.parametrize("name", [*ENTRY_POINTS, *SETTINGS])
class TestContract(AgentContract):
    """Contract tests of agents.testing for every agent of the package."""

    problems = ("finite", "arms", "warm", "box")

    @pytest.fixture(autouse=True)
    def _named(self, name: str) -> None:
        self.name = installed(name)

    def make(self, problem, rng):
        return make_agent(self.name, problem, rng)


def test_the_door() -> None:
    """After installation, the entry points make all agents known by their names."""
    assert {name: names().get(name) for name in ENTRY_POINTS} == ENTRY_POINTS


def test_every_library_is_an_extra_and_part_of_all() -> None:
    extras = PROJECT["optional-dependencies"]
    needed = {find_class(name).extra for name in ENTRY_POINTS}
    assert needed == set(extras) - {"agreement", "all", "light", "test"}
    assert set(extras["all"][0].partition("[")[2].rstrip("]").split(",")) == needed


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_a_season_is_learned(name: str) -> None:
    """Late regret is well below early regret if mean rewards repeat every six steps.

    For random choices, the ratio of late to early regret, over 60 steps each, is 1 on average, with
    a standard deviation of about 0.15. All agents must reach a ratio below 0.75, including the slow
    learners of Vowpal Wabbit.
    """
    agent = make_agent(installed(name), no_scale(), np.random.default_rng(3))
    noise, regrets = np.random.default_rng(1).normal(0, 0.05, 300), []
    for t in range(300):
        action = agent.act(observe(t))
        rewards = [example_reward("arms", arm, t) for arm in range(5)]
        regrets.append(max(rewards) - rewards[action])
        agent.update(observe(t), action, 50.0 + 10.0 * (rewards[action] + noise[t]))
    assert sum(regrets[-60:]) < 0.75 * sum(regrets[:60])


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_the_global_generators_are_left_alone(name: str) -> None:
    installed(name)
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    agent = make_agent(name, example_problem("arms"), np.random.default_rng(0))
    for t in range(25):
        agent.update(observe(t), agent.act(observe(t)), float(t % 3))
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.parametrize(
    ("river", "ours"),
    [("river-linucb", "linucb"), ("river-linucb:alpha=100,beta=100", "linucb:width=0.1")],
)
def test_river_chooses_as_our_linucb(river, ours) -> None:
    """Given the same history, both agents choose the same arms.

    Both agents learn the same rewards of random arms. Otherwise their histories would differ, since
    each agent breaks ties at random.
    """
    problem, rng = no_scale(), np.random.default_rng(5)
    river, ours = (
        make_agent(name, problem, np.random.default_rng(0)) for name in (installed(river), ours)
    )
    equal = []
    for t in range(200):
        if t >= 60:  # all arms have been tried, so there are no ties
            equal.append(river.act(observe(t)) == ours.act(observe(t)))
        arm = int(rng.integers(5))
        reward = 7.0 + example_reward("arms", arm, t) + rng.normal(0, 0.3)
        for agent in (river, ours):
            agent.update(observe(t), arm, reward)
    assert np.mean(equal) == 1.0


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ("mabwiser-linucb:alpha=0", "mabwiser-linucb:alpha=50"),
        ("mabwiser-lints:alpha=0.001", "mabwiser-lints:alpha=50"),
        ("river-linucb:alpha=1e4,beta=1e4", "river-linucb:alpha=1e-4,beta=1e-4"),
    ],
)
def test_widths_go_to_the_library(narrow: str, wide: str) -> None:
    """Only an agent with a wide posterior leaves an arm that is always the best by far."""
    left = []
    for name in (installed(narrow), wide):
        agent = make_agent(name, no_scale(), np.random.default_rng(0))
        for t in range(40):
            agent.update(observe(t), t % 5, 1.0 if t % 5 == 2 else 0.0)
        chosen = []
        for t in range(40, 80):
            chosen.append(agent.act(observe(t)))
            agent.update(observe(t), chosen[-1], 1.0 if chosen[-1] == 2 else 0.0)
        left.append(sum(arm != 2 for arm in chosen))
    assert left[0] <= 2
    assert left[1] >= 10


def test_the_quantile_goes_to_bayesianbandits() -> None:
    for text, alpha in (("", 0.68), (":alpha=0.54", 0.54)):
        name = installed(f"bayesianbandits-ucb{text}")
        agent = make_agent(name, no_scale(), np.random.default_rng(0))
        assert agent._agent.policy.alpha == alpha


def test_vowpal_wabbit_is_told_how_likely_first_pulls_were() -> None:
    """Random choices have probability 1/5; a choice of another policy is assigned 1."""
    agent = make_agent(installed("vw-bag"), no_scale(), np.random.default_rng(0))
    labels, learn = [], agent._vw.learn
    agent._vw.learn = lambda lines: (labels.extend(lines), learn(lines))
    for t in range(10):
        agent.update(observe(t), agent.act(observe(t)), float(t % 3))
    agent.update(observe(99), 0, 1.0)
    chances = [line.split()[0].split(":")[2] for line in labels if line.startswith("0:")]
    assert chances == ["0.200000"] * 10 + ["1.000000"]


@pytest.mark.parametrize("problem", [no_scale(), example_problem("arms")])
def test_lightgbm_has_trees_after_ten_rewards_and_new_ones_after_twenty_more(problem) -> None:
    agent = make_agent(installed("lightgbm-thompson:models=2"), problem, np.random.default_rng(0))
    trained = []
    for t in range(55):
        before = agent._models
        agent.update(observe(t), t % 5, example_reward("arms", t % 5, t))
        if agent._models is not before:
            trained.append(t + 1)
    assert trained == [10, 30, 50]


class Recorder(Peer):
    """Agent that records what it learns, with fixed scores."""

    def start(self) -> None:
        self.told = []

    def choose(self, t):
        return self.best_of(np.array([1.0, 3.0, 3.0, 0.0, 3.0]))

    def learn(self, t, arm, reward):
        self.told.append((t, arm, reward))


def test_a_box_is_cut_into_points() -> None:
    agent = Recorder(example_problem("box"), np.random.default_rng(0))
    assert agent.n_arms == 20
    action = agent.act(observe(0))
    assert any(
        np.array_equal(action, np.float32([point])) for point in np.linspace(-1, 1, 20)[[1, 2, 4]]
    )
    agent.update(observe(0), np.float32([-0.99]), 1.0)
    assert agent.told[0][1] == 0
    np.testing.assert_allclose(agent.arm_features()[:, 0], np.linspace(-2, 2, 20), atol=1e-6)


def test_ties_are_broken_at_random() -> None:
    agent = Recorder(example_problem("arms"), np.random.default_rng(0))
    found = np.bincount([agent.act(observe(0)) for _ in range(600)], minlength=5)
    assert found[[0, 3]].sum() == 0
    assert found[[1, 2, 4]].min() > 150  # expected 200, deviation 12


def test_rewards_are_standardised_and_first_pulls_random() -> None:
    agent = Recorder(no_scale(), np.random.default_rng(0), first_pulls=4)
    first = set()
    for t, reward in enumerate((5.0, 7.0, np.nan, 9.0)):
        first |= {agent.act(observe(t)) for _ in range(50)}
        agent.update(observe(t), 2, reward)
    assert first == set(range(5))
    values = [reward for *_, reward in agent.told]
    np.testing.assert_allclose(values, [0.0, 1.0, np.sqrt(1.5)])
    agent.update(observe(4), 2, 7.0)
    assert {agent.act(observe(5)) for _ in range(50)} == {1, 2, 4}
    told = Recorder(example_problem("arms"), np.random.default_rng(0))
    told.update(observe(0), 0, 2.0)
    assert told.told == [(0.0, 0, 2.0 / np.hypot(1.0, 0.1))]
    assert told.act(observe(1)) in {1, 2, 4}


def test_the_context_has_three_harmonics_of_every_season() -> None:
    agent = Recorder(no_scale(periods=(24.0, 5.0)), np.random.default_rng(0))
    frequencies = np.array([1 / 24, 2 / 24, 3 / 24, 1 / 5, 2 / 5])
    angles = 2 * np.pi * 7 * frequencies
    np.testing.assert_allclose(agent.context(7), [1, *np.cos(angles), *np.sin(angles)])


@pytest.mark.parametrize(
    ("problem", "settings", "message"),
    [
        (no_scale(periods=()), {}, "needs a season, but the problem has none: append :period=24"),
        (no_scale(), {"period": -1.0}, r"period must be positive and finite, got -1\.0"),
        (no_scale(), {"period": "foo"}, "period must be a number, got 'foo'"),
        (no_scale(), {"harmonics": 0}, "harmonics must be a whole number of at least 1, got 0"),
        (no_scale(), {"harmonics": "foo"}, "harmonics must be a whole number .* got 'foo'"),
        (no_scale(), {"harmonics": 1.5}, r"harmonics must be a whole number .* got 1\.5"),
        (no_scale(), {"harmonics": 10**11}, "harmonics must be at most 1000, got 100000000000"),
        (no_scale(), {"first_pulls": "foo"}, "first_pulls must be a whole number .* got 'foo'"),
        (no_scale(), {"first_pulls": -1}, "first_pulls must be a whole number .*, or 0, got -1"),
    ],
)
def test_bad_input_is_said_in_a_sentence(problem, settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        Recorder(problem, np.random.default_rng(0), **settings)


def test_impossible_rewards_and_actions_are_refused() -> None:
    agent = Recorder(example_problem("arms"), np.random.default_rng(0))
    for action, reward in ((0, np.inf), (0, -1e160), (99, 1.0), (2.7, 1.0)):
        with pytest.raises(ValueError, match=r"finite|whole number"):
            agent.update(observe(0), action, reward)
    assert agent.told == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bayesianbandits-ucb:decay=0", r"decay must lie in \(0, 1\], got 0"),
        ("bayesianbandits-ucb:decay=foo", "decay must be a number, got 'foo'"),
        ("bayesianbandits-ucb:alpha=1", r"alpha must lie in \(0, 1\), got 1"),
        ("botorch-gp-ucb:beta=-1", "beta must be finite and not negative, got -1"),
        ("botorch-gp-ucb:beta=foo", "beta must be a number, got 'foo'"),
        ("lightgbm-thompson:models=0", "models must be a whole number of at least 1, got 0"),
        ("lightgbm-thompson:models=1.5", r"models must be a whole number of at least 1, got 1\.5"),
        ("lightgbm-thompson:leaf=foo", "leaf must be a whole number of at least 1, got 'foo'"),
        ("lightgbm-thompson:refit_every=0", "refit_every must be a whole number of at least 1"),
        ("mabwiser-linucb:alpha=-1", "alpha must be finite and not negative, got -1"),
        ("mabwiser-lints:alpha=0", "alpha must be positive and finite, got 0"),
        ("river-linucb:alpha=foo", "alpha must be a number, got 'foo'"),
        ("river-linucb:width=2", "river-linucb has no setting 'width'"),
    ],
)
def test_bad_settings(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_agent(text, example_problem("arms"), np.random.default_rng(0))


MISSING = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np
from agents import describe, make_agent
from agents.testing import example_problem
assert all(describe(name) for name in {names!r})
make_agent({name!r}, example_problem("arms"), np.random.default_rng(0))
"""


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_a_missing_library_is_said_in_a_sentence(name: str, tmp_path: Path) -> None:
    extra = find_class(name).extra
    (tmp_path / f"{extra}.py").write_text("raise ImportError('there is none')")
    code = MISSING.format(folder=str(tmp_path), names=list(ENTRY_POINTS), name=name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (
        done.stderr.strip()
        .splitlines()[-1]
        .endswith(
            f"this agent needs {extra}, which cannot be imported (there is none); run in the "
            f'folder of the project: pip install -c constraints.txt -e "examples/peers[{extra}]"'
        )
    )
