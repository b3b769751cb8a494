"""Random periodic functions of time: the periodic kernel as a Fourier series."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from periodic_envs.arrays import Array

TOLERANCE = 1e-10
"""Variance below which the highest harmonics are left out."""
MAX_KEPT_ROWS = 4096
"""Maximum number of rows in a cached table of features; longer tables are computed each time."""
_BLOCK = 256
"""Number of steps for which ``product_draw`` stores sums at a time."""


@lru_cache(maxsize=32)
def harmonic_power(length_scale: float) -> Array:
    """Return the variance of each harmonic of the periodic kernel, shape (K + 1,).

    With ``z = 1 / l^2``:
    ``exp(-2/l^2 sin^2(pi d/tau)) = e^-z [I_0(z) + 2 sum_k I_k(z) cos(2 pi k d/tau)]``.
    """
    from scipy.special import ive  # slow to import, and not always needed

    z = 1.0 / length_scale**2
    # I_k(z) e^-z decays like a Gaussian of width sqrt(z) in k, and faster for large k, so that this
    # number of terms is enough.
    power = ive(np.arange(32 + int(8 * np.sqrt(z))), z)
    power[1:] *= 2.0
    power = power[: int(np.flatnonzero(power > TOLERANCE)[-1]) + 1]
    power.flags.writeable = False
    return np.asarray(power)


def season_features(times: NDArray[Any], period: float, length_scale: float) -> Array:
    """Return features psi of the periodic kernel k_tau, shape (times, 2K + 1).

    For any two times, ``psi(t) . psi(s) = k_tau(t, s)``.
    """
    amplitude = np.sqrt(harmonic_power(length_scale))
    angles = np.outer(times, 2.0 * np.pi / period * np.arange(len(amplitude)))
    return np.hstack([amplitude * np.cos(angles), (amplitude * np.sin(angles))[:, 1:]])


def unit_waves(times: NDArray[Any], periods: Array, top: int) -> Array:
    """Return a constant and ``top`` harmonics of each of n periods, shape (n, times, 2 top + 1).

    The last axis contains the constant 1, the cosines and the sines. Higher harmonics are computed
    from the first harmonic by the angle sum formulas, since the evaluation of all cosines would
    dominate the time of a draw.
    """
    angles = (2.0 * np.pi / periods)[:, None] * times
    waves = np.empty((2 * top + 1, *angles.shape))
    cos, sin = waves[: top + 1], waves[top:]  # sin[0] is cos[top] and is not used
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
    """Return the features of times 0 .. count - 1.

    Short tables are cached and shared by all seeds.
    """
    if count <= MAX_KEPT_ROWS:
        return _kept_season(count, period, length_scale)
    return season_features(np.arange(count), period, length_scale)


@lru_cache(maxsize=32)
def _kept_season(count: int, period: float, length_scale: float) -> Array:
    features = season_features(np.arange(count), period, length_scale)
    features.flags.writeable = False
    return features


def product_draw(season: Array, others: Array, normal: Array) -> Array:
    """Return m draws, shape (T, m), of a Gaussian process whose kernel is a product.

    The factors of the product are the kernel of a season and another kernel.

    One feature map with all products of the features would need matrices with ``q * c`` columns.
    Instead, the sum over the features of the season is computed once for each of its P phases.

    Args:
        season: Features of the season at the first P times, shape (P, q). P is the number of steps
            after which the season repeats, or T if it does not repeat.
        others: Features of the other kernel, shape (T, c).
        normal: Independent standard normal numbers, shape (q, c, m).
    """
    phases, steps = len(season), len(others)
    weights = np.empty((steps, normal.shape[2]))
    if phases == steps:
        # The sums for all times of a long horizon would exceed the memory, so blocks are used.
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
    """Return the number of steps after which a season repeats, or ``steps`` if it does not repeat.

    A season repeats on whole steps only if its period is a whole number below ``steps``.
    """
    return int(period) if float(period).is_integer() and period < steps else steps
