"""Discounts, dropped, late and old observations: every engine gives what the dense solve gives."""

from functools import cache
from typing import Any

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
    Kernel,
    Periodic,
    SquaredExponential,
    StateSpace,
    TimeSquaredExponential,
    make_posterior,
)
from agents.gp.posteriors.engines import exact_window
from agents.gp.posteriors.late import SPAN
from agents.gp.relevance import coming_times, time_scale
from tests.dense import Dense

from .strategies import any_time, assert_predicts_as, cases, over_arms, seeds, sums

KERNEL = Index() * Periodic(7.0) * Decay(0.05) + 0.5 * Index() * Decay(0.3) + Constant(0.5)
THREE = Finite.arms(3)


@settings(max_examples=25)
@given(kernel=sums(over_arms, st.just(Constant())), case=cases(), factor=st.floats(0.05, 1.0))
def test_engines_discount_as_the_dense_solve(kernel: Kernel, case: Any, factor: float) -> None:
    arguments = kernel, case.actions, case.noise_variance
    posteriors = [engine(*arguments) for engine in (Dense, Incremental, StateSpace)]
    for action, t, y in zip(case.chosen, case.t, case.y, strict=True):
        for posterior in posteriors:
            posterior.discount(factor)
            posterior.observe(action, float(t), float(y))
    for ours in posteriors[1:]:
        assert_predicts_as(ours, posteriors[0], case.now, evidence=False)


@settings(max_examples=25)
@given(kernel=sums(over_arms, any_time), case=cases(ordered=False), seed=seeds)
def test_incremental_drops_observations(kernel: Kernel, case: Any, seed: int) -> None:
    which = np.flatnonzero(np.random.default_rng(seed).random(len(case.t)) < 0.5)
    ours, dense = (case.feed(engine, kernel, weighted=True) for engine in (Incremental, Dense))
    for posterior in (ours, dense):
        posterior.keep(which)
    np.testing.assert_array_equal(ours.times, case.t[which])
    for posterior in (ours, dense):
        posterior.observe(0, 61.0, 1.0)
    assert_predicts_as(ours, dense, 62.0, evidence=False)


@settings(max_examples=15)
@given(seed=seeds, n=st.integers(1, 150), lateness=st.floats(0.0, 20.0))
def test_state_space_takes_late_observations_within_its_tape(
    seed: int, n: int, lateness: float
) -> None:
    """With predictions ahead of what is observed."""
    rng, taken = np.random.default_rng(seed), np.arange(n, dtype=float)
    arrives = np.argsort(taken + rng.uniform(0, lateness, n), kind="stable")
    y, arm = rng.normal(size=n), rng.integers(0, 3, n)
    ours, dense = (engine(KERNEL, THREE, 0.1) for engine in (StateSpace, Dense))
    for i in arrives:
        ours.predict(taken[i] + 10.0)
        ours.observe(arm[i], taken[i], y[i])
        dense.observe(arm[i], taken[i], y[i])
    assert_predicts_as(ours, dense, n + 1.0)


def test_state_space_learns_from_observations_later_than_its_tape() -> None:
    """Documented approximation: a blurred view of the present, never a contradiction."""
    ours, dense = (engine(Index() * Decay(0.001), THREE, 0.1) for engine in (StateSpace, Dense))
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


@pytest.mark.parametrize("noise_variance", [0.01, 1.0])
@pytest.mark.parametrize("same_action", [True, False])
def test_incremental_forgets_outside_an_exact_window(
    noise_variance: float, same_action: bool
) -> None:
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
    assert len(short.times) < n / 2
    assert_predicts_as(short, full, n, query)


@pytest.mark.parametrize("kernel", [TimeSquaredExponential(3.0) * Index() + Constant(), KERNEL])
def test_exact_window_is_none_for_lasting_terms(kernel: Kernel) -> None:
    assert exact_window(kernel, 0.1, 1.0) is None


@pytest.mark.parametrize(
    "clock",
    [
        TimeSquaredExponential(3.0),
        Periodic(7.0),
        Periodic(7.0) * Decay(0.05),
        Periodic(7.0) + 0.5 * Decay(0.2),
    ],
    ids=["se", "periodic", "quasi-periodic", "sum"],
)
def test_relevance_is_the_change_by_dropping(clock: Any) -> None:
    """By definition: predictions with and without, over the arms and the coming times."""
    kernel, actions = SquaredExponential(1.0) * clock, Finite(np.linspace(0, 3, 5)[:, None])
    rng, n = np.random.default_rng(0), 7
    arms, y = rng.integers(0, 5, n), rng.normal(size=n)
    ours, whole = Incremental(kernel, actions, 0.1), frozenset(range(n))

    @cache
    def future(remaining: frozenset[int]) -> np.ndarray:
        posterior = Dense(kernel, actions, 0.1)
        for t in sorted(remaining):
            posterior.observe(arms[t], t, y[t])
        return np.array([posterior.predict(t) for t in coming_times(kernel, n)])

    def lost(i: int, remaining: frozenset[int]) -> float:
        changes = [
            future(remaining - {i}) - future(remaining),
            future(frozenset()) - future(remaining),
        ]
        less, nothing = (np.sqrt((c[:, 0] ** 2 + np.abs(c[:, 1])).mean()) for c in changes)
        return float(less / nothing)

    for t in range(n):
        ours.observe(arms[t], t, y[t])
    relevance = ours.relevance(coming_times(kernel, n))
    np.testing.assert_allclose(relevance(), [lost(i, whole) for i in range(n)], rtol=1e-6)
    fewer = [lost(i, whole - {4}) for i in range(n) if i != 4]
    np.testing.assert_allclose(relevance.without(4)(), fewer, rtol=1e-6)


def test_time_scale_is_that_of_the_most_forgetful_factor() -> None:
    for kernel, expected in (
        (Index() * Periodic(7.0) * TimeSquaredExponential(3.0), 3.0),
        (Index() * Periodic(7.0) * Periodic(28.0), 28.0),
        (Index() * Decay(1 - np.exp(-2 / 9.0)), 9.0),
        (Periodic(24.0) + Decay(0.5), 24.0),
    ):
        assert time_scale(kernel) == pytest.approx(expected)
    times = coming_times(SquaredExponential(1.0) * TimeSquaredExponential(5.0), 100.0)
    assert 100.0 < times[0] < times[-1] < 130.0
    assert times.mean() == pytest.approx(115.0)
