"""Features, and the choice of engine."""

import numpy as np
import pytest

from agents.gp import (
    Box,
    Constant,
    Decay,
    Finite,
    Index,
    Linear,
    Matern,
    Periodic,
    RankError,
    SquaredExponential,
    TimeSquaredExponential,
    make_posterior,
)
from agents.gp.features import find_basis, find_features

rng = np.random.default_rng(0)
CITY = Finite(rng.uniform(0, 4, (300, 2)))
PERIODIC = SquaredExponential(1.0) * Periodic(24.0)


@pytest.mark.parametrize(
    ("kernel", "actions"),
    [
        (SquaredExponential(1.0), CITY),
        (2.0 * SquaredExponential((1.0, 3.0)) * Linear(), CITY),
        (Matern(0.5), CITY),
        (Index(), Finite.arms(40)),
        (SquaredExponential(1.0), Box(0, 10)),
        (3.0 * SquaredExponential(2.0) + Linear(), Box([0, -1], [3, 4])),
        (SquaredExponential(2.0), Box([0] * 3, [1.5] * 3)),
    ],
)
def test_action_features_reproduce_the_kernel(kernel, actions):
    if isinstance(actions, Box):
        points = actions.points(rng.uniform(actions.low, actions.high, (50, actions.dimension)))
    else:
        points = actions.points()
    for term in (kernel * Constant()).terms:
        phi = find_basis(term, actions)(points)
        expected = term.variance * term.over_actions(points, points)
        np.testing.assert_allclose(phi @ phi.T, expected, atol=1e-11 * expected.max())


def test_equal_arms_are_no_trouble():
    twice = Finite(np.repeat(rng.normal(size=(4, 2)), 3, axis=0))
    assert find_features(SquaredExponential() * Constant(), twice).size == 4


def test_rank_depends_on_smoothness_not_on_the_number_of_actions():
    few, many = (Finite(rng.uniform(0, 4, (n, 2))) for n in (500, 2000))
    kernel = SquaredExponential(1.5) * Periodic(24.0)
    sizes = [find_features(kernel, actions).size for actions in (few, many)]
    assert sizes[1] < 1.15 * sizes[0]
    assert find_features(kernel, few, whole_times=True).size <= sizes[0]


def test_weak_action_features_get_few_time_features():
    features = find_features(SquaredExponential(2.0) * Periodic(24.0), Box(0, 10))
    shapes = [block.shape for block in features.blocks]
    assert shapes[0][1] > shapes[-1][1]
    assert features.size < 0.8 * features.width * shapes[0][1]


@pytest.mark.parametrize("period", [1, 2, 3, 8])
def test_short_whole_periods_need_no_more_features_than_phases(period):
    kernel = Index() * Periodic(float(period), 0.2)
    assert find_features(kernel, Finite.arms(5), whole_times=True).size == 5 * period


@pytest.mark.parametrize(
    ("kernel", "actions", "horizon", "expected"),
    [
        (PERIODIC, Finite(rng.uniform(0, 10, (24, 2))), None, "state-space"),
        (PERIODIC, Finite(rng.uniform(0, 10, (24, 2))), 100, "incremental"),
        (PERIODIC, Finite(rng.uniform(0, 10, (24, 2))), 2000, "state-space"),
        (SquaredExponential() * Decay(0.03), Box(0, 10), 200, "state-space"),
        (SquaredExponential() * TimeSquaredExponential(10.0), Box(0, 10), None, "incremental"),
        (Matern(0.5) * Constant(), Box(0, 10), None, "incremental"),
        (PERIODIC, Box([0] * 5, [5] * 5), None, "incremental"),
    ],
)
def test_the_engine_is_chosen_by_cost(kernel, actions, horizon, expected):
    posterior = make_posterior(kernel, actions, 0.1, horizon=horizon)
    assert posterior.name.startswith(expected)


@pytest.mark.parametrize("engine", ["incremental", "state-space"])
def test_the_engine_can_be_forced(engine):
    assert make_posterior(PERIODIC, Box(0, 3), 0.1, engine=engine).name.startswith(engine)


def test_what_cannot_be_is_said():
    with pytest.raises(RankError):
        make_posterior(
            Index() * TimeSquaredExponential(1.0), Finite.arms(2), 0.1, engine="state-space"
        )
    with pytest.raises(RankError):
        make_posterior(Matern(0.5) * Constant(), Box(0, 9), 0.1, engine="state-space")
    with pytest.raises(ValueError, match="unknown engine"):
        make_posterior(PERIODIC, CITY, 0.1, engine="fast")
    with pytest.raises(ValueError, match="noise_variance"):
        make_posterior(PERIODIC, CITY, 0.0)
    with pytest.raises(ValueError, match="low < high"):
        Box(1, 1)
    with pytest.raises(ValueError, match="coordinates"):
        Finite(np.zeros((0, 2)))
