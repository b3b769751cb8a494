"""Features, and the choice of engine."""

from typing import Any

import numpy as np
import pytest

from agents.gp import (
    Actions,
    Box,
    Constant,
    Decay,
    Finite,
    Index,
    Kernel,
    Linear,
    Matern,
    Periodic,
    SquaredExponential,
    TimeSquaredExponential,
    make_posterior,
)
from agents.gp.actions import chebyshev
from agents.gp.features import find_basis, find_features

rng = np.random.default_rng(0)
CITY = Finite(rng.uniform(0, 4, (300, 2)))
FEW = Finite(rng.uniform(0, 10, (24, 2)))
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
def test_action_features_reproduce_the_kernel(kernel: Any, actions: Actions) -> None:
    places = actions.points(
        rng.uniform(actions.low, actions.high, (50, actions.dimension))
        if isinstance(actions, Box)
        else None
    )
    for term in (kernel * Constant()).terms:
        phi, expected = find_basis(term, actions)(places), term.over_actions(places, places)
        expected *= term.variance
        np.testing.assert_allclose(phi @ phi.T, expected, atol=1e-11 * expected.max())


@pytest.mark.parametrize("period", [1, 2, 3, 8])
def test_features_of_short_whole_periods_are_their_phases(period: int) -> None:
    kernel = Index() * Periodic(float(period), 0.2)
    assert find_features(kernel, Finite.arms(5), whole_times=True).size == 5 * period


def test_features_are_as_many_as_needed() -> None:
    """By the smoothness of the kernel, and fewer in time where an action feature is weak."""
    twice = Finite(np.repeat(rng.normal(size=(4, 2)), 3, axis=0))
    assert find_features(SquaredExponential() * Constant(), twice).size == 4
    few, many = (Finite(rng.uniform(0, 4, (n, 2))) for n in (500, 2000))
    kernel = SquaredExponential(1.5) * Periodic(24.0)
    sizes = [find_features(kernel, actions).size for actions in (few, many)]
    assert sizes[1] < 1.15 * sizes[0]
    assert find_features(kernel, few, whole_times=True).size <= sizes[0]
    features = find_features(SquaredExponential(2.0) * Periodic(24.0), Box(0, 10))
    widths = [block.shape[1] for block in features.blocks]
    assert widths[0] > widths[-1]
    assert features.size < 0.8 * features.width * widths[0]


@pytest.mark.parametrize(
    ("kernel", "actions", "horizon", "expected"),
    [
        (PERIODIC, FEW, None, "state-space"),
        (PERIODIC, FEW, 100, "incremental"),
        (PERIODIC, FEW, 2000, "state-space"),
        (SquaredExponential() * Decay(0.03), Box(0, 10), 200, "state-space"),
        (SquaredExponential() * TimeSquaredExponential(10.0), Box(0, 10), None, "incremental"),
        (Matern(0.5) * Constant(), Box(0, 10), None, "incremental"),
        (PERIODIC, Box([0] * 5, [5] * 5), None, "incremental"),
    ],
)
def test_engine_is_chosen_by_cost(
    kernel: Kernel, actions: Actions, horizon: int | None, expected: str
) -> None:
    assert make_posterior(kernel, actions, 0.1, horizon=horizon).name.startswith(expected)


@pytest.mark.parametrize("engine", ["incremental", "state-space"])
def test_engine_can_be_given(engine: str) -> None:
    assert make_posterior(PERIODIC, Box(0, 3), 0.1, engine=engine).name.startswith(engine)


def test_chebyshev_grid_has_its_ends_and_is_denser_there() -> None:
    (points,) = chebyshev(Box([-1.0], [3.0]), 5).T
    np.testing.assert_allclose(points, 1.0 - 2.0 * np.cos(np.pi * np.arange(5) / 4))


@pytest.mark.parametrize("number", [0, 2, 4, np.int64(2), [4]])
def test_finite_actions_look_up_one_arm(number: Any) -> None:
    """A number is the usual case and has a way of its own."""
    actions = Finite(np.arange(10.0).reshape(5, 2))
    points = actions.points(number)
    np.testing.assert_array_equal(points.x, actions.x[np.atleast_1d(number)])
    np.testing.assert_array_equal(points.arm, np.atleast_1d(number))
