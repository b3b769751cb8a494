"""Faults that ``make mutation`` put into the mathematics and no other test saw."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from agents.gp import (
    Box,
    Finite,
    Periodic,
    SquaredExponential,
    StateSpace,
    TimeSquaredExponential,
    fit,
)
from agents.gp.actions import chebyshev
from agents.gp.posteriors.state_space import (
    MIN_EXCEEDING_PROBABILITY,
    Shortlist,
    at_most,
    none_above,
)
from agents.gp.relevance import Relevance, coming_times, time_scale


def test_a_chebyshev_grid_has_its_ends_and_is_denser_there() -> None:
    (points,) = chebyshev(Box([-1.0], [3.0]), 5).T
    expected = 1.0 - 2.0 * np.cos(np.pi * np.arange(5) / 4)
    np.testing.assert_allclose(points, expected)
    assert (points[0], points[-1]) == (-1.0, 3.0)
    assert points[1] - points[0] < points[2] - points[1]


def test_a_bound_far_below_leaves_little_doubt_but_some() -> None:
    """The variance falls with the bound, down to a thousandth and no further."""
    shares = []
    for bound in (2.0, 0.0, -3.0, -30.0, -300.0):
        factor = at_most(0.0, 1.0, bound)
        shares.append(factor.variance / (1.0 + factor.variance))
    assert shares == sorted(shares, reverse=True)
    assert shares[1] == pytest.approx(1.0 - 2.0 / math.pi)  # the half normal
    assert shares[-1] == pytest.approx(1e-3)


def test_what_two_independent_observations_matter() -> None:
    """By hand: W_1^2 = (alpha_1^2 / A_1^2 + 1 / A_1) A_1^2 G_1, W^2 = sum alpha^2 G + A G."""
    A, alpha, G = np.diag([2.0, 4.0]), np.array([1.0, 3.0]), np.diag([5.0, 7.0])
    lost = np.array([(1 / 4 + 1 / 2) * 4 * 5, (9 / 16 + 1 / 4) * 16 * 7])
    known = 1 * 5 + 9 * 7 + 2 * 5 + 4 * 7
    np.testing.assert_allclose(Relevance(A, alpha, G)(), np.sqrt(lost / known))


def test_bounds_are_taken_in_one_by_one_on_the_belief_so_far() -> None:
    """Arms that hang together: what pushes the first one down pushes the others, too."""
    kernel = SquaredExponential(1.0) * Periodic(24.0)
    arms = Finite(np.array([[0.0], [0.4], [1.5], [4.0]]))
    at_once, in_turn = (StateSpace(kernel, arms, 0.1) for _ in range(2))
    for engine in (at_once, in_turn):
        for t, arm in enumerate((0, 1, 2, 3)):
            engine.observe(arm, float(t), 1.0 + arm / 2)
    bounds = np.array([0.5, 0.4, 0.8, 0.0])
    none_above(at_once, 3, 5.0, bounds)
    pushed: list[int] = []
    while True:
        mean, covariance = in_turn.joint(5.0)
        above = ndtr((mean - bounds) / np.sqrt(np.diagonal(covariance)))
        above[[3, *pushed]] = 0.0
        arm = int(above.argmax())
        if above[arm] < MIN_EXCEEDING_PROBABILITY:
            break
        factor = at_most(float(mean[arm]), float(covariance[arm, arm]), float(bounds[arm]))
        in_turn.weigh(arm, 5.0, *factor)
        pushed.append(arm)
    assert len(pushed) >= 2
    for ours, theirs in zip(at_once.joint(6.0), in_turn.joint(6.0), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-7)


def test_how_long_a_kernel_remembers() -> None:
    kernel = SquaredExponential(1.0) * TimeSquaredExponential(5.0)
    assert time_scale(kernel) == 5.0
    times = coming_times(kernel, 100.0)
    assert 100.0 < times[0] < times[-1] < 130.0
    assert times.mean() == pytest.approx(115.0)


@pytest.mark.parametrize("arm", [0, 2, 4])
def test_one_arm_is_one_point(arm: int) -> None:
    """A number is the usual case and has a way of its own."""
    arms = Finite(np.arange(10.0).reshape(5, 2))
    for number in (arm, np.int64(arm), [arm]):
        points = arms.points(number)
        np.testing.assert_array_equal(points.x, arms.x[[arm]])
        np.testing.assert_array_equal(points.arm, [arm])


def test_no_arm_that_could_win_is_left_out_whatever_its_neighbours_are() -> None:
    """The second of every four arms has all of its variance in a feature that is late, and wins."""
    phi = np.zeros((40, 3))
    phi[:, 0] = 1.0
    phi[1::4] = 0.9, 0.0, 0.09
    covariance = np.diag([0.0025, 0.0, 1.0])
    deviation = np.sqrt(np.einsum("qi,ij,qj->q", phi, covariance, phi))
    kept = Shortlist(phi)(np.zeros(40), covariance, 4.0)
    np.testing.assert_array_equal(kept, np.flatnonzero(deviation == deviation.max()))


def test_a_noise_that_is_fixed_stays_with_any_number_of_others_free() -> None:
    rng = np.random.default_rng(0)
    x, t, y = rng.uniform(0, 5, (40, 2)), np.arange(40.0), rng.normal(size=40)
    kernel = SquaredExponential(2.0) * Periodic(12.0, 0.7)
    data, fixed = [(x, t, y)], ["noise_variance", "length_scale"]
    found = fit(kernel, Box([0, 0], [5, 5]), data, 0.01, fixed=fixed, fit_scale=False)
    assert found.noise_variance == pytest.approx(0.01, rel=1e-9)
    assert found.kernel.terms[0].variance != 1.0
