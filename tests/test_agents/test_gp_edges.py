"""Faults that ``make mutation`` put into the mathematics and no other test saw."""

import numpy as np
from scipy.special import ndtr

from agents.gp import Finite, Periodic, SquaredExponential, StateSpace
from agents.gp.posteriors.state_space import MIN_EXCEEDING_PROBABILITY, at_most, none_above
from agents.gp.relevance import Relevance


def test_relevance_of_two_independent_observations() -> None:
    """By hand: W_1^2 = (alpha_1^2 / A_1^2 + 1 / A_1) A_1^2 G_1, W^2 = sum alpha^2 G + A G."""
    A, alpha, G = np.diag([2.0, 4.0]), np.array([1.0, 3.0]), np.diag([5.0, 7.0])
    lost = np.array([(1 / 4 + 1 / 2) * 4 * 5, (9 / 16 + 1 / 4) * 16 * 7])
    known = 1 * 5 + 9 * 7 + 2 * 5 + 4 * 7
    np.testing.assert_allclose(Relevance(A, alpha, G)(), np.sqrt(lost / known))


def test_none_above_takes_bounds_one_by_one() -> None:
    """Arms that hang together: what pushes the first one down pushes the others, too."""
    kernel = SquaredExponential(1.0) * Periodic(24.0)
    arms = Finite(np.array([[0.0], [0.4], [1.5], [4.0]]))
    at_once, in_turn = (StateSpace(kernel, arms, 0.1) for _ in range(2))
    for engine in (at_once, in_turn):
        for t in range(4):
            engine.observe(t, float(t), 1.0 + t / 2)
    bounds, pushed = np.array([0.5, 0.4, 0.8, 0.0]), [3]
    none_above(at_once, 3, 5.0, bounds)
    while True:
        mean, covariance = in_turn.joint(5.0)
        above = ndtr((mean - bounds) / np.sqrt(np.diagonal(covariance)))
        above[pushed] = 0.0
        arm = int(above.argmax())
        if above[arm] < MIN_EXCEEDING_PROBABILITY:
            break
        factor = at_most(float(mean[arm]), float(covariance[arm, arm]), float(bounds[arm]))
        in_turn.weigh(arm, 5.0, *factor)
        pushed.append(arm)
    assert len(pushed) >= 3
    for ours, theirs in zip(at_once.joint(6.0), in_turn.joint(6.0), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-7)
