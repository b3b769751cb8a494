"""Checks of the paper's statements on information gain and regret bounds, as plain functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from agents.gp import (
    ActionKernel,
    BoxBeta,
    Finite,
    FiniteBeta,
    Linear,
    Matern,
    Periodic,
    Points,
    SquaredExponential,
)
from periodic_envs.arrays import Array
from studies.theory import (
    Bracket,
    exact_action_gain,
    exact_season_gain,
    gain_from_variances,
    information_gain,
    phase_gains,
    power,
    power_of_log,
    predictive_variances,
    regret_bound,
    season_gain,
    slope_constants,
)

STEPS, PERIOD, WIDTH, ARMS, GRID = 200, 20, 10.0, 50, 101
"""Horizon, period, interval width and number of arms of the synthetic study, and number of grid
points that replace the interval."""
SHORT_PERIOD = 5
"""Period in the checks of growth, which need many seasons."""


def season_lags(tau: int) -> Array:
    """Return the time differences between the phases of a season, shape (tau, tau)."""
    return np.subtract.outer(np.arange(tau), np.arange(tau)).astype(np.float64)


def action_gram(kernel: ActionKernel, x: Array) -> Array:
    """Return the covariance of actions with coordinates ``x``."""
    points = Finite(x).points()
    return kernel(points, points)


def random_design(seed: int) -> tuple[float, float]:
    """Return the relative error of the identity in Lemma A.1, and the ratio in Lemma 1.

    The ratio is I(y; f) / sum_i I(y^(i); f^(i)), which Lemma 1 bounds by 1. The error and the ratio
    are computed for a random design.
    """
    rng = np.random.default_rng([1, seed])
    tau, seasons = int(rng.integers(2, 13)), int(rng.integers(1, 7))
    t = np.arange(tau * seasons, dtype=np.float64)
    dim, scale = int(rng.integers(1, 4)), float(np.exp(rng.uniform(-2, 2)))
    kernels: list[ActionKernel] = [SquaredExponential(scale), Matern(1.5, scale), Linear()]
    kernel = kernels[int(rng.integers(3))] * Periodic(tau, float(np.exp(rng.uniform(-1.5, 2.3))))
    points = Points(rng.uniform(-1.0, 1.0, (len(t), dim)) / np.sqrt(dim))
    covariance = kernel.gram(points, t, points, t)
    noise = float(np.exp(rng.uniform(-4, 2)))
    gain = information_gain(covariance, noise_variance=noise)
    variances = predictive_variances(covariance, noise_variance=noise)
    summed = gain_from_variances(variances, noise_variance=noise)
    phases = phase_gains(covariance, np.arange(len(t)) % tau, noise_variance=noise)
    return abs(summed - gain) / gain, gain / float(phases.sum())


def remark_ratio() -> float:
    """Return the ratio in Lemma 1 for rewards that are dependent only within phases.

    The design has two orthogonal actions, one for each of two phases, over two seasons.
    """
    x = np.array([[1.0, 0.0], [0.0, 1.0]] * 2)
    t = np.arange(4.0)
    covariance = (Linear() * Periodic(2.0, 1.0)).gram(Points(x), t, Points(x), t)
    phases = phase_gains(covariance, np.array([0, 1, 0, 1]), noise_variance=1.0)
    return information_gain(covariance, noise_variance=1.0) / float(phases.sum())


def small_set(seed: int) -> float:
    """Return gamma^S_T / (tau gamma^A_{T / tau}) (Theorem 2) for a small random set of actions."""
    rng = np.random.default_rng([2, seed])
    tau, seasons, n = int(rng.integers(2, 4)), int(rng.integers(1, 3)), int(rng.integers(2, 4))
    kernel = SquaredExponential(float(np.exp(rng.uniform(-1, 1))))
    actions = action_gram(kernel, rng.uniform(-1, 1, (n, 1)))
    season = Periodic(tau, float(np.exp(rng.uniform(-1, 2))))(season_lags(tau))
    noise = float(np.exp(rng.uniform(-3, 1)))
    exact = exact_season_gain(actions, season, rounds=tau * seasons, noise_variance=noise)
    return exact / (tau * exact_action_gain(actions, rounds=seasons, noise_variance=noise))


def rank(tau: int, period: float) -> int:
    """Return the rank of the periodic kernel's Gram matrix over four seasons of ``tau`` steps."""
    times = np.arange(4 * tau, dtype=np.float64)
    gram = Periodic(period, 0.5)(np.subtract.outer(times, times))
    return int(np.linalg.matrix_rank(gram, tol=1e-8))


def movement(length_scale: float) -> float:
    """Return the standard deviation of a mean reward over a season, for a prior variance of 1.

    The expected variance around the season's mean is the mean of 1 - k(t, s) over all pairs of
    phases t, s.
    """
    return float(
        np.sqrt(1.0 - Periodic(PERIOD, length_scale)(np.arange(PERIOD, dtype=np.float64)).mean())
    )


def paper_gain(length_scale: float, points: int = ARMS) -> Bracket:
    """Return bounds on gamma^S_T in the synthetic study."""
    season = Periodic(PERIOD, length_scale)(season_lags(PERIOD))
    x = np.linspace(-WIDTH / 2, WIDTH / 2, points)[:, None]
    actions = action_gram(SquaredExponential(1.0), x)
    return season_gain(actions, season, rounds=STEPS, noise_variance=1.0)


def theorem_1(delta: float, *, is_finite: bool) -> Array:
    """Return Theorem 1's bound on regret for T = 1, ..., 200 of the synthetic study.

    Args:
        delta: Probability with which the bound may be exceeded.
        is_finite: True to bound the regret for 50 actions, false to bound it for an interval.
    """
    gamma = paper_gain(1.0, ARMS if is_finite else GRID).high
    c1, c2 = slope_constants(WIDTH, length_scale=1.0)
    schedule: Callable[[float], float] = (
        FiniteBeta(ARMS, delta) if is_finite else BoxBeta(1, WIDTH, delta, c1=c1, c2=c2)
    )
    steps = np.arange(1, STEPS + 1)
    beta = np.array([schedule(float(t)) for t in steps])
    return regret_bound(steps, beta=beta, gamma=gamma, noise_variance=1.0)


@dataclass(frozen=True)
class Rate:
    """Rate of growth in Corollary 1, with a kernel for which the rate is checked.

    Attributes:
        kernel: Kernel on the actions.
        dim: Dimension d of the actions.
        read: Function that estimates an exponent, or the slope against log(T / tau), from T / tau
            and gamma.
        limit: Largest value that the corollary allows.
    """

    kernel: ActionKernel
    dim: int
    read: Callable[[Array, Array], float]
    limit: float


def rise(t: Array, gamma: Array) -> float:
    """Return the slope of gamma over log t with t = T / tau, in the upper half of log t."""
    upper = t**2 >= t[0] * t[-1]
    return float(np.polyfit(np.log(t[upper]), gamma[upper], 1)[0])


def power_beside_log(t: Array, gamma: Array) -> float:
    """Return the exponent p of gamma ~ t^p log t."""
    return power(t, gamma / np.log(t))


RATES = {
    # At most d tau directions can be learned; for large T, each of them gains 1/2 log T.
    "linear, d = 1, rise with log": Rate(Linear(), 1, rise, SHORT_PERIOD / 2.0),
    "linear, d = 2, rise with log": Rate(Linear(), 2, rise, float(SHORT_PERIOD)),
    "squared exponential, d = 1, power of log": Rate(SquaredExponential(1.0), 1, power_of_log, 2.0),
    "squared exponential, d = 2, power of log": Rate(SquaredExponential(1.0), 2, power_of_log, 3.0),
    # The limit is d (d + 1) / {2 nu + d (d + 1)} with d = 1.
    "Matern 3/2, d = 1, power beside a log": Rate(Matern(1.5, 1.0), 1, power_beside_log, 0.4),
    "Matern 5/2, d = 1, power beside a log": Rate(Matern(2.5, 1.0), 1, power_beside_log, 2.0 / 7.0),
}


def growth(rate: Rate, *, seasons: int) -> tuple[Array, Array]:
    """Return T / tau, and the gain of greedy designs over T steps, for a kernel.

    The times T are the ends of all seasons except the first. The gain is a lower bound on
    gamma^S_T.
    """
    side = np.linspace(-1.0, 1.0, 120 if rate.dim == 1 else 11)
    grid = np.stack(np.meshgrid(*[side] * rate.dim), axis=-1).reshape(-1, rate.dim)
    # Width: ten length-scales for a line, four for a square; the unit ball for linear kernels.
    is_linear = isinstance(rate.kernel, Linear)
    stretch = 1.0 / np.sqrt(rate.dim) if is_linear else {1: 5.0, 2: 2.0}[rate.dim]
    season = Periodic(SHORT_PERIOD, 1.0)(season_lags(SHORT_PERIOD))
    actions = action_gram(rate.kernel, stretch * grid)
    rounds = seasons * SHORT_PERIOD
    low = season_gain(actions, season, rounds=rounds, noise_variance=1.0).low
    ends = np.arange(SHORT_PERIOD, rounds + 1, SHORT_PERIOD)
    return (ends / SHORT_PERIOD)[1:], low[ends - 1][1:]
