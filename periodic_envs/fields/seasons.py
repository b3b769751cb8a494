"""Random periodic functions of time: the periodic kernel as a Fourier series."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from periodic_envs.arrays import Array

TOLERANCE = 1e-10
MAX_KEPT_ROWS = 4096
"""Largest cached table of features; longer ones are computed for every draw."""
_BLOCK = 256
"""Number of steps that are summed at once."""


@lru_cache(maxsize=32)
def harmonic_power(length_scale: float) -> Array:
    """Return the variance of each harmonic of the periodic kernel, shape (K + 1,).

    With ``z = 1 / l^2``:
    ``exp(-2/l^2 sin^2(pi d/tau)) = e^-z [I_0(z) + 2 sum_k I_k(z) cos(2 pi k d/tau)]``.
    """
    from scipy.special import ive  # slow to import, and not always needed

    z = 1.0 / length_scale**2
    # I_k(z) e^-z decays like a Gaussian of width sqrt(z) in k, then faster.
    power = ive(np.arange(32 + int(8 * np.sqrt(z))), z)
    power[1:] *= 2.0
    power = power[: int(np.flatnonzero(power > TOLERANCE)[-1]) + 1]
    power.flags.writeable = False
    return np.asarray(power)


def season_features(times: NDArray[Any], period: float, length_scale: float) -> Array:
    """Return features psi with ``psi(t) . psi(s) = k_tau(t, s)``, shape (times, 2K + 1)."""
    amplitude = np.sqrt(harmonic_power(length_scale))
    angles = np.outer(times, 2.0 * np.pi / period * np.arange(len(amplitude)))
    return np.hstack([amplitude * np.cos(angles), (amplitude * np.sin(angles))[:, 1:]])


def unit_waves(times: NDArray[Any], periods: Array, top: int) -> Array:
    """Return 1, ``top`` cosines and ``top`` sines for periods (n,), shape (n, times, 2 top + 1).

    Higher harmonics follow from the first by the angle sum formulas, since computing cosines for
    each draw would dominate the time.
    """
    angles = (2.0 * np.pi / periods)[:, None] * times
    waves = np.empty((2 * top + 1, *angles.shape))
    cos, sin = waves[: top + 1], waves[top:]  # sin[0] is cos[top], and is not used
    waves[0] = 1.0
    first_cos, first_sin, crossed = np.cos(angles), np.sin(angles), np.empty_like(angles)
    if top > 0:
        sin[1], cos[1] = first_sin, first_cos
    for k in range(2, top + 1):
        np.multiply(cos[k - 1], first_cos, out=cos[k])
        cos[k] -= np.multiply(sin[k - 1], first_sin, out=crossed)
        np.multiply(sin[k - 1], first_cos, out=sin[k])
        sin[k] += np.multiply(cos[k - 1], first_sin, out=crossed)
    features: Array = waves.transpose(1, 2, 0)
    return features


def season_rows(count: int, period: float, length_scale: float) -> Array:
    """Return the features of times 0 .. count - 1, cached for all seeds."""
    if count <= MAX_KEPT_ROWS:
        return _kept_season(count, period, length_scale)
    return season_features(np.arange(count), period, length_scale)


@lru_cache(maxsize=32)
def _kept_season(count: int, period: float, length_scale: float) -> Array:
    features = season_features(np.arange(count), period, length_scale)
    features.flags.writeable = False
    return features


def product_draw(season: Array, others: Array, normal: Array) -> Array:
    """Return weights (T, m) of a draw from a season times another kernel.

    All products of the features as one feature map would need matrices of ``q * c`` columns. For a
    season that repeats every P steps, the sum over its features is computed once for each phase
    instead.

    Args:
        season: features (P, q) of the first P times; P is the cycle, or T if nothing repeats.
        others: features (T, c) of the other kernel.
        normal: unit normal (q, c, m).
    """
    phases, steps = len(season), len(others)
    weights = np.empty((steps, normal.shape[2]))
    if phases == steps:
        # In blocks, since the sums for all times of long horizons exceed the memory.
        for start in range(0, steps, _BLOCK):
            part = slice(start, start + _BLOCK)
            summed = np.tensordot(season[part], normal, axes=1)
            weights[part] = (others[part, None] @ summed)[:, 0]
        return weights
    summed = np.tensordot(season, normal, axes=1)
    seasons = -(-steps // phases)
    padded = np.zeros((seasons * phases, others.shape[1]))
    padded[:steps] = others
    by_phase = padded.reshape(seasons, phases, -1).swapaxes(0, 1) @ summed
    weights[:] = by_phase.swapaxes(0, 1).reshape(seasons * phases, -1)[:steps]
    return weights


def cycle_length(steps: int, period: float) -> int:
    """Return the steps after which a season repeats, or all steps if it is not a whole number."""
    return int(period) if float(period).is_integer() and period < steps else steps
