"""Worlds for training, drawn from a prior.

The prior is broad on purpose, and was not fitted to the worlds of ``periodic_envs``. However, its
draws include functions with a periodic kernel, like those of PeriodicGP-SyntheticDiscrete-v0. The
mean reward of arm a at time t is a sum of parts. Each part may be absent, and the shares of the
parts are random::

    constant(a) + season(a, t) + common season(t) + fading(a, t) + common fading(t)

A season is a random Fourier series with the spectrum of a periodic kernel of random length-scale. A
fading part is an AR(1) process with a random memory. The covariance of the arms is a random mixture
of a kernel of their distance, common factors, and independence. In two of five worlds, the sum is
exponentiated; in half of these worlds, the variance of the noise is proportional to the mean
reward, as for counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.arrays import Array, Rng

HARMONICS = 8
PERIODS = (6.0, 60.0)
SEASON_LENGTH_SCALES = (0.25, 2.5)
"""Bounds of the length-scales of periodic kernels."""
ARM_LENGTH_SCALES = (0.05, 0.7)
"""Bounds of the length-scales over arms, as shares of the range of the coordinates."""
MEMORIES = (2.0, 120.0)
"""Bounds of the number of steps after which a fading part has decayed to 1/e."""
NOISES = (0.03, 2.0)
"""Bounds of the noise's standard deviation, in standard deviations of the mean rewards."""


@dataclass(frozen=True)
class Draw:
    """World drawn from the prior.

    Attributes:
        mean: Mean reward, shape (steps, arms).
        noise: Standard deviation of the noise, shape (steps, arms).
        features: Coordinates of the arms, shape (arms, 1 or 2), or None.
        period: Period that agents know, or None.
        known_noise: Standard deviation of the noise that agents know, or None.
        known_scale: True if agents know that mean rewards have mean 0 and standard deviation 1.
    """

    mean: Array
    noise: Array
    features: Array | None
    period: float | None
    known_noise: float | None
    known_scale: bool


def draw_world(rng: Rng, n_arms: int, steps: int, noises: tuple[float, float] = NOISES) -> Draw:
    """Return a random world with noise between the bounds ``noises``, or without noise."""
    places = _places(rng, n_arms)
    mixing = _mixing(rng, n_arms, places)
    period = float(np.exp(rng.uniform(*np.log(PERIODS))))
    if rng.random() < 0.7:
        period = float(round(period))
    mean = _latent(rng, mixing, steps, period)
    counts = False
    plain = rng.random() < 0.6
    if not plain:
        mean = np.exp(rng.uniform(0.4, 1.3) * mean)
        mean /= mean.std() + 1e-9
        counts = rng.random() < 0.5
    noise_std = 0.0 if rng.random() < 0.12 else float(np.exp(rng.uniform(*np.log(noises))))
    noise = np.full_like(mean, noise_std)
    if counts:
        noise = noise_std * np.sqrt(mean / mean.mean())
    known_noise = noise_std if plain and rng.random() < 0.5 else None
    known_scale = plain and rng.random() < 0.5
    if not known_scale:  # draw a unit and a zero of the rewards
        unit, zero = np.exp(rng.normal(0.0, 0.3)), rng.normal(0.0, 2.0)
        mean, noise = unit * mean + zero, unit * noise
        known_noise = None if known_noise is None else float(unit * known_noise)
    return Draw(
        mean=mean,
        noise=noise,
        features=None if rng.random() < 0.2 else places,
        period=None if rng.random() < 0.08 else period,
        known_noise=known_noise,
        known_scale=known_scale,
    )


def _places(rng: Rng, n_arms: int) -> Array:
    """Return coordinates of arms: evenly spaced on a line, or random in a plane."""
    if rng.random() < 0.5:
        return np.linspace(0.0, 1.0, n_arms)[:, None]
    spread = rng.uniform(0.0, 1.0, (n_arms, 2))
    return spread if rng.random() < 0.5 else rng.normal(0.0, 0.3, (n_arms, 2))


def _mixing(rng: Rng, n_arms: int, places: Array) -> Array:
    """Return the symmetric square root of a random covariance of arms, with variances of 1."""
    width = float(np.ptp(places, axis=0).max()) or 1.0
    squares = np.square((places[:, None] - places[None]) / width).sum(axis=-1)
    scale = float(np.exp(rng.uniform(*np.log(ARM_LENGTH_SCALES))))
    near = np.exp(-squares / (2.0 * scale**2))
    if rng.random() < 0.3:
        near = np.exp(-np.sqrt(squares) / scale)  # a rough kernel
    loadings = rng.normal(0.0, 1.0, (n_arms, int(rng.integers(1, 4))))
    common = loadings @ loadings.T / loadings.shape[1]
    kinds = rng.random(3) < (0.65, 0.45, 0.2)
    shares = rng.dirichlet([0.7, 0.7, 0.7]) * np.where(kinds.any(), kinds, 1.0)
    shares = shares / shares.sum() if shares.sum() > 0 else np.array([1.0, 0.0, 0.0])
    covariance = shares[0] * near + shares[1] * np.eye(n_arms) + shares[2] * common
    deviation = np.sqrt(np.diag(covariance)) + 1e-9
    covariance = covariance / np.outer(deviation, deviation)
    values, vectors = np.linalg.eigh(covariance)
    root: Array = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root


def _latent(rng: Rng, mixing: Array, steps: int, period: float) -> Array:
    """Return a random sum of parts with a total variance of 1, shape (steps, arms)."""
    n_arms = len(mixing)
    there = rng.random(5) < (0.5, 0.85, 0.35, 0.4, 0.25)
    if not (there[0] or there[1]):
        there[1] = True
    shares = rng.dirichlet([1.0, 2.0, 0.7, 0.7, 0.5]) * there
    if rng.random() < 0.3:  # one separable season and nothing else
        shares = np.array([0.0, 1.0, 0.0, 0.0, 0.0])
    weights = np.sqrt(shares / shares.sum())
    alone = np.eye(1)
    mean = np.zeros((steps, n_arms))
    if weights[0]:
        mean += weights[0] * (mixing @ rng.standard_normal(n_arms))
    if weights[1]:
        mean += weights[1] * _season(rng, mixing, steps, period)
    if weights[2]:
        mean += weights[2] * _season(rng, alone, steps, period)
    if weights[3]:
        mean += weights[3] * _fading(rng, mixing, steps)
    if weights[4]:
        mean += weights[4] * _fading(rng, alone, steps)
    return mean


def _season(rng: Rng, mixing: Array, steps: int, period: float) -> Array:
    """Return a draw from the product of arm covariance and periodic kernel, as a Fourier series."""
    length_scale = float(np.exp(rng.uniform(*np.log(SEASON_LENGTH_SCALES))))
    angles = 2.0 * np.pi * np.arange(256) / 256.0
    kernel = np.exp((np.cos(angles) - 1.0) / length_scale**2)  # -2 sin^2(x/2) = cos x - 1
    power = np.maximum(np.fft.rfft(kernel).real[: HARMONICS + 1], 0.0)
    power[1:] *= 2.0
    power /= power.sum()
    phase = 2.0 * np.pi * np.arange(steps)[:, None] * np.arange(HARMONICS + 1) / period
    waves = np.sqrt(np.tile(power, 2)) * np.concatenate((np.cos(phase), np.sin(phase)), axis=1)
    found: Array = waves @ rng.standard_normal((waves.shape[1], len(mixing))) @ mixing.T
    return found


def _fading(rng: Rng, mixing: Array, steps: int) -> Array:
    """Return an AR(1) process that starts in its stationary distribution."""
    kept = float(np.exp(-1.0 / np.exp(rng.uniform(*np.log(MEMORIES)))))
    shocks: Array = rng.standard_normal((steps, len(mixing))) @ mixing.T
    shocks[1:] *= np.sqrt(1.0 - kept**2)
    for t in range(1, steps):
        shocks[t] += kept * shocks[t - 1]
    return shocks
