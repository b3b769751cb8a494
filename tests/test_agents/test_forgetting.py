"""Weights, discounts and dropped observations: every engine gives what the dense solve gives."""

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
from agents.gp.posteriors.kalman import LARGE
from agents.gp.relevance import coming_times, time_scale
from tests.dense import Dense
from tests.test_agents.reloading import reloaded

from .strategies import any_time, cases, forgetting, over_arms, seeds, sums


def feed(posterior, case, seed):
    """All observations, with random weights."""
    weights = np.exp(np.random.default_rng(seed).normal(size=len(case.t)))
    for action, t, y, weight in zip(case.chosen, case.t, case.y, weights, strict=True):
        posterior.observe(action, float(t), float(y), float(weight))
    return posterior


def assert_same(ours, dense, t, query=None):
    for one, other in zip(ours.predict(t, query), dense.predict(t, query), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8 * (1 + np.abs(other).max()))


@settings(max_examples=25)
@given(kernel=sums(over_arms, forgetting), case=cases(), seed=seeds)
def test_weights_are_noise_variances(kernel, case, seed):
    arguments = kernel, case.actions, case.noise_variance
    dense = feed(Dense(*arguments), case, seed)
    for engine in (Incremental, StateSpace):
        ours = feed(engine(*arguments), case, seed)
        assert_same(ours, dense, float(case.t.max(initial=0.0)) + 0.5)
        assert ours.log_evidence == pytest.approx(dense.log_evidence, rel=1e-7, abs=1e-7)


@settings(max_examples=25)
@given(kernel=sums(over_arms, st.just(Constant())), case=cases(), factor=st.floats(0.05, 1.0))
def test_discounted_observations(kernel, case, factor):
    arguments = kernel, case.actions, case.noise_variance
    posteriors = [engine(*arguments) for engine in (Dense, Incremental, StateSpace)]
    for action, t, y in zip(case.chosen, case.t, case.y, strict=True):
        for posterior in posteriors:
            posterior.discount(factor)
            posterior.observe(action, float(t), float(y))
    for ours in posteriors[1:]:
        assert_same(ours, posteriors[0], float(case.t.max(initial=0.0)))


def test_discounts_with_collected_steps():
    """A large state takes its steps in lots of 16; a discount comes between."""
    kernel = Index() * Periodic(9.5)
    ours, dense = (engine(kernel, Finite.arms(20), 0.1) for engine in (StateSpace, Dense))
    assert LARGE <= ours.features.size < LARGE + 100
    rng = np.random.default_rng(0)
    for t in range(20):
        arm, y = int(rng.integers(20)), rng.normal()
        for posterior in (ours, dense):
            posterior.observe(arm, t, y)
            if t in (6, 18):
                posterior.discount(0.5)
    assert_same(ours, dense, 21.0)


def test_what_decays_is_not_discounted():
    posterior = StateSpace(Index() * Decay(0.1), Finite.arms(2), 0.1)
    with pytest.raises(ValueError, match="cannot be discounted"):
        posterior.discount(0.5)
    for weight in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="a weight must be positive"):
            posterior.observe(0, 0.0, 1.0, weight)


@settings(max_examples=25)
@given(kernel=sums(over_arms, any_time), case=cases(ordered=False), seed=seeds)
def test_dropped_observations_were_never_there(kernel, case, seed):
    arguments = kernel, case.actions, case.noise_variance
    which = np.flatnonzero(np.random.default_rng(seed).random(len(case.t)) < 0.5)
    ours, dense = (feed(engine(*arguments), case, seed) for engine in (Incremental, Dense))
    for posterior in (ours, dense):
        posterior.keep(which)
    np.testing.assert_array_equal(ours.times, case.t[which])
    assert ours.count == dense.count == len(which)
    for posterior in (ours, dense):
        posterior.observe(0, 61.0, 1.0)
    assert_same(ours, dense, 62.0)


@pytest.mark.parametrize("engine", ["incremental", "state-space"])
def test_saved_with_weights_it_goes_on_bit_for_bit(engine):
    kernel = Index() * Periodic(5.0)
    one = make_posterior(kernel, Finite.arms(2), 0.1, engine=engine)
    one.observe(0, 0.0, 1.0, 3.0)
    one.discount(0.5)
    other = reloaded(one)
    for posterior in (one, other):
        posterior.observe(1, 2.0, -1.0, 0.5)
        posterior.discount(0.9)
    np.testing.assert_array_equal(one.predict(3.0), other.predict(3.0))
    assert one.log_evidence == other.log_evidence


CLOCKS = [
    TimeSquaredExponential(3.0),
    Periodic(7.0),
    Periodic(7.0) * Decay(0.05),
    Periodic(7.0) + 0.5 * Decay(0.2),
]


@pytest.mark.parametrize("clock", CLOCKS, ids=["se", "periodic", "quasi-periodic", "sum"])
def test_relevance_is_what_dropping_changes(clock):
    """By definition: predictions with and without, over the arms and the coming times."""
    kernel, actions = SquaredExponential(1.0) * clock, Finite(np.linspace(0, 3, 5)[:, None])
    rng, n = np.random.default_rng(0), 7
    arms, y = rng.integers(0, 5, n), rng.normal(size=n)

    def future(dropped):
        posterior = Dense(kernel, actions, 0.1)
        for t in range(n):
            if t not in dropped:
                posterior.observe(arms[t], t, y[t])
        return np.array([posterior.predict(t) for t in coming_times(kernel, n)])

    def distance(one, other):
        return np.sqrt(((one - other)[:, 0] ** 2 + np.abs((one - other)[:, 1])).mean())

    ours = Incremental(kernel, actions, 0.1)
    for t in range(n):
        ours.observe(arms[t], t, y[t])
    relevance = ours.relevance(coming_times(kernel, n))
    full, nothing = future(()), future(range(n))
    expected = [distance(future((i,)), full) / distance(nothing, full) for i in range(n)]
    np.testing.assert_allclose(relevance(), expected, rtol=1e-6)
    fewer = [distance(future((4, i)), future((4,))) for i in range(n) if i != 4]
    np.testing.assert_allclose(
        relevance.without(4)(), np.array(fewer) / distance(nothing, future((4,))), rtol=1e-6
    )


def test_relevance_agrees_with_the_authors():
    """Numbers of their package wdbo-criterion 2.2.1, which integrates over all of space.

    Only for observations of one time: at different times theirs differ from the definition.
    """
    kernel = 1.3 * SquaredExponential(0.3) * TimeSquaredExponential(1.5)
    posterior = Incremental(kernel, Box(-4, 5), 0.1)
    for x, y in ((0.2, 1.0), (0.9, 2.0), (0.5, -0.5)):
        posterior.observe([x], 1.0, y)
    everywhere = np.linspace(-4, 5, 1000)[:, None]
    ours = posterior.relevance(coming_times(kernel, 3.0), everywhere)()
    np.testing.assert_allclose(ours, [0.64503852, 0.88603451, 0.56970107], rtol=1e-6)


def test_the_time_scale_is_that_of_the_most_forgetful_factor():
    assert time_scale(Index() * Periodic(7.0) * TimeSquaredExponential(3.0)) == 3.0
    assert time_scale(Index() * Periodic(7.0) * Periodic(28.0)) == 28.0
    assert time_scale(Index() * Decay(1 - np.exp(-2 / 9.0))) == pytest.approx(9.0)
    assert time_scale(Periodic(24.0) + Decay(0.5)) == 24.0
    with pytest.raises(ValueError, match="changes with time"):
        time_scale(Index() * Periodic(3.0) + Index() * Constant())
