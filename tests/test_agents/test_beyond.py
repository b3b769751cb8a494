"""Beyond the paper: seasons that drift, and several at once."""

from typing import Any

import numpy as np
import pytest

from agents.gp import Finite, Incremental, Kernel, Periodic, SquaredExponential, StateSpace
from agents.zoo.gp.seasons_gp_ucb import COMBINATIONS, combined
from agents.zoo.gp.switching_gp_ucb import drifting, seasonless
from tests.dense import Dense
from tests.test_agents.playing import fresh, tell
from tests.test_agents.strategies import assert_predicts_as

ARMS = Finite(np.linspace(0.0, 2.0, 5)[:, None])
DAY, WEEK = Periodic(6.0), Periodic(9.7)


def taught(text: str, mean: Any) -> Any:
    """An agent after rewards of random arms with the given mean(arm, t) and noise of 0.1."""
    agent, rng = fresh(text), np.random.default_rng(0)
    arms = [(t, int(rng.integers(5)), 0.1 * rng.normal()) for t in range(150)]
    tell(agent, [(t, arm, mean(arm, t) + noise) for t, arm, noise in arms])
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
def test_switching_gp_ucb_learns_decay_and_season(
    mean: Any, row: int, low: float, high: float
) -> None:
    """At a fixed seed, nearly all weight is where it should be."""
    decays, weights = taught("switching-gp-ucb", mean).decay_belief()
    assert weights[row, (decays >= low) & (decays <= high)].sum() > 0.95


def test_switching_gp_ucb_has_candidates_with_and_without_the_season() -> None:
    posterior = fresh("switching-gp-ucb:decays=[0,0.1,0.2]", "arms").posterior
    clocks = [len(member.kernel.terms[0].clocks) for member in posterior.members]
    assert clocks == [1, 2, 2, 0, 1, 1]
    np.testing.assert_allclose(posterior.weights, np.tile([0.25, 0.125, 0.125], 2))


@pytest.mark.parametrize(
    "kernel",
    [
        *(drifting(SquaredExponential() * DAY, eps) for eps in (0.0, 0.02)),
        *(seasonless(drifting(SquaredExponential() * DAY, eps)) for eps in (0.0, 0.02)),
        *(SquaredExponential() * combined([DAY, WEEK], way) for way in COMBINATIONS),
    ],
)
@pytest.mark.parametrize("engine", [Incremental, StateSpace])
def test_composed_kernels_are_the_same_in_every_engine(kernel: Kernel, engine: Any) -> None:
    ours, dense, rng = engine(kernel, ARMS, 0.1), Dense(kernel, ARMS, 0.1), np.random.default_rng(0)
    for t in range(30):
        arm, y = int(rng.integers(5)), rng.normal()
        for posterior in (ours, dense):
            posterior.observe(arm, float(t), y)
    assert_predicts_as(ours, dense, 31.0)


def test_combinations_are_their_formulas() -> None:
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


def test_seasons_gp_ucb_learns_the_combination() -> None:
    """At a fixed seed: two waves that add up are a sum of seasons, not a product."""
    agent = taught(
        "seasons-gp-ucb:periods=[6,9.7],combine=auto",
        lambda arm, t: np.cos(arm + 2 * np.pi * t / 6) + np.cos(arm + 2 * np.pi * t / 9.7),
    )
    assert COMBINATIONS[int(agent.posterior.weights.argmax())] == "sum"
