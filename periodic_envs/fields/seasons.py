"""Random functions of time that repeat: the periodic kernel as a Fourier series."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from periodic_envs.arrays import Array

TOLERANCE = 1e-10


def harmonic_power(length_scale: float) -> Array:
    """Variance of each harmonic of the periodic kernel, shape (K + 1,).

    With ``z = 1 / l^2``:
    ``exp(-2/l^2 sin^2(pi d/tau)) = e^-z [I_0(z) + 2 sum_k I_k(z) cos(2 pi k d/tau)]``.
    """
    from scipy.special import ive  # slow to import, and not always needed

    z = 1.0 / length_scale**2
    # The power falls like a Gaussian of width sqrt(z) in k, then faster.
    power = ive(np.arange(32 + int(8 * np.sqrt(z))), z)
    power[1:] *= 2.0
    return np.asarray(power[: int(np.flatnonzero(power > TOLERANCE)[-1]) + 1])


def season_features(times: NDArray[Any], period: float, length_scale: float) -> Array:
    """Features psi with ``psi(t) . psi(s) = k_tau(t, s)``, shape (len(times), 2K + 1)."""
    amplitude = np.sqrt(harmonic_power(length_scale))
    angles = np.outer(times, 2.0 * np.pi / period * np.arange(len(amplitude)))
    return np.hstack([amplitude * np.cos(angles), (amplitude * np.sin(angles))[:, 1:]])


def product_features(left: Array, right: Array) -> Array:
    """Features of the product of two kernels: all products of their features, row by row."""
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)


def distinct_times(horizon: int, cycle: float | None) -> tuple[Array, NDArray[np.intp]]:
    """The times at which a world must be known, and the row of each step in that table.

    A world that repeats every ``cycle`` steps, a whole number, needs only one cycle.
    """
    steps = np.arange(horizon)
    if cycle is not None and float(cycle).is_integer() and cycle < horizon:
        return np.arange(int(cycle), dtype=np.float64), steps % int(cycle)
    return steps.astype(np.float64), steps
