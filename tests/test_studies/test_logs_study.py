"""The study of logs: what is simulated is what it is said to be, and the page is of that."""

import math

import numpy as np
import pytest

from periodic_decisions.logs.evaluate import ESTIMATORS
from studies.ope.__main__ import CASES
from studies.ope.measure import TARGETS, Score, score
from studies.ope.page import coverage_table, ordered, page, too_low
from studies.ope.simulate import EPSILON, LOGGING, SETTINGS, simulate


@pytest.mark.parametrize("logging", sorted(LOGGING))
@pytest.mark.parametrize("setting", ["stationary", "rides"])
def test_probabilities_are_those_of_the_choices(logging: str, setting: str) -> None:
    """The mean of [arm] / probability is 1 for every arm: 20,000 steps, five standard errors."""
    drawn = simulate(SETTINGS[setting], logging, 25, seed=0)
    n, arms = drawn.arm.size, drawn.means.shape[2]
    for arm in range(arms):
        weight = (drawn.arm == arm) / drawn.probability
        assert abs(weight.mean() - 1.0) < 5.0 * weight.std() / math.sqrt(n)
    lowest = 1.0 / arms if logging == "uniform" else EPSILON / arms
    assert drawn.probability.min() == pytest.approx(lowest)
    again = simulate(SETTINGS[setting], logging, 25, seed=0)
    assert np.array_equal(drawn.reward, again.reward)


def test_rewards_have_the_means_that_are_said() -> None:
    """Errors of 20,000 rewards with noise 1: five standard errors."""
    drawn = simulate(SETTINGS["seasonal"], "uniform", 25, seed=1)
    expected = np.take_along_axis(drawn.means, drawn.arm[:, :, None], axis=2)[:, :, 0]
    assert abs((drawn.reward - expected).mean()) < 5.0 / math.sqrt(drawn.arm.size)
    assert np.std(drawn.reward - expected) == pytest.approx(1.0, abs=0.03)


def test_scores_by_hand() -> None:
    errors = np.array([[0.5, -0.5, 1.5], [-1.0, -1.5, -0.5], [math.nan] * 3, [0.5, 0.2, 0.8]])
    found = score([errors[:2], errors[2:]])
    assert found.logs == 4
    assert found.refused == 0.25
    assert found.coverage == pytest.approx(1 / 3)
    assert found.below == pytest.approx(1 / 3)
    assert found.bias == pytest.approx(0.0)
    assert found.rmse == pytest.approx(math.sqrt(0.5))
    assert found.width == pytest.approx((2.0 + 1.0 + 0.6) / 3)


def test_the_page_marks_what_is_too_low() -> None:
    good = Score(200, 0.0, 0.95, 0.015, 0.0, 0.01, 0.03, 0.1, 0.1, 0.4)
    bad = Score(200, 0.0, 0.85, 0.025, -0.1, 0.01, 0.14, 0.1, 0.1, 0.4)
    refused = Score(200, 1.0, *(math.nan,) * 8)
    assert [too_low(one) for one in (good, bad, refused)] == [False, True, False]
    scores = {
        (*case, target, estimator): bad if estimator == "dm" else good
        for case in reversed(CASES)
        for target in TARGETS
        for estimator in ESTIMATORS
    }
    scores["rides", "schedule", True, TARGETS[0], "dr"] = refused
    scores = ordered(scores)
    assert next(iter(scores)) == ("stationary", "uniform", False, TARGETS[0], "dm")
    rows = coverage_table(scores).splitlines()
    first = (
        "| Stationary, 5 arms | uniform | a fixed arm | **85.0** | 95.0 | 95.0 | 95.0 | 95.0 | 0% |"
    )
    assert rows[2] == first
    assert "| **85.0** | 95.0 | 95.0 | - | 95.0 | 100% |" in rows[-3]
    text = page(scores, "the command", 200)
    assert "**dm** covers 85.0 % on average. It is too low in 48 of 48 cases" in text
    assert "**dr** covers 95.0 % on average. It is too low in 0 of 47 cases" in text
    assert "the command" in text
