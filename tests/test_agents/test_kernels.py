"""Kernels against scikit-learn, against their series, and against finite differences."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels as sk

from agents.gp import (
    Box,
    Decay,
    EmpiricalCovariance,
    Finite,
    Index,
    Linear,
    Matern,
    Periodic,
    SquaredExponential,
    TimeSquaredExponential,
)
from agents.gp.kernels.base import TimeFeatures
from tests.test_agents.reloading import reloaded

from .strategies import ARMS, any_time, forgetting, over_arms, sums

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
box = Box([-5] * 3, [5] * 3)
A, B = box.points(X), box.points(Z)
LAGS = np.linspace(-100, 100, 401)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (SquaredExponential(1.7), sk.RBF(1.7)),
        (SquaredExponential((0.5, 1.0, 2.0)), sk.RBF([0.5, 1.0, 2.0])),
        (Matern(0.5, 1.3), sk.Matern(1.3, nu=0.5)),
        (Matern(1.5, 1.3), sk.Matern(1.3, nu=1.5)),
        (Matern(2.5, (0.5, 1.0, 2.0)), sk.Matern([0.5, 1.0, 2.0], nu=2.5)),
        (Matern(0.8, 1.3), sk.Matern(1.3, nu=0.8)),
        (Matern(4.2, 1.3), sk.Matern(1.3, nu=4.2)),
        (Linear(), sk.DotProduct(0.0)),
    ],
)
def test_action_kernels_match_scikit_learn(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours(A, B), theirs(X, Z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(ours.own(A), theirs.diag(X), rtol=1e-12)
    np.testing.assert_allclose(np.diagonal(ours(A, A)), ours.own(A), rtol=1e-9)


SINE = np.sin(np.pi * LAGS / 24) ** 2


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        (Periodic(23.7, 0.8), sk.ExpSineSquared(0.8, 23.7)(LAGS[:, None], [[0.0]])[:, 0]),
        (TimeSquaredExponential(3.0), sk.RBF(3.0)(LAGS[:, None], [[0.0]])[:, 0]),
        (Decay(0.1), sk.Matern(-2 / np.log(0.9), nu=0.5)(LAGS[:, None], [[0.0]])[:, 0]),
        (Decay(0.19), 0.9 ** np.abs(LAGS)),  # the recursion of the paper that it comes from
        (Periodic(24, 0.7), np.exp(-2 * SINE / 0.49)),  # GPyTorch, length l^2
        (Periodic(24, 0.7), np.exp(-SINE / (2 * 0.35**2))),  # GPy, l / 2
    ],
    ids=str,
)
def test_time_kernels_match_other_libraries(ours: Any, expected: np.ndarray) -> None:
    np.testing.assert_allclose(ours(LAGS), expected, atol=1e-12)


@pytest.mark.parametrize("length_scale", [0.1, 0.3, 1.0, 10.0, 300.0])
@pytest.mark.parametrize("period", [1.0, 24.0, 23.7])
def test_periodic_series_is_the_closed_form(period: float, length_scale: float) -> None:
    kernel = Periodic(period, length_scale)
    np.testing.assert_allclose(kernel.spectrum().at(LAGS), kernel(LAGS), atol=1e-12)


def test_kernels_of_arms_are_matrices() -> None:
    arms = Finite.arms(3).points([0, 2, 2])
    S = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 3.0]])
    np.testing.assert_array_equal(Index()(arms, arms), [[1, 0, 0], [0, 1, 1], [0, 1, 1]])
    np.testing.assert_array_equal(
        EmpiricalCovariance(S)(arms, arms), S[np.ix_([0, 2, 2], [0, 2, 2])]
    )
    np.testing.assert_array_equal(EmpiricalCovariance(S).own(arms), [2.0, 3.0, 3.0])


@given(clock=forgetting, other=forgetting, whole=st.booleans())
def test_spectra_multiply_fold_and_become_features(clock: Any, other: Any, whole: bool) -> None:
    (term,) = (clock * other).terms
    spectrum = term.spectrum()
    t = np.array([0.0, 1.0, 7.0, 100.0]) if whole else np.array([0.0, 0.3, 7.7, 100.1])
    lag = np.subtract.outer(t, t)
    used = spectrum.folded() if whole else spectrum
    features = TimeFeatures.of(used, whole_times=whole)
    psi = np.array([features(s) for s in t])
    decay = np.exp(spectrum.log_rho * np.abs(lag))
    np.testing.assert_allclose(used.at(lag), clock(lag) * other(lag), atol=1e-10)
    np.testing.assert_allclose(decay * (psi @ psi.T), clock(lag) * other(lag), atol=1e-10)


@given(p=sums(over_arms, any_time), q=sums(over_arms, any_time), seed=st.integers(0, 1000))
def test_kernel_algebra_is_that_of_the_matrices(p: Any, q: Any, seed: int) -> None:
    generator = np.random.default_rng(seed)
    points = Finite(generator.normal(size=(ARMS, 2))).points(generator.integers(0, ARMS, 8))
    t = generator.uniform(0, 50, 8)
    P, Q = p.gram(points, t, points, t), q.gram(points, t, points, t)
    np.testing.assert_allclose((p + q).gram(points, t, points, t), P + Q, atol=1e-9)
    np.testing.assert_allclose((p * q).gram(points, t, points, t), P * Q, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        (2.5 * p).gram(points, t, points, t), 2.5 * P, rtol=1e-12, atol=1e-15
    )
    np.testing.assert_allclose(np.diagonal(P), p.diagonal(points), rtol=1e-9, atol=1e-12)
    assert np.linalg.eigvalsh(P).min() > -1e-10 * np.abs(P).max()
    np.testing.assert_array_equal(reloaded(p).gram(points, t, points, t), P)


@pytest.mark.parametrize("nu", [0.5, 0.8, 1.5, 2.5, 3.3])
def test_kernel_gradients_are_the_finite_differences(nu: float) -> None:
    kernel = SquaredExponential((1.0, 2.0, 3.0)) * Matern(nu) * Periodic(
        7.0
    ) + 0.5 * Linear() * Decay(0.1)
    t, s, h = np.array([3.0]), np.arange(5.0), 1e-6
    slope = kernel.gradient(A, t, B, s)
    for j, step in enumerate(h * np.eye(3)):
        up, down = box.points(X + step), box.points(X - step)
        expected = (kernel.gram(up, t, B, s) - kernel.gram(down, t, B, s)) / (2 * h)
        np.testing.assert_allclose(slope[:, :, j], expected, atol=1e-8)
    both = kernel * Linear()
    ends = [both.diagonal(box.points(X + d * h * np.eye(3)[1])) for d in (1, -1)]
    own = both.diagonal_gradient(A)[:, 1]
    np.testing.assert_allclose(own, (ends[0] - ends[1]) / (2 * h), atol=1e-6)
    at_itself = Matern(nu).slope(A, A)
    assert np.isfinite(at_itself).all()
    np.testing.assert_array_equal(np.einsum("iid->id", at_itself), 0.0)
