"""Points spread over a box."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import ArrayLike

from agents.arrays import Array
from agents.gp.actions import Box


def grid(box: Box, n: int) -> Array:
    """``n`` equidistant points of a one-dimensional box, ends included, shape (n, 1)."""
    return np.linspace(box.low, box.high, n)


def sobol(box: Box, n: int, shift: ArrayLike = 0.0) -> Array:
    """The first ``n`` Sobol points, all moved by ``shift`` (around the unit cube), shape (n, d)."""
    from scipy.stats import qmc  # slow to import, and not always needed

    unit = (qmc.Sobol(box.dimension, scramble=False).random_base2(int(np.log2(n))) + shift) % 1.0
    return np.asarray(box.low + unit * (box.high - box.low))


def corners(box: Box) -> Array:
    """The 2^d corners, shape (2^d, d)."""
    return np.array(list(itertools.product(*zip(box.low, box.high, strict=True))))


def chebyshev(box: Box, per_axis: int) -> Array:
    """A grid that is denser towards the sides, ends included, shape (per_axis^d, d)."""
    axis = 0.5 - 0.5 * np.cos(np.pi * np.arange(per_axis) / (per_axis - 1))
    axes = np.meshgrid(*[axis] * box.dimension)
    unit = np.stack(axes, axis=-1).reshape(-1, box.dimension)
    return np.asarray(box.low + unit * (box.high - box.low))
