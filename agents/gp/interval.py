"""The maximum of an upper confidence bound over an interval, between the points of a fine grid.

Where the action kernels are analytic and the grid is fine beside their length-scales, mean and
variance are polynomials to round-off on a stretch of 13 grid points. So what is known at these
points is all there is to know, and the slope of the bound is had at all places at which halving an
interval could ever ask for it, in one product. The halvings then only look up signs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from agents.arrays import Array
from agents.gp.actions import Box
from agents.gp.kernels.base import Kernel
from agents.gp.posteriors.base import Prediction

HALVINGS = 8
"""Halvings of an interval two grid steps long; what remains is far below a length-scale."""
STRETCH = 13
"""Points of a polynomial."""
MIN_POINTS = 12
"""Grid points to a length-scale that make it as good as exact."""
LEAST_VARIANCE = 1e-18
"""By which a slope may be divided."""


class Peak(NamedTuple):
    """A maximum between grid points: where it is, in grid steps from the first, and how high."""

    place: float
    height: float


class Weights(NamedTuple):
    """From the values on a stretch to those of their polynomial in an interval.

    Attributes:
        middle: To values where the interval may be halved, shape (2^HALVINGS - 1, STRETCH).
        slope: To derivatives there, per grid step.
        end: To values where halving may end, shape (2^HALVINGS, STRETCH).
    """

    middle: Array
    slope: Array
    end: Array


def is_resolved(kernels: Iterable[Kernel], box: Box, points: int) -> bool:
    """Whether so many grid points show all of an interval, whatever of these kernels is right."""
    step = float(box.high[0] - box.low[0]) / max(points - 1, 1)
    terms = [term for kernel in kernels for term in kernel.terms]
    analytic = all(factor.analytic for term in terms for factor in term.actions)
    if points < STRETCH or not analytic:
        return False
    inverse = [sum(factor.curvature for factor in term.actions) for term in terms]
    return MIN_POINTS * step * math.sqrt(max(inverse, default=0.0)) <= 1.0


def find_peak(prediction: Prediction, root_beta: float, peak: int) -> Peak:
    """The maximum within a step of a grid point, by halving on the sign of the slope.

    Args:
        prediction: Mean and variance on the grid.
        root_beta: sqrt(beta).
        peak: The number of the grid point, not below its neighbours.
    """
    last = len(prediction.mean) - 1
    low, high = max(peak - 1, 0), min(peak + 1, last)
    first = min(max(peak - STRETCH // 2, 0), last + 1 - STRETCH)
    weights = _weights(low - first, high - first)
    mean = prediction.mean[first : first + STRETCH]
    variance = prediction.variance[first : first + STRETCH]
    deviation = np.sqrt(np.maximum(weights.middle @ variance, LEAST_VARIANCE))
    slope = weights.slope @ mean + (0.5 * root_beta) * (weights.slope @ variance) / deviation
    end = _halved((slope > 0).tolist())
    row = weights.end[end]
    height = float(row @ mean) + root_beta * math.sqrt(max(float(row @ variance), 0.0))
    return Peak(low + (high - low) * (end + 0.5) / 2**HALVINGS, height)


def _halved(rising: list[bool]) -> int:
    """Which of 2^HALVINGS parts of an interval halving leads to."""
    low = 0
    for step in (2**k for k in reversed(range(HALVINGS))):
        if rising[low + step - 1]:
            low += step
    return low


@lru_cache(maxsize=64)
def _weights(low: int, high: int) -> Weights:
    """Lagrange's polynomials on 0, ..., STRETCH - 1 between two of these points."""
    parts = 2**HALVINGS
    middle, slope = _lagrange(low + (high - low) * np.arange(1, parts) / parts)
    end, _ = _lagrange(low + (high - low) * (np.arange(parts) + 0.5) / parts)
    return Weights(middle, slope, end)


def _lagrange(x: Array) -> tuple[Array, Array]:
    """Product over k != j of (x - k) / (j - k), and its derivative, each (q, STRETCH)."""
    nodes = list(range(STRETCH))
    below = _products(x, nodes)
    above = _products(x, nodes[::-1])[::-1]
    scale = [math.prod(j - k for k in nodes if k != j) for j in nodes]
    sides = list(zip(below, above, scale, strict=True))
    value = [left[0] * right[0] / c for left, right, c in sides]
    slope = [(left[1] * right[0] + left[0] * right[1]) / c for left, right, c in sides]
    return np.stack(value, axis=1), np.stack(slope, axis=1)


def _products(x: Array, nodes: list[int]) -> list[tuple[Array, Array]]:
    """Product of x - k over the nodes k before each node, and its derivative."""
    found = [(np.ones_like(x), np.zeros_like(x))]
    for k in nodes[:-1]:
        value, slope = found[-1]
        found.append((value * (x - k), slope * (x - k) + value))
    return found
