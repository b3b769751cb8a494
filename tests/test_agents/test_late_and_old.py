"""Observations that come late, and observations old enough to forget."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.gp import (
    Box,
    Constant,
    Decay,
    Finite,
    Incremental,
    Index,
    Periodic,
    SquaredExponential,
    StateSpace,
    TimeSquaredExponential,
    make_posterior,
)
from agents.gp.posteriors.engines import exact_window
from agents.gp.posteriors.late import SPAN
from tests.dense import Dense

KERNEL = Index() * Periodic(7.0) * Decay(0.05) + 0.5 * Index() * Decay(0.3) + Constant(0.5)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 150), lateness=st.floats(0.0, 20.0))
def test_late_observations_with_decay_are_exact_within_the_tape(seed, n, lateness):
    rng = np.random.default_rng(seed)
    taken = np.arange(n, dtype=float)
    arrives = np.argsort(taken + rng.uniform(0, lateness, n), kind="stable")
    y, arm = rng.normal(size=n), rng.integers(0, 3, n)
    ours, dense = (engine(KERNEL, Finite.arms(3), 0.1) for engine in (StateSpace, Dense))
    for i in arrives:
        ours.observe(arm[i], taken[i], y[i])
        dense.observe(arm[i], taken[i], y[i])
    np.testing.assert_allclose(ours.predict(n + 1.0), dense.predict(n + 1.0), atol=1e-9)
    assert ours.log_evidence == pytest.approx(dense.log_evidence, rel=1e-8)


def test_an_observation_later_than_the_tape_still_informs():
    """Documented approximation: a blurred view of the present, never a contradiction."""
    kernel = Index() * Decay(0.001)
    ours, dense = (engine(kernel, Finite.arms(2), 0.1) for engine in (StateSpace, Dense))
    for t in range(4 * SPAN):
        for posterior in (ours, dense):
            posterior.observe(0, float(t), 0.0)
    before = ours.predict(4.0 * SPAN)
    for posterior in (ours, dense):
        posterior.observe(1, 0.0, 2.0)
    after, exact = ours.predict(4.0 * SPAN), dense.predict(4.0 * SPAN)
    assert after.variance[1] < before.variance[1]
    assert abs(after.mean[1] - exact.mean[1]) < 0.05 * exact.mean[1]
    assert after.mean[0] == pytest.approx(before.mean[0])


def test_predicting_ahead_and_observing_behind_is_exact_with_decay():
    """A constant delay: every reward comes ten steps after its action."""
    ours, dense = (engine(KERNEL, Finite.arms(3), 0.1) for engine in (StateSpace, Dense))
    rng = np.random.default_rng(0)
    for t in range(80):
        ours.predict(t + 10.0)
        y, arm = rng.normal(), int(rng.integers(3))
        ours.observe(arm, float(t), y)
        dense.observe(arm, float(t), y)
    np.testing.assert_allclose(ours.predict(90.0), dense.predict(90.0), atol=1e-9)


@pytest.mark.parametrize("noise_variance", [0.01, 1.0])
@pytest.mark.parametrize("same_action", [True, False])
def test_the_window_is_exact(noise_variance, same_action):
    kernel, box = SquaredExponential(1.0) * TimeSquaredExponential(3.0), Box(0, 5)
    rng, n = np.random.default_rng(0), 500
    x = np.full((n, 1), 2.0) if same_action else rng.uniform(0, 5, (n, 1))
    y, query = 3 * rng.normal(size=n), np.linspace(0, 5, 11)[:, None]
    short = make_posterior(kernel, box, noise_variance)
    full = Incremental(kernel, box, noise_variance)
    for t in range(n):
        short.observe(x[t], t, y[t])
        full.observe(x[t], t, y[t])
    assert "window" in short.name
    assert len(short._past.t) < n / 2
    np.testing.assert_allclose(short.predict(n, query), full.predict(n, query), atol=1e-10)
    assert short.log_evidence == pytest.approx(full.log_evidence, rel=1e-10)
    assert short.count == n


def test_the_correlation_alone_would_be_too_short_a_window():
    """Why exact_window is not one line: 8.3 length-scales are wrong by far more than round-off."""
    kernel, box = SquaredExponential(1.0) * TimeSquaredExponential(3.0), Box(0, 5)
    y = 3 * np.random.default_rng(0).normal(size=200)
    short, full = Incremental(kernel, box, 0.01), Incremental(kernel, box, 0.01)
    for t in range(200):
        full.observe([2.0], t, y[t])
        if t > 199 - 8.3 * 3:
            short.observe([2.0], t, y[t])
    gap = short.predict(200, [[2.0]]).mean - full.predict(200, [[2.0]]).mean
    assert abs(gap[0]) > 1e-6


def test_no_window_when_a_term_lasts():
    lasting = TimeSquaredExponential(3.0) * Index() + Constant()
    assert exact_window(lasting, 0.1, 1.0) is None
    assert exact_window(Index() * Periodic(3.0), 0.1, 1.0) is None
