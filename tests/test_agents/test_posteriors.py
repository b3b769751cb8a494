"""Every engine gives what the dense solve of Eq. (5) gives, at once and after a long time."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from agents.gp import (
    Box,
    Constant,
    Decay,
    Finite,
    Incremental,
    Index,
    Kernel,
    Matern,
    Periodic,
    SquaredExponential,
    StateSpace,
    TimeSquaredExponential,
    make_posterior,
)
from agents.gp.features import find_features
from agents.gp.posteriors.kalman import COLLECT
from agents.objects import pack
from tests.dense import Dense
from tests.test_agents.reloading import reloaded

from .strategies import (
    any_time,
    assert_predicts_as,
    cases,
    forgetting,
    lasting,
    over_arms,
    smooth,
    sums,
)

ENGINES = (Dense, Incremental, StateSpace)
LINE = Finite(np.arange(6.0)[:, None])


def test_dense_reference_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 10, (30, 1)), rng.normal(size=30)
    dense = Dense(2.0 * SquaredExponential(1.5) * Constant(), Box(0, 10), 0.3)
    for point, reward in zip(x, y, strict=True):
        dense.observe(point, 0.0, reward)
    theirs = GaussianProcessRegressor(2.0 * sk.RBF(1.5), alpha=0.3, optimizer=None).fit(x, y)
    mean, deviation = theirs.predict(x + 0.1, return_std=True)
    np.testing.assert_allclose(dense.predict(0.0, x + 0.1), (mean, deviation**2), atol=1e-10)
    assert dense.log_evidence == pytest.approx(theirs.log_marginal_likelihood_value_)


@pytest.mark.parametrize(
    ("engine", "kernels", "observed"),
    [
        (Incremental, sums(over_arms, any_time), cases(ordered=False)),
        (Incremental, sums(smooth, any_time), cases(finite=False, ordered=False)),
        (StateSpace, sums(over_arms, forgetting), cases()),
        (StateSpace, sums(over_arms, forgetting), cases(whole=True)),
        (StateSpace, sums(over_arms, lasting), cases(ordered=False)),
        (StateSpace, sums(smooth, forgetting), cases(finite=False)),
    ],
    ids=["incremental", "box", "state-space", "whole times", "any order", "state-space box"],
)
@settings(max_examples=30)
@given(data=st.data(), weighted=st.booleans())
def test_engines_equal_the_dense_solve(
    engine: Any, kernels: Any, observed: Any, data: st.DataObject, weighted: bool
) -> None:
    kernel, case = data.draw(kernels), data.draw(observed)
    dense = case.feed(Dense, kernel, weighted=weighted)
    assert_predicts_as(case.feed(engine, kernel, weighted=weighted), dense, case.now, case.query)
    if engine is StateSpace and (case.t % 1 == 0).all():
        features = find_features(kernel, case.actions, whole_times=True)
        ours = case.feed(engine, kernel, features, weighted=weighted)
        assert_predicts_as(ours, dense, case.now + 0.5, case.query)


@settings(max_examples=20)
@given(kernel=sums(over_arms, forgetting), case=cases())
def test_state_space_learns_many_observations_at_once(kernel: Kernel, case: Any) -> None:
    ours, half = StateSpace(kernel, case.actions, case.noise_variance), len(case.t) // 2
    for part in (slice(half), slice(half, None)):
        ours.learn(case.chosen[part], case.t[part], case.y[part])
    assert_predicts_as(ours, case.feed(Dense, kernel), case.now)


@settings(max_examples=30)
@given(kernel=sums(over_arms, any_time), case=cases())
def test_posteriors_of_every_kernel_are_saved(kernel: Kernel, case: Any) -> None:
    posterior = case.feed(make_posterior, kernel)
    np.testing.assert_array_equal(reloaded(posterior).predict(99.0), posterior.predict(99.0))


@pytest.mark.parametrize("engine", ENGINES)
def test_predictions_change_nothing_and_reset_forgets(engine: Any) -> None:
    one, two = (engine(Index() * Periodic(5.0) * Decay(0.1), LINE, 0.1) for _ in range(2))
    before = one.predict(3.0)
    for t in range(20):
        one.observe(t % 3, t, float(t))
        two.observe(t % 3, t, float(t))
        two.predict(t + 7.0), two.predict(t), two.sample(t + 1.0, np.random.default_rng(0))
    np.testing.assert_allclose(one.predict(21.0), two.predict(21.0), atol=1e-12)
    one.reset()
    np.testing.assert_array_equal(one.predict(3.0), before)
    assert (one.count, one.log_evidence) == (0, 0.0)


def test_samples_have_the_posterior_covariance() -> None:
    """Fixed seed; each entry of the sample covariance is within 5 standard errors."""
    kernel, actions = SquaredExponential(1.0) * Periodic(7.0), Finite(np.array([[0.0], [0.5], [3]]))
    posterior, rng, n = StateSpace(kernel, actions, 0.2), np.random.default_rng(0), 4000
    posterior.observe(0, 1.0, 1.0)
    posterior.observe(2, 3.0, -1.0)
    draws = np.array([posterior.sample(4.0, rng) for _ in range(n)])
    points, past, now, then = actions.points(), actions.points([0, 2]), [4.0], [1.0, 3.0]
    K = kernel.gram(past, np.array(then), past, np.array(then)) + 0.2 * np.eye(2)
    cross = kernel.gram(points, np.array(now), past, np.array(then))
    prior = kernel.gram(points, np.array(now), points, np.array(now))
    covariance = prior - cross @ np.linalg.inv(K) @ cross.T
    assert np.abs(draws.mean(axis=0) - posterior.predict(4.0).mean).max() < 5 / np.sqrt(n)
    assert np.abs(np.cov(draws.T) - covariance).max() < 5 * np.sqrt(2 / n)


@pytest.mark.parametrize("kernel", [Index(), SquaredExponential(1.0)])
def test_samples_are_the_same_in_every_engine(kernel: Any) -> None:
    """Neither the features nor the eigenvectors of an engine show in its draws.

    With independent arms, eigenvalues repeat, and their eigenvectors are arbitrary.
    """
    draws = []
    for engine in ENGINES:
        posterior = engine(kernel * Periodic(7.0), LINE, 0.2)
        for t, arm in enumerate((0, 2, 2)):
            posterior.observe(arm, float(t), float(arm))
        draws.append(posterior.sample(4.0, np.random.default_rng(0)))
    np.testing.assert_allclose(draws, np.broadcast_to(draws[0], (len(ENGINES), 6)), atol=1e-6)


@pytest.mark.parametrize("engine", [Incremental, StateSpace])
@pytest.mark.parametrize(
    ("row", "error"),
    [
        ((0, 1.0, np.nan), ValueError),
        ((0, np.inf, 1.0), ValueError),
        ((-1, 0.0, 1.0), IndexError),
        ((6, 0.0, 1.0), IndexError),
        *(((0, 0.0, 1.0, weight), ValueError) for weight in (0.0, -1.0, np.inf, np.nan)),
    ],
    ids=str,
)
def test_posteriors_refuse_impossible_observations(engine: Any, row: Any, error: Any) -> None:
    posterior = engine(Index() * Constant(), LINE, 0.1)
    with pytest.raises(error):
        posterior.observe(*row)
    assert posterior.count == 0


@pytest.mark.parametrize("decay", [Constant(), Decay(0.1)])
def test_large_states_collect_their_steps(monkeypatch: pytest.MonkeyPatch, decay: Any) -> None:
    """One by one, and many at once, with a discount between them if nothing decays."""
    monkeypatch.setattr("agents.gp.posteriors.kalman.LARGE", 1)
    monkeypatch.setattr("agents.gp.posteriors.kalman.BATCH", 7)
    kernel = (Index() * Periodic(5.5) + 0.5 * SquaredExponential() * Constant()) * decay
    ours, dense = (engine(kernel, LINE, 0.1) for engine in (StateSpace, Dense))
    rng, n = np.random.default_rng(1), 3 * COLLECT + 5
    for t in range(n):
        arm, y = int(rng.integers(6)), rng.normal()
        for posterior in (ours, dense):
            posterior.observe(arm, float(t), y)
            if decay == Constant() and t in (6, 18):
                posterior.discount(0.5)
        np.testing.assert_allclose(ours.predict(t + 1.0), dense.predict(t + 1.0), atol=1e-10)
    again, t, arms, y = (
        reloaded(ours),
        n + np.arange(25.0),
        rng.integers(0, 6, 25),
        rng.normal(size=25),
    )
    for posterior in (ours, again):
        posterior.learn(arms, t, y)
    for row in zip(arms, t, y, strict=True):
        dense.observe(*row)
    np.testing.assert_array_equal(ours.predict(90.0), again.predict(90.0))
    assert_predicts_as(ours, dense, 90.0, evidence=decay != Constant())


def test_incremental_predicts_many_points_as_one_by_one() -> None:
    """Through a few features; also when observations were dropped, discounted or restored."""
    kernel = SquaredExponential(1.0) * TimeSquaredExponential(9.0)
    kernel = kernel + 0.3 * SquaredExponential(2.0) * Periodic(7.0)
    posterior, rng = Incremental(kernel, Box(-2, 3), 0.2), np.random.default_rng(0)
    grid = np.linspace(-2, 3, 200)[:, None]
    grid.setflags(write=False)

    def check(posterior: Any, t: float) -> None:
        few = [posterior.predict(t, part) for part in np.split(grid, 10)]
        np.testing.assert_allclose(posterior.predict(t, grid), np.hstack(few), rtol=0, atol=1e-11)

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


PERIOD, NOISE = 7, 0.5
SEASON = Matern(1.5, 2.0) * Periodic(float(PERIOD), 1.0)
PLACES = Finite(np.random.default_rng(0).uniform(0, 4, (6, 2)))


def long_run(kernel: Kernel, steps: int) -> tuple[Any, np.ndarray, np.ndarray]:
    posterior, rng = make_posterior(kernel, PLACES, NOISE), np.random.default_rng(1)
    f, noise = rng.normal(size=(6, PERIOD)), np.sqrt(NOISE) * rng.normal(size=steps)
    arm = rng.integers(0, 6, steps)
    y = f[arm, np.arange(steps) % PERIOD] + noise
    for t in range(steps):
        posterior.observe(int(arm[t]), t, float(y[t]))
    return posterior, arm, y


@pytest.mark.parametrize("steps", [30_000, pytest.param(1_000_000, marks=pytest.mark.nightly)])
def test_state_space_is_exact_after_very_many_observations(steps: int) -> None:
    """Against one solve over the 42 (arm, phase) pairs, from their counts and mean rewards."""
    posterior, arm, y = long_run(SEASON, steps)
    cell = arm * PERIOD + np.arange(steps) % PERIOD
    counts = np.bincount(cell)
    phase = np.tile(np.arange(PERIOD, dtype=float), 6)
    points = PLACES.points(np.repeat(np.arange(6), PERIOD))
    K = SEASON.gram(points, phase, points, phase)
    means = np.bincount(cell, weights=y) / counts
    gain = np.linalg.solve(K + np.diag(NOISE / counts), np.column_stack((means, K)))
    mean, variance = K @ gain[:, 0], np.diagonal(K - K @ gain[:, 1:])
    for p in range(PERIOD):
        ours = posterior.predict(steps - steps % PERIOD + p)
        np.testing.assert_allclose(ours.mean, mean[phase == p], atol=1e-9)
        np.testing.assert_allclose(ours.variance, variance[phase == p], rtol=1e-6)
    assert posterior.count == steps


@pytest.mark.parametrize("kernel", [SEASON, SEASON * Decay(0.01)], ids=["lasts", "decays"])
def test_state_space_stays_sound_and_does_not_grow(kernel: Kernel) -> None:
    sizes = []
    for steps in (100, 20_000):
        posterior, arrays = long_run(kernel, steps)[0], {}
        pack(posterior, arrays)
        sizes.append(sum(array.nbytes for array in arrays.values()))
        P = posterior.filter.S[:, :-1]
        assert np.abs(P - P.T).max() < 1e-14
        assert np.linalg.eigvalsh(P).min() > 0
    assert sizes[1] <= 1.05 * sizes[0]
