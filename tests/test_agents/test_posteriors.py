"""Every engine gives what the dense solve of Eq. (5) gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

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
)
from agents.gp.features import find_features
from agents.gp.posteriors.kalman import COLLECT
from tests.dense import Dense
from tests.test_agents.reloading import reloaded

from .strategies import any_time, cases, forgetting, lasting, over_arms, smooth, sums

TOLERANCE = 1e-8


def assert_same(posterior, reference, t, query=None):
    for ours, theirs in zip(posterior.predict(t, query), reference.predict(t, query), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=TOLERANCE * (1 + np.abs(theirs).max()))
    assert posterior.log_evidence == pytest.approx(reference.log_evidence, rel=1e-7, abs=1e-7)
    assert posterior.count == reference.count


def assert_same_gradient(posterior, reference, t, query):
    ours, theirs = posterior.gradient(t, query), reference.gradient(t, query)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-7 * (1 + np.abs(b).max()))


def now(case):
    return float(case.t.max(initial=0.0)) + 0.5


def test_dense_reference_matches_scikit_learn():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 10, (30, 1)), rng.normal(size=30)
    dense = Dense(2.0 * SquaredExponential(1.5) * Constant(), Box(0, 10), 0.3)
    for point, reward in zip(x, y, strict=True):
        dense.observe(point, 0.0, reward)
    theirs = GaussianProcessRegressor(2.0 * sk.RBF(1.5), alpha=0.3, optimizer=None).fit(x, y)
    mean, deviation = theirs.predict(x + 0.1, return_std=True)
    prediction = dense.predict(0.0, x + 0.1)
    np.testing.assert_allclose(prediction.mean, mean, atol=1e-10)
    np.testing.assert_allclose(prediction.variance, deviation**2, atol=1e-10)
    assert dense.log_evidence == pytest.approx(theirs.log_marginal_likelihood_value_)


@settings(max_examples=60)
@given(kernel=sums(over_arms, any_time), case=cases(ordered=False))
def test_incremental_is_dense_for_arms(kernel, case):
    arguments = kernel, case.actions, case.noise_variance
    assert_same(case.feed(Incremental(*arguments)), case.feed(Dense(*arguments)), now(case))


@settings(max_examples=40)
@given(kernel=sums(smooth, any_time), case=cases(finite=False, ordered=False))
def test_incremental_is_dense_for_a_box(kernel, case):
    arguments = kernel, case.actions, case.noise_variance
    ours, dense = case.feed(Incremental(*arguments)), case.feed(Dense(*arguments))
    assert_same(ours, dense, now(case), case.query)
    assert_same_gradient(ours, dense, now(case), case.query)


@settings(max_examples=100)
@given(kernel=sums(over_arms, forgetting), case=cases())
def test_state_space_is_dense_for_arms(kernel, case):
    arguments = kernel, case.actions, case.noise_variance
    assert_same(case.feed(StateSpace(*arguments)), case.feed(Dense(*arguments)), now(case))


@settings(max_examples=40)
@given(kernel=sums(over_arms, forgetting), case=cases(whole=True))
def test_state_space_is_dense_at_whole_times(kernel, case):
    arguments = kernel, case.actions, case.noise_variance
    features = find_features(kernel, case.actions, whole_times=True)
    ours, dense = case.feed(StateSpace(*arguments, features)), case.feed(Dense(*arguments))
    assert_same(ours, dense, now(case) + 0.5)


@settings(max_examples=40)
@given(kernel=sums(over_arms, lasting), case=cases(ordered=False))
def test_state_space_takes_any_order_when_nothing_decays(kernel, case):
    arguments = kernel, case.actions, case.noise_variance
    ours, dense = case.feed(StateSpace(*arguments)), case.feed(Dense(*arguments))
    assert_same(ours, dense, now(case))
    assert_same(ours, dense, 0.25)


@settings(max_examples=25)
@given(kernel=sums(smooth, forgetting), case=cases(finite=False))
def test_state_space_is_dense_for_a_box(kernel, case):
    arguments = kernel, case.actions, case.noise_variance
    ours, dense = case.feed(StateSpace(*arguments)), case.feed(Dense(*arguments))
    assert_same(ours, dense, now(case), case.query)
    assert_same_gradient(ours, dense, now(case), case.query)


ENGINES = (Dense, Incremental, StateSpace)


@pytest.mark.parametrize("engine", ENGINES)
def test_prediction_does_not_change_the_posterior(engine):
    kernel = Index() * Periodic(5.0) * Decay(0.1)
    one, two = (engine(kernel, Finite.arms(3), 0.1) for _ in range(2))
    for t in range(20):
        one.observe(t % 3, t, float(t))
        two.observe(t % 3, t, float(t))
        two.predict(t + 7.0), two.predict(t), two.sample(t + 1.0, np.random.default_rng(0))
    np.testing.assert_allclose(one.predict(21.0), two.predict(21.0), atol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_samples_have_the_posterior_covariance(engine):
    """Fixed seed; each entry of the sample covariance is within 5 standard errors."""
    kernel, actions = (
        SquaredExponential(1.0) * Periodic(7.0),
        Finite(np.array([[0.0], [0.5], [3.0]])),
    )
    posterior = engine(kernel, actions, 0.2)
    posterior.observe(0, 1.0, 1.0)
    posterior.observe(2, 3.0, -1.0)
    rng, n = np.random.default_rng(0), 4000
    draws = np.array([posterior.sample(4.0, rng) for _ in range(n)])
    k = np.array([0.0, 2.0])
    points, past = actions.points(), actions.points(k)
    K = kernel.gram(past, np.array([1.0, 3.0]), past, np.array([1.0, 3.0])) + 0.2 * np.eye(2)
    cross = kernel.gram(points, np.array([4.0]), past, np.array([1.0, 3.0]))
    prior = kernel.gram(points, np.array([4.0]), points, np.array([4.0]))
    covariance = prior - cross @ np.linalg.inv(K) @ cross.T
    assert np.abs(draws.mean(axis=0) - posterior.predict(4.0).mean).max() < 5 / np.sqrt(n)
    assert np.abs(np.cov(draws.T) - covariance).max() < 5 * np.sqrt(2 / n)


@pytest.mark.parametrize("kernel", [Index(), SquaredExponential(1.0)])
def test_sample_is_the_same_in_any_engine(kernel):
    """Neither the features nor the eigenvectors of an engine show in its draws.

    With independent arms, eigenvalues repeat, and their eigenvectors are arbitrary.
    """
    actions = Finite(np.arange(6.0)[:, None])
    draws = []
    for engine in ENGINES:
        posterior = engine(kernel * Periodic(7.0), actions, 0.2)
        for t, arm in enumerate((0, 2, 2)):
            posterior.observe(arm, float(t), float(arm))
        draws.append(posterior.sample(4.0, np.random.default_rng(0)))
    np.testing.assert_allclose(draws, np.broadcast_to(draws[0], (len(ENGINES), 6)), atol=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_reset_forgets(engine):
    posterior = engine(Index() * Decay(0.2), Finite.arms(2), 0.1)
    before = posterior.predict(3.0)
    posterior.observe(0, 1.0, 2.0)
    posterior.reset()
    np.testing.assert_array_equal(posterior.predict(3.0), before)
    assert posterior.count == 0
    assert posterior.log_evidence == 0.0


@pytest.mark.parametrize("engine", [Incremental, StateSpace])
@pytest.mark.parametrize(("t", "y"), [(1.0, np.nan), (np.inf, 1.0)])
def test_an_observation_that_is_not_finite_is_refused(engine, t, y):
    posterior = engine(Index() * Constant(), Finite.arms(2), 0.1)
    with pytest.raises(ValueError, match="finite"):
        posterior.observe(0, t, y)
    assert posterior.count == 0


def test_fractional_times_are_refused_when_whole_ones_were_promised():
    features = find_features(Index() * Periodic(5.0), Finite.arms(2), whole_times=True)
    posterior = StateSpace(Index() * Periodic(5.0), Finite.arms(2), 0.1, features)
    with pytest.raises(ValueError, match="whole"):
        posterior.observe(0, 0.5, 1.0)


@pytest.mark.parametrize("engine", [Incremental, StateSpace])
@pytest.mark.parametrize("arm", [-1, 2])
def test_an_arm_that_does_not_exist_is_refused(engine, arm):
    posterior = engine(Index() * Constant(), Finite.arms(2), 0.1)
    with pytest.raises(IndexError):
        posterior.observe(arm, 0.0, 1.0)


@pytest.mark.parametrize("decay", [False, True])
def test_a_large_state_collects_its_steps_and_gives_the_same(monkeypatch, decay):
    monkeypatch.setattr("agents.gp.posteriors.kalman.LARGE", 1)
    kernel = Index() * Periodic(5.5) + 0.5 * SquaredExponential() * Constant()
    kernel = kernel * Decay(0.1) if decay else kernel
    actions, rng = Finite(np.random.default_rng(0).normal(size=(4, 2))), np.random.default_rng(1)
    ours, dense = (engine(kernel, actions, 0.1) for engine in (StateSpace, Dense))
    for t in range(3 * COLLECT + 5):
        arm, y = int(rng.integers(4)), rng.normal()
        for posterior in (ours, dense):
            posterior.observe(arm, float(t), y)
        np.testing.assert_allclose(ours.predict(t + 1.0), dense.predict(t + 1.0), atol=1e-10)
    assert ours.filter.pending == 5
    again = reloaded(ours)
    for posterior in (ours, again):
        for t in range(60, 80):
            posterior.observe(t % 4, float(t), 1.0)
    np.testing.assert_array_equal(ours.predict(90.0), again.predict(90.0))


@settings(max_examples=20)
@given(kernel=sums(over_arms, forgetting), case=cases())
def test_many_observations_at_once_are_the_same(kernel, case):
    arguments = kernel, case.actions, case.noise_variance
    ours, dense = StateSpace(*arguments), case.feed(Dense(*arguments))
    half = len(case.t) // 2
    for part in (slice(half), slice(half, None)):
        ours.learn(case.chosen[part], case.t[part], case.y[part])
    assert_same(ours, dense, now(case))


def test_single_and_many_observations_mix(monkeypatch):
    monkeypatch.setattr("agents.gp.posteriors.kalman.LARGE", 1)
    monkeypatch.setattr("agents.gp.posteriors.kalman.BATCH", 7)
    kernel, rng = Index() * Periodic(5.5), np.random.default_rng(0)
    ours, dense = (engine(kernel, Finite.arms(3), 0.1) for engine in (StateSpace, Dense))
    arms, y, t = rng.integers(0, 3, 40), rng.normal(size=40), np.arange(40.0)
    for i in range(40):
        dense.observe(arms[i], t[i], y[i])
    for i in (*range(5), *range(30, 40)):
        ours.observe(arms[i], t[i], y[i])
    ours.learn(arms[5:30], t[5:30], y[5:30])
    assert_same(ours, dense, 41.0)


def test_many_points_of_an_interval_are_predicted_as_one_by_one():
    """Through a few features; also when observations were dropped, discounted or restored."""
    kernel = SquaredExponential(1.0) * TimeSquaredExponential(9.0)
    kernel = kernel + 0.3 * SquaredExponential(2.0) * Periodic(7.0)
    box, rng = Box(-2, 3), np.random.default_rng(0)
    posterior, grid = Incremental(kernel, box, 0.2), np.linspace(-2, 3, 200)[:, None]
    grid.setflags(write=False)

    def check(posterior, t):
        few = [posterior.predict(t, part) for part in np.split(grid, 10)]
        expected = [np.concatenate(column) for column in zip(*few, strict=True)]
        for many, one in zip(posterior.predict(t, grid), expected, strict=True):
            np.testing.assert_allclose(many, one, rtol=0, atol=1e-11)

    assert posterior._compressed is not None
    check(posterior, 0.0)
    for t in range(90):
        posterior.observe(rng.uniform(-2, 3, 1), t, rng.normal())
        if t % 20 == 0:
            check(posterior, t + 0.5)
    posterior.keep(np.arange(0, 90, 3))
    check(posterior, 91.0)
    posterior.discount(0.7)
    check(posterior, 91.0)
    check(reloaded(posterior), 91.0)
    posterior.reset()
    check(posterior, 91.0)
