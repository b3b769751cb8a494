"""Fitting finds what generated the data."""

import numpy as np
import pytest
from scipy.linalg import block_diag
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from agents.gp import (
    Box,
    Constant,
    Decay,
    Finite,
    Index,
    Matern,
    Normaliser,
    Periodic,
    SquaredExponential,
    fit,
)
from agents.gp.evidence import Evidence, Stretch, free_parameters, get, put
from tests.dense import Dense

BOX = Box([0, 0], [10, 10])


def draw(kernel, noise_variance, n, seed):
    """Rewards of the prior at random actions and times."""
    rng = np.random.default_rng(seed)
    x, t = rng.uniform(0, 10, (n, 2)), np.arange(n, dtype=float)
    K = kernel.gram(BOX.points(x), t, BOX.points(x), t) + noise_variance * np.eye(n)
    return x, t, np.linalg.cholesky(K) @ rng.normal(size=n)


@pytest.mark.parametrize("fit_scale", [True, False])
def test_gradient_is_the_finite_difference(fit_scale):
    kernel = SquaredExponential((1.0, 2.0)) * Periodic(7.3, 0.8) + 0.5 * Matern(1.5, 2.0) * Decay(
        0.1
    )
    x, t, y = draw(kernel, 0.1, 30, 0)
    free = free_parameters(kernel)
    evidence = Evidence(kernel, free, [Stretch(BOX.points(x), t, y + 3.0)], True, fit_scale)
    theta, h = np.log(np.append(get(kernel, free), 0.1)) + 0.1, 1e-5
    slope = [
        (evidence.loss(theta + e)[0] - evidence.loss(theta - e)[0]) / (2 * h)
        for e in h * np.eye(len(theta))
    ]
    np.testing.assert_allclose(evidence.loss(theta)[1], slope, rtol=1e-5, atol=1e-6)
    assert [p.name for p in free].count("length_scale") == 4


def test_evidence_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 10, (25, 2)), rng.normal(size=25)
    kernel = SquaredExponential(2.0) * Constant()
    evidence = Evidence(kernel, [], [Stretch(BOX.points(x), np.zeros(25), y)], False, False)
    theirs = GaussianProcessRegressor(sk.RBF(2.0), alpha=0.3, optimizer=None).fit(x, y)
    assert -evidence.loss(np.log([0.3]))[0] == pytest.approx(theirs.log_marginal_likelihood_value_)


def test_recovers_length_scales_noise_mean_and_scale():
    """Fixed seed; bands are about three times the spread over seeds."""
    truth = SquaredExponential(2.0) * Periodic(12.0, 0.7)
    x, t, y = draw(truth, 0.05, 250, 1)
    start = SquaredExponential(6.0) * Periodic(12.0, 2.0)
    found = fit(start, BOX, [(x, t, 50.0 + 8.0 * y)], 1.0, starts=2)
    (term,) = found.kernel.terms
    assert term.actions[0].length_scale == pytest.approx(2.0, rel=0.25)
    assert term.clocks[0].length_scale == pytest.approx(0.7, rel=0.25)
    assert term.clocks[0].period == 12.0
    assert term.variance == 1.0
    assert found.noise_variance == pytest.approx(0.05, rel=0.6)
    assert found.normaliser.scale == pytest.approx(8.0, rel=0.4)
    assert found.normaliser.mean == pytest.approx(50.0, abs=8.0)


def test_recovers_the_forgetting_rate_and_the_period():
    truth = SquaredExponential(20.0) * Decay(0.1)
    x, t, y = draw(truth, 0.01, 250, 2)
    start, fixed = SquaredExponential(20.0) * Decay(0.5), ["variance", "length_scale"]
    found = fit(start, BOX, [(x, t, y)], 0.1, fixed=fixed, fit_mean=False, fit_scale=False)
    assert found.kernel.terms[0].clocks[0].eps == pytest.approx(0.1, rel=0.4)
    truth = SquaredExponential(5.0) * Periodic(23.7, 1.0)
    x, t, y = draw(truth, 0.05, 120, 3)
    start = SquaredExponential(5.0) * Periodic(23.0, 1.0)
    found = fit(start, BOX, [(x, t, y)], 0.05, fixed=["variance", "length_scale"], starts=1)
    assert found.kernel.terms[0].clocks[0].period == pytest.approx(23.7, rel=0.02)


def test_stretches_are_independent_given_the_hyper_parameters():
    """The sum of log evidences where mean and scale are known; common ones where they are not."""
    kernel, noise = SquaredExponential(2.0) * Periodic(12.0, 0.7), 0.1
    data = [draw(kernel, noise, n, seed) for n, seed in ((30, 0), (45, 1))]
    stretches = [Stretch(BOX.points(x), t, y) for x, t, y in data]
    free, theta = free_parameters(kernel), np.log([1.0, 2.0, 12.0, 0.7, noise])
    each = [Evidence(kernel, free, [part], False, False).loss(theta) for part in stretches]
    loss, gradient = Evidence(kernel, free, stretches, False, False).loss(theta)
    assert loss == pytest.approx(each[0][0] + each[1][0])
    np.testing.assert_allclose(gradient, each[0][1] + each[1][1])
    together = Evidence(kernel, free, stretches, True, True)
    K = [kernel.gram(p.points, p.t, p.points, p.t) + noise * np.eye(len(p.t)) for p in stretches]
    inverse, y = np.linalg.inv(block_diag(*K)), np.concatenate([p.y for p in stretches])
    mean = inverse.sum(0) @ y / inverse.sum()
    scale = np.sqrt((y - mean) @ inverse @ (y - mean) / len(y))
    found = together.normaliser(theta)
    assert (found.mean, found.scale) == (pytest.approx(mean), pytest.approx(scale))


@pytest.mark.parametrize("seed", range(5))
def test_never_worse_than_the_template(seed):
    kernel = SquaredExponential(1.5) * Periodic(9.0) + 0.3 * Matern(1.5) * Decay(0.2)
    x, t, y = draw(kernel, 0.2, 40, seed)
    dense = Dense(kernel, BOX, 0.2)
    for row in zip(x, t, y, strict=True):
        dense.observe(*row)
    found = fit(kernel, BOX, [(x, t, y)], 0.2, fit_mean=False, fit_scale=False, starts=2)
    assert found.log_evidence >= dense.log_evidence
    again = Dense(found.kernel, BOX, found.noise_variance)
    for row in zip(x, t, found.normaliser.forward(y), strict=True):
        again.observe(*row)
    assert again.log_evidence == pytest.approx(found.log_evidence)


MISLED = (5, 7, 17, 19, 20)
"""Seeds whose fits ended up to 5.7 nats below a part of the same model, when starts were few."""


def misleading(seed):
    """A template, and few rewards of another unit: a small signal in them is easily missed."""
    rng = np.random.default_rng(seed)
    n, tau = int(rng.integers(8, 31)), float(rng.integers(5, 15))
    in_space, in_time, noise = np.exp(rng.normal([0.8, 0.0, -1.5], [0.7, 0.5, 1.5]))
    truth = SquaredExponential(float(in_space)) * Periodic(tau, float(in_time))
    x, t = rng.uniform(0, 10, (n, 2)), np.arange(n, dtype=float)
    K = truth.gram(BOX.points(x), t, BOX.points(x), t) + noise * np.eye(n)
    y = np.linalg.cholesky(K) @ rng.normal(size=n) * np.exp(rng.normal()) + rng.normal(0, 2)
    season = SquaredExponential(2.0) * Periodic(tau)
    others = [season, season * Decay(0.05), season + 0.5 * Matern(1.5, 3.0) * Constant()]
    return others[seed % 3], (x, t, y)


def evidences(seed, fixed):
    """Log evidence by (fit_mean, fit_scale)."""
    kernel, stretch = misleading(seed)
    return {
        (mean, scale): fit(
            kernel, BOX, [stretch], 0.5, fixed=fixed, fit_mean=mean, fit_scale=scale
        ).log_evidence
        for mean in (False, True)
        for scale in (False, True)
    }


@pytest.mark.parametrize("seed", MISLED)
@pytest.mark.parametrize("more", [(), ("length_scale",), ("variance",)])
def test_never_below_a_model_that_is_contained(seed, more):
    """Whatever else is fixed: with the mean or the scale fitted the evidence only rises."""
    found = evidences(seed, ("period", *more))
    assert found[False, False] <= found[False, True] + 1e-6
    assert found[False, False] <= found[True, False] + 1e-6
    assert max(found[False, True], found[True, False]) <= found[True, True] + 1e-6


@pytest.mark.parametrize("seed", MISLED)
def test_not_below_a_model_with_fewer_free_names(seed):
    """No promise, but so it is found to be on all but a few data sets in a hundred."""
    kernel, stretch = misleading(seed)
    whole = fit(kernel, BOX, [stretch], 0.5).log_evidence
    for name in ("length_scale", "variance", "eps", "noise_variance"):
        part = fit(kernel, BOX, [stretch], 0.5, fixed=("period", name))
        assert part.log_evidence <= whole + 1e-6


def test_with_the_noise_fixed_scale_one_is_another_model():
    """The noise is then fixed in units of the scale; with the variance fixed, too, it is a part."""
    kernel, stretch = misleading(7)
    fixed = ("period", "variance", "noise_variance")
    found = evidences(7, fixed)
    assert found[False, False] <= found[False, True] + 1e-6
    apart = fit(kernel, BOX, [stretch], 0.5, fixed=("period", "noise_variance"))
    assert apart.noise_variance == pytest.approx(0.5)


def test_fixed_names_stay_and_a_template_outside_the_bounds_is_allowed():
    kernel = 2e4 * SquaredExponential(1.5) * Periodic(9.0, 0.01)
    x, t, y = draw(kernel, 0.2, 20, 0)
    fixed = ["length_scale", "period", "noise_variance"]
    found = fit(kernel, BOX, [(x, t, y)], 0.2, fixed=fixed, fit_scale=False)
    (term,) = found.kernel.terms
    assert (term.actions[0].length_scale, term.clocks[0].length_scale) == (1.5, 0.01)
    assert found.noise_variance == pytest.approx(0.2)


def test_a_prior_holds_where_the_data_say_nothing():
    """Rewards of pure noise do not know a length-scale; many of a clear function do."""
    template = SquaredExponential(3.0) * Periodic(12.0, 1.0)
    x, t, _ = draw(template, 0.1, 60, 0)
    noise = np.random.default_rng(1).normal(size=60)
    free, held = (fit(template, BOX, [(x, t, noise)], 0.5, spread=s) for s in (np.inf, 0.1))
    away = [abs(np.log(f.kernel.terms[0].actions[0].length_scale / 3.0)) for f in (free, held)]
    assert away[1] < 0.2 < away[0]
    assert held.log_evidence <= free.log_evidence
    x, t, y = draw(SquaredExponential(1.5) * Periodic(12.0, 1.0), 0.05, 250, 1)
    found = fit(template, BOX, [(x, t, y)], 0.1, spread=1.0, starts=1)
    assert found.kernel.terms[0].actions[0].length_scale == pytest.approx(1.5, rel=0.25)


def test_a_scan_finds_what_one_descent_misses():
    """Two optima: from the template alone the worse one is found."""
    truth = SquaredExponential(0.4) * Periodic(12.0, 1.0)
    x, t, y = draw(truth, 0.02, 120, 9)
    template = SquaredExponential(30.0) * Periodic(12.0, 1.0)
    alone = fit(template, BOX, [(x, t, y)], 1.0, starts=1)
    scanned = fit(template, BOX, [(x, t, y)], 1.0, starts=3, scan=60)
    assert scanned.log_evidence > alone.log_evidence + 1.0
    assert scanned.kernel.terms[0].actions[0].length_scale == pytest.approx(0.4, rel=0.5)


def test_nothing_to_fit_is_said():
    kernel = SquaredExponential(1.0) * Constant()
    with pytest.raises(ValueError, match="nothing to fit"):
        fit(kernel, BOX, [], 0.1)
    with pytest.raises(ValueError, match="spread must be positive"):
        fit(kernel, BOX, [([[1.0, 1.0]], [0.0], [1.0])], 0.1, spread=0.0)


def test_constant_rewards_are_survived():
    found = fit(
        Index() * Periodic(3.0), Finite.arms(2), [([0, 1, 0], [0, 1, 2], [4.0, 4.0, 4.0])], 0.1
    )
    assert found.normaliser.mean == pytest.approx(4.0)
    assert found.normaliser.scale > 0


def test_the_same_seed_gives_the_same_fit():
    x, t, y = draw(SquaredExponential(2.0) * Periodic(7.0), 0.1, 25, 0)
    template = SquaredExponential(1.0) * Periodic(7.0)
    once, again = (fit(template, BOX, [(x, t, y)], 0.5, rng=np.random.default_rng(4)) for _ in "12")
    assert once == again


def test_parameters_go_into_a_kernel_and_come_out():
    kernel = SquaredExponential((1.0, 2.0)) * Periodic(7.0, 3.0) + Index() * Decay(0.1)
    free = free_parameters(kernel)
    np.testing.assert_array_equal(get(kernel, free), [1.0, 1.0, 2.0, 7.0, 3.0, 1.0, 0.1])
    values = np.array([0.5, 4.0, 5.0, 8.0, 9.0, 0.6, 0.2])
    np.testing.assert_array_equal(get(put(kernel, free, values), free), values)


def test_normaliser_there_and_back():
    rewards = np.array([3.0, 5.0, 10.0])
    normaliser = Normaliser.of(rewards)
    y = normaliser.forward(rewards)
    assert (y.mean(), y.std()) == (pytest.approx(0.0), pytest.approx(1.0))
    np.testing.assert_allclose(normaliser.backward(y), rewards)
    assert Normaliser.of([2.0, 2.0]) == Normaliser(2.0, 1.0)
    assert Normaliser.of([]) == Normaliser()
    with pytest.raises(ValueError, match="positive scale"):
        Normaliser(0.0, 0.0)
