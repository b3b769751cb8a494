"""Relations between two times and between two arms.

Times and arms enter the network only through these relations, so it accepts any number of arms and
any period. A relation is at most 0, and it is 0 between equal times or equal arms. A weighted sum
of relations is the logarithm of a kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ARM_RELATIONS, TIME_RELATIONS = 5, 7
RELATIONS = ARM_RELATIONS + TIME_RELATIONS
LENGTH_SCALES = (0.05, 0.15, 0.4)
"""Length-scales of the distance between arms, as shares of the widest range of a coordinate."""
LAG_SCALES = (6.0, 60.0)
"""Time constants for lags, in steps."""
MAX_FALL = 6.0
"""Relations that decrease with the distance are at least -6, since exp(-6) is negligible."""
HARMONICS = (1.0, 2.0, 3.0)

Floats = NDArray[np.float32]


def arm_relations(n_arms: int, features: NDArray[Any] | None) -> Floats:
    """Return the relations between all pairs of arms, shape (n, n, 5).

    Without features, the only relation is equality. With features, there are also relations that
    decrease with the distance between arms.
    """
    found = np.zeros((n_arms, n_arms, ARM_RELATIONS), np.float32)
    other = np.eye(n_arms) - 1.0
    if features is None:
        found[..., 0] = other
        return found
    places = np.asarray(features, np.float64)
    width = float(np.ptp(places, axis=0).max()) or 1.0
    squares = np.square((places[:, None] - places[None]) / width).sum(axis=-1)
    found[..., 1] = other
    for i, scale in enumerate(LENGTH_SCALES):
        found[..., 2 + i] = -np.minimum(squares / (2.0 * scale**2), MAX_FALL)
    return found


def time_relations(lags: NDArray[Any], period: float | None) -> Floats:
    """Return the relations between times at distances of ``lags`` steps, shape (..., 7)."""
    lag = np.abs(np.asarray(lags, np.float64))
    found = np.zeros((*lag.shape, TIME_RELATIONS), np.float32)
    found[..., 0] = -np.log1p(lag) / 2.0
    for i, scale in enumerate(LAG_SCALES):
        found[..., 1 + i] = -np.minimum(lag / scale, MAX_FALL)
    if period is not None:
        found[..., 3] = -np.minimum(lag / period, MAX_FALL)
        for i, harmonic in enumerate(HARMONICS):
            found[..., 4 + i] = np.cos(2.0 * np.pi * harmonic * lag / period) - 1.0
    return found
