"""The covariances that the series stand for, in closed form: stated, and tested against draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from periodic_envs.arrays import Array


def matern(distance: ArrayLike, nu: float | None) -> Array:
    """Matern correlation at a distance in length-scales; ``nu=None`` is the limit, the SE kernel.

    ``2^(1-nu)/Gamma(nu) r^nu K_nu(r)`` with ``r = sqrt(2 nu) distance``.
    """
    distance = np.asarray(distance, dtype=np.float64)
    if nu is None:
        return np.asarray(np.exp(-0.5 * distance**2))
    from scipy.special import gamma, kv  # slow to import, and not always needed

    r = np.sqrt(2.0 * nu) * np.maximum(distance, 1e-12)
    return np.asarray(2.0 ** (1.0 - nu) / gamma(nu) * r**nu * kv(nu, r))


def matern_reach(length_scale: float, nu: float | None, correlation: float) -> float:
    """Distance at which the correlation has fallen to the given value."""
    from scipy.optimize import brentq  # slow to import, and not always needed

    def excess(distance: float) -> float:
        return float(np.log(matern(distance, nu) + 1e-300) - np.log(correlation))

    return length_scale * float(brentq(excess, 1e-6, 100.0))


def periodic(lag: ArrayLike, period: float, length_scale: float) -> Array:
    """Eq. (2): ``exp(-2 sin^2(pi lag / period) / length_scale^2)``."""
    lag = np.asarray(lag, dtype=np.float64)
    return np.asarray(np.exp(-2.0 * np.sin(np.pi * lag / period) ** 2 / length_scale**2))
