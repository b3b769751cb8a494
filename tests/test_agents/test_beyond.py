"""Beyond the paper: seasons that drift, and several at once."""

import numpy as np
import pytest

from agents import make_agent
from agents.base import Problem
from agents.gp import Finite, Incremental, Periodic, SquaredExponential, StateSpace
from agents.testing import AgentContract, example_problem, observe
from agents.zoo.gp.seasons_gp_ucb import COMBINATIONS, combined
from agents.zoo.gp.switching_gp_ucb import drifting, seasonless
from tests.dense import Dense

ARMS = Finite(np.linspace(0.0, 2.0, 5)[:, None])
DAY, WEEK = Periodic(6.0), Periodic(9.7)


def taught(text, mean, steps=150, seed=0):
    """An agent after rewards of random arms with the given mean(arm, t) and noise of 0.1."""
    agent = make_agent(text, example_problem("finite"), np.random.default_rng(0))
    rng = np.random.default_rng(seed)
    for t in range(steps):
        arm = int(rng.integers(5))
        agent.update(observe(t), arm, mean(arm, t) + 0.1 * rng.normal())
    return agent


@pytest.mark.parametrize(
    ("mean", "row", "low", "high"),
    [
        (lambda arm, t: np.cos(arm), 1, 0.0, 0.001),
        (lambda arm, t: np.cos(arm + 2 * np.pi * t / 6), 0, 0.0, 0.001),
        (lambda arm, t: np.cos(arm + 2 * np.pi * t / 50), 1, 0.005, 1.0),
        (lambda arm, t: np.cos(arm + 2 * np.pi * t * (1 / 6 + 1 / 300)), 0, 0.001, 0.2),
    ],
    ids=["still", "season", "drift", "drifting season"],
)
def test_decay_and_season_are_learned(mean, row, low, high):
    """At a fixed seed, nearly all weight is where it should be."""
    decays, weights = taught("switching-gp-ucb", mean).decay_belief()
    right = (decays >= low) & (decays <= high)
    assert weights[row, right].sum() > 0.95


def test_the_candidates_are_decay_with_and_without_the_season():
    agent = make_agent(
        "switching-gp-ucb:decays=[0,0.1,0.2]", example_problem("arms"), np.random.default_rng(0)
    )
    clocks = [len(member.kernel.terms[0].clocks) for member in agent.posterior.members]
    assert clocks == [1, 2, 2, 0, 1, 1]
    np.testing.assert_allclose(agent.posterior.weights, np.tile([0.25, 0.125, 0.125], 2))


@pytest.mark.parametrize("season", [True, False])
@pytest.mark.parametrize("eps", [0.0, 0.02])
def test_drifting_kernels_have_engines_that_agree(season, eps):
    kernel = drifting(SquaredExponential() * DAY, eps)
    assert_engines_agree(kernel if season else seasonless(kernel))


@pytest.mark.parametrize("way", COMBINATIONS)
def test_combinations_have_engines_that_agree(way):
    assert_engines_agree(SquaredExponential() * combined([DAY, WEEK], way))


def assert_engines_agree(kernel):
    engines = [engine(kernel, ARMS, 0.1) for engine in (Dense, Incremental, StateSpace)]
    rng = np.random.default_rng(0)
    for t in range(30):
        arm, y = int(rng.integers(5)), rng.normal()
        for engine in engines:
            engine.observe(arm, float(t), y)
    dense = engines[0]
    for other in engines[1:]:
        np.testing.assert_allclose(other.predict(31.0), dense.predict(31.0), atol=1e-9)
        assert other.log_evidence == pytest.approx(dense.log_evidence, rel=1e-9)


def test_combinations_are_what_they_are_called():
    lag = np.linspace(-20, 20, 41)
    day, week = DAY(lag), WEEK(lag)
    expected = {
        "any": (1 + day) * (1 + week) / 4,
        "sum": (day + week) / 2,
        "product": day * week,
        "nested": day * (1 + week) / 2,
    }
    for way in COMBINATIONS:
        terms = combined([DAY, WEEK], way).terms
        total = sum(term.variance * term.over_time(lag) for term in terms)
        np.testing.assert_allclose(total, expected[way])


def test_the_combination_is_learned():
    """At a fixed seed: two waves that add up are a sum of seasons, not a product."""

    def mean(arm, t):
        return np.cos(arm + 2 * np.pi * t / 6) + np.cos(arm + 2 * np.pi * t / 9.7)

    agent = taught("seasons-gp-ucb:periods=[6,9.7],combine=auto", mean)
    best = COMBINATIONS[int(agent.posterior.weights.argmax())]
    assert best == "sum"


class TestSeasonsContract(AgentContract):
    """The contract, for a mixture of combinations."""

    problems = ("finite", "warm")

    def make(self, problem: Problem, rng: np.random.Generator):
        return make_agent("seasons-gp-ucb:periods=[6,15],combine=auto", problem, rng)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("switching-gp-ucb:decays=[]", "decays is a list of numbers"),
        ("switching-gp-ucb:decays=[1]", "decays must lie in"),
        ("seasons-gp-ucb:combine=mix", "combine is auto, any, sum, product, nested, got 'mix'"),
        ("seasons-gp-ucb:periods=[0]", "periods must be positive"),
        ("seasons-gp-ucb:periods=[1,2,3,4,5]", "at most 4 seasons"),
    ],
)
def test_bad_settings(text, message):
    with pytest.raises(ValueError, match=message):
        make_agent(text, example_problem("finite"), np.random.default_rng(0))
