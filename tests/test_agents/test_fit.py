"""Fitting finds the hyper-parameters that generated the data."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import block_diag

from agents.gp import (
    Box,
    Constant,
    Decay,
    Finite,
    Index,
    Kernel,
    Matern,
    Normaliser,
    Periodic,
    SquaredExponential,
    fit,
)
from agents.gp.evidence import Evidence, Stretch, free_parameters, get
from tests.dense import Dense

BOX = Box([0, 0], [10, 10])
SEASON = SquaredExponential(2.0) * Periodic(12.0, 0.7)


def draw(kernel: Kernel, noise_variance: float, n: int, seed: int) -> Any:
    """Rewards of the prior at random actions and times."""
    rng = np.random.default_rng(seed)
    x, t = rng.uniform(0, 10, (n, 2)), np.arange(n, dtype=float)
    K = kernel.gram(BOX.points(x), t, BOX.points(x), t) + noise_variance * np.eye(n)
    return x, t, np.linalg.cholesky(K) @ rng.normal(size=n)


def length_scale(fitted: Any) -> float:
    return float(fitted.kernel.terms[0].actions[0].length_scale)


@pytest.mark.parametrize("fit_scale", [True, False])
def test_evidence_has_the_gradient_of_its_loss(fit_scale: bool) -> None:
    season = SquaredExponential((1.0, 2.0)) * Periodic(7.3, 0.8)
    kernel = season + 0.5 * Matern(1.5, 2.0) * Decay(0.1)
    x, t, y = draw(kernel, 0.1, 30, 0)
    free, h = free_parameters(kernel), 1e-5
    evidence = Evidence(kernel, free, [Stretch(BOX.points(x), t, y + 3.0)], True, fit_scale)
    theta = np.log(np.append(get(kernel, free), 0.1)) + 0.1
    ends = [[evidence.loss(theta + e)[0] for e in side * np.eye(len(theta))] for side in (h, -h)]
    slope = np.subtract(*ends) / (2 * h)
    np.testing.assert_allclose(evidence.loss(theta)[1], slope, rtol=1e-5, atol=1e-6)
    assert [p.name for p in free].count("length_scale") == 4


def test_evidence_adds_independent_stretches() -> None:
    """Sum them if mean and scale are known; unknown ones are common to the stretches."""
    parts = [draw(SEASON, 0.1, n, seed) for n, seed in ((30, 0), (45, 1))]
    stretches = [Stretch(BOX.points(x), t, y) for x, t, y in parts]
    free, theta = free_parameters(SEASON), np.log([1.0, 2.0, 12.0, 0.7, 0.1])
    one, other = (Evidence(SEASON, free, [s], False, False).loss(theta) for s in stretches)
    loss, gradient = Evidence(SEASON, free, stretches, False, False).loss(theta)
    assert loss == pytest.approx(one[0] + other[0])
    np.testing.assert_allclose(gradient, one[1] + other[1])
    K = [SEASON.gram(p.points, p.t, p.points, p.t) + 0.1 * np.eye(len(p.t)) for p in stretches]
    inverse, y = np.linalg.inv(block_diag(*K)), np.concatenate([p.y for p in stretches])
    mean = inverse.sum(0) @ y / inverse.sum()
    scale = np.sqrt((y - mean) @ inverse @ (y - mean) / len(y))
    together = Evidence(SEASON, free, stretches, True, True).normaliser(theta)
    assert (together.mean, together.scale) == pytest.approx((mean, scale))


def test_fit_recovers_length_scales_noise_mean_and_scale() -> None:
    """Fixed seed; bands are about three times the spread over seeds."""
    x, t, y = draw(SEASON, 0.05, 250, 1)
    start = SquaredExponential(6.0) * Periodic(12.0, 2.0)
    fitted = fit(start, BOX, [(x, t, 50.0 + 8.0 * y)], 1.0, starts=2)
    (term,) = fitted.kernel.terms
    assert length_scale(fitted) == pytest.approx(2.0, rel=0.25)
    assert term.clocks[0].length_scale == pytest.approx(0.7, rel=0.25)
    assert (term.clocks[0].period, term.variance) == (12.0, 1.0)
    assert fitted.noise_variance == pytest.approx(0.05, rel=0.6)
    assert fitted.normaliser.scale == pytest.approx(8.0, rel=0.4)
    assert fitted.normaliser.mean == pytest.approx(50.0, abs=8.0)


@pytest.mark.parametrize(
    ("space", "truth", "start", "noise_variance", "name", "rel"),
    [
        (20.0, Decay(0.1), Decay(0.5), 0.01, "eps", 0.4),
        (5.0, Periodic(23.7, 1.0), Periodic(23.0, 1.0), 0.05, "period", 0.02),
    ],
    ids=["forgetting", "period"],
)
def test_fit_recovers_time_parameters(
    space: float, truth: Any, start: Any, noise_variance: float, name: str, rel: float
) -> None:
    data = draw(SquaredExponential(space) * truth, noise_variance, 150, 3)
    known = {"fixed": ["variance", "length_scale"], "fit_mean": False, "fit_scale": False}
    fitted = fit(SquaredExponential(space) * start, BOX, [data], noise_variance, **known)
    clock = fitted.kernel.terms[0].clocks[0]
    assert getattr(clock, name) == pytest.approx(getattr(truth, name), rel=rel)


@pytest.mark.parametrize("seed", range(2))
def test_fit_is_never_worse_than_its_template(seed: int) -> None:
    kernel = SquaredExponential(1.5) * Periodic(9.0) + 0.3 * Matern(1.5) * Decay(0.2)
    x, t, y = draw(kernel, 0.2, 40, seed)
    fitted = fit(kernel, BOX, [(x, t, y)], 0.2, fit_mean=False, fit_scale=False, starts=2)
    dense = Dense(kernel, BOX, 0.2), Dense(fitted.kernel, BOX, fitted.noise_variance)
    for posterior, rewards in zip(dense, (y, fitted.normaliser.forward(y)), strict=True):
        for row in zip(x, t, rewards, strict=True):
            posterior.observe(*row)
    assert fitted.log_evidence >= dense[0].log_evidence
    assert fitted.log_evidence == pytest.approx(dense[1].log_evidence)


def misleading(seed: int) -> tuple[Kernel, Any]:
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


NIGHTLY = [pytest.param(seed, marks=pytest.mark.nightly) for seed in (5, 17, 19, 20)]


# Fits of these seeds ended up to 5.7 nats below a part of the same model, when starts were few.
@pytest.mark.parametrize("seed", [7, *NIGHTLY])
@pytest.mark.parametrize("more", [(), ("length_scale",), ("variance", "noise_variance")])
def test_fit_is_never_below_a_model_that_it_contains(seed: int, more: tuple[str, ...]) -> None:
    """With the mean or the scale fitted, or (as a rule) a name freed, the evidence only rises."""
    kernel, data = misleading(seed)

    def evidence(mean: bool, scale: bool, *names: str) -> float:
        fixed = ("period", *more, *names)
        fitted = fit(kernel, BOX, [data], 0.5, fixed=fixed, fit_mean=mean, fit_scale=scale)
        return fitted.log_evidence + 1e-6

    none, whole = evidence(False, False), evidence(True, True)
    for part in (evidence(True, False), evidence(False, True)):
        assert none - 2e-6 <= part - 1e-6 <= whole
    if not more:
        for name in ("length_scale", "variance", "eps", "noise_variance"):
            assert evidence(True, True, name) - 1e-6 <= whole


@pytest.mark.parametrize("others", [(), ("period",), ("period", "length_scale")])
def test_fit_keeps_fixed_names(others: tuple[str, ...]) -> None:
    """Also those of a template that is outside the bounds."""
    kernel = 2e4 * SquaredExponential(1.5) * Periodic(9.0, 0.01)
    fixed = ["noise_variance", *others]
    fitted = fit(kernel, BOX, [draw(kernel, 0.2, 20, 0)], 0.2, fixed=fixed, fit_scale=False)
    (term,) = fitted.kernel.terms
    assert fitted.noise_variance == pytest.approx(0.2, rel=1e-9)
    assert term.clocks[0].period == 9.0 or "period" not in others
    scales = (term.actions[0].length_scale, term.clocks[0].length_scale)
    assert (scales == (1.5, 0.01)) == ("length_scale" in others)
    assert term.variance != 2e4


def test_fit_holds_a_prior_where_the_data_say_nothing() -> None:
    """Rewards of pure noise do not know a length-scale; many of a clear function do."""
    template = SquaredExponential(3.0) * Periodic(12.0, 1.0)
    x, t, _ = draw(template, 0.1, 60, 0)
    noise = x, t, np.random.default_rng(1).normal(size=60)
    free, held = (fit(template, BOX, [noise], 0.5, spread=spread) for spread in (np.inf, 0.1))
    assert abs(np.log(length_scale(held) / 3.0)) < 0.2 < abs(np.log(length_scale(free) / 3.0))
    assert held.log_evidence <= free.log_evidence
    clear = draw(SquaredExponential(1.5) * Periodic(12.0, 1.0), 0.05, 150, 1)
    fitted = fit(template, BOX, [clear], 0.1, spread=1.0, starts=1)
    assert length_scale(fitted) == pytest.approx(1.5, rel=0.25)


def test_fit_scans_for_what_one_descent_misses() -> None:
    """Two optima: from the template alone the worse one is found."""
    data = draw(SquaredExponential(0.4) * Periodic(12.0, 1.0), 0.02, 120, 9)
    template = SquaredExponential(30.0) * Periodic(12.0, 1.0)
    alone = fit(template, BOX, [data], 1.0, starts=1)
    scanned = fit(template, BOX, [data], 1.0, starts=3, scan=60)
    assert scanned.log_evidence > alone.log_evidence + 1.0
    assert length_scale(scanned) == pytest.approx(0.4, rel=0.5)


def test_fit_takes_constant_rewards() -> None:
    data = [0, 1, 0], [0, 1, 2], [4.0, 4.0, 4.0]
    normaliser = fit(Index() * Periodic(3.0), Finite.arms(2), [data], 0.1).normaliser
    assert normaliser.mean == pytest.approx(4.0)
    assert normaliser.scale > 0


def test_normaliser_goes_there_and_back() -> None:
    rewards = np.array([3.0, 5.0, 10.0])
    normaliser = Normaliser.of(rewards)
    y = normaliser.forward(rewards)
    assert (y.mean(), y.std()) == pytest.approx((0.0, 1.0))
    np.testing.assert_allclose(normaliser.backward(y), rewards)
    assert (Normaliser.of([2.0, 2.0]), Normaliser.of([])) == (Normaliser(2.0, 1.0), Normaliser())
