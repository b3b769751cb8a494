"""Maximisation of UCB(a) = mean(a) + sqrt(beta) * standard deviation(a).

In a one-dimensional box the maximum is refined between the points of a fine grid. If the action
kernels are analytic and the grid is fine relative to their length-scales, mean and variance are
polynomials up to round-off over 13 consecutive grid points. One matrix product of the values at
these points then gives the slope of the bound at all points that bisection could visit, and
bisection only looks up the signs of the slope.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from agents.arrays import Array, Rng
from agents.gp.actions import Box, Finite, InContext, Integers, corners, grid, sobol
from agents.gp.kernels.base import Kernel
from agents.gp.posteriors.base import Prediction, Predictive

HALVINGS = 8
"""Number of halvings of an interval of two grid steps. The last interval is far shorter than a
length-scale."""
STRETCH = 13
"""Number of consecutive grid points that one polynomial interpolates."""
MIN_POINTS = 12
"""Minimum number of grid points per length-scale for interpolation that is exact to round-off."""
LEAST_VARIANCE = 1e-18
"""Lower bound on a variance whose square root is a divisor."""


class Peak(NamedTuple):
    """Maximum of the upper confidence bound between grid points.

    Attributes:
        place: Position of the maximum, in grid steps from the first grid point.
        height: Upper confidence bound at this position.
    """

    place: float
    height: float


class Weights(NamedTuple):
    """Matrices that map values at ``STRETCH`` grid points to their interpolating polynomial.

    Attributes:
        middle: Map to the values at all points where bisection may halve the interval, shape
            (2^HALVINGS - 1, STRETCH).
        slope: Map to the derivatives per grid step at the same points.
        end: Map to the values at all points where bisection may end, shape (2^HALVINGS, STRETCH).
    """

    middle: Array
    slope: Array
    end: Array


def is_resolved(kernels: Iterable[Kernel], box: Box, points: int) -> bool:
    """Return whether a grid of ``points`` points on an interval resolves all of the kernels.

    A grid resolves a kernel if interpolation between its points is exact up to round-off.
    """
    step = float(box.high[0] - box.low[0]) / max(points - 1, 1)
    terms = [term for kernel in kernels for term in kernel.terms]
    analytic = all(factor.analytic for term in terms for factor in term.actions)
    if points < STRETCH or not analytic:
        return False
    inverse = [sum(factor.curvature for factor in term.actions) for term in terms]
    return MIN_POINTS * step * math.sqrt(max(inverse, default=0.0)) <= 1.0


def find_peak(prediction: Prediction, root_beta: float, peak: int) -> Peak:
    """Return the maximum within one step of a grid point, by bisection on the sign of the slope.

    Args:
        prediction: Mean and variance on the grid.
        root_beta: Weight sqrt(beta) of the standard deviation.
        peak: Index of the grid point, which is a local maximum of the grid.
    """
    last = len(prediction.mean) - 1
    low, high = max(peak - 1, 0), min(peak + 1, last)
    first = min(max(peak - STRETCH // 2, 0), last + 1 - STRETCH)
    weights = _weights(low - first, high - first)
    mean = prediction.mean[first : first + STRETCH]
    variance = prediction.variance[first : first + STRETCH]
    # d/dx {mean + sqrt(beta v)} = mean' + sqrt(beta) v' / (2 sqrt(v))
    deviation = np.sqrt(np.maximum(weights.middle @ variance, LEAST_VARIANCE))
    slope = weights.slope @ mean + (0.5 * root_beta) * (weights.slope @ variance) / deviation
    end = _halved((slope > 0).tolist())
    row = weights.end[end]
    height = float(row @ mean) + root_beta * math.sqrt(max(float(row @ variance), 0.0))
    return Peak(low + (high - low) * (end + 0.5) / 2**HALVINGS, height)


def _halved(rising: list[bool]) -> int:
    """Return the index of the subinterval in which bisection ends, among 2^HALVINGS subintervals.

    ``rising[i]`` is true if the slope between subintervals i and i + 1 is positive.
    """
    low = 0
    for step in (2**k for k in reversed(range(HALVINGS))):
        if rising[low + step - 1]:
            low += step
    return low


@lru_cache(maxsize=64)
def _weights(low: int, high: int) -> Weights:
    """Return the interpolation matrices for bisecting the interval [low, high].

    The nodes of the interpolation are 0, ..., STRETCH - 1.
    """
    parts = 2**HALVINGS
    middle, slope = _lagrange(low + (high - low) * np.arange(1, parts) / parts)
    end, _ = _lagrange(low + (high - low) * (np.arange(parts) + 0.5) / parts)
    return Weights(middle, slope, end)


def _lagrange(x: Array) -> tuple[Array, Array]:
    """Return the Lagrange polynomials prod_{k != j} (x - k) / (j - k) and their derivatives.

    Both arrays have one row for each x and one column for each node j, shape (len(x), STRETCH).
    """
    nodes = list(range(STRETCH))
    below = _products(x, nodes)
    above = _products(x, nodes[::-1])[::-1]
    scale = [math.prod(j - k for k in nodes if k != j) for j in nodes]
    sides = list(zip(below, above, scale, strict=True))
    value = [left[0] * right[0] / c for left, right, c in sides]
    slope = [(left[1] * right[0] + left[0] * right[1]) / c for left, right, c in sides]
    return np.stack(value, axis=1), np.stack(slope, axis=1)


def _products(x: Array, nodes: list[int]) -> list[tuple[Array, Array]]:
    """Return, for each node, the product of x - k over all earlier nodes k, and its derivative."""
    products = [(np.ones_like(x), np.zeros_like(x))]
    for k in nodes[:-1]:
        value, slope = products[-1]
        products.append((value * (x - k), slope * (x - k) + value))
    return products


TIE = 1e-9
"""Relative difference below which upper confidence bounds are treated as equal."""
FLAT = 1e-6
"""Height of a peak above its lower neighbour on the grid, relative to the peak, below which the
peak is treated as a plateau."""
STARTS = 5
"""Number of candidates from which local searches start."""


def upper_bound(prediction: Prediction, beta: float) -> Array:
    """Return the UCB at each predicted action, Eq. (6) with sqrt(beta)."""
    return prediction.mean + math.sqrt(beta) * np.sqrt(prediction.variance)


def argmax(values: Array, rng: Rng) -> int:
    """Return the index of the largest value; ties are broken at random."""
    top = values.max()
    ties = np.flatnonzero(values >= top - TIE * max(1.0, abs(top)))
    return int(ties[0] if len(ties) == 1 else rng.choice(ties))


class UCB:
    """Maximiser of the upper confidence bound of a posterior over its actions.

    In a finite set, all actions are compared. In a box, candidates are compared first: the points
    of a grid for d = 1, Sobol points and the corners for d > 1. Local searches then start from the
    best candidates: bisection on the slope for d = 1, L-BFGS-B with analytic gradients for
    d > 1.

    Args:
        posterior: Posterior with the actions to choose from.
        rng: Generator that breaks ties. The candidates do not depend on it, so that a restored
            agent has the same candidates.
        candidates: Number of grid points for d = 1 (by default, enough to resolve the kernel), or
            number of Sobol points for d > 1 (2048 by default), which is rounded down to a power of
            two.
    """

    def __init__(self, posterior: Predictive, rng: Rng, candidates: int | None = None) -> None:
        self.posterior, self._rng = posterior, rng
        if isinstance(posterior.actions, Box):
            self._grid = _candidates(posterior.actions, posterior.kernel, candidates)
            self._grid.setflags(write=False)
            self._resolved = _resolved(posterior, posterior.actions, len(self._grid))

    def choose(self, t: float, beta: float) -> Any:
        """Return the action to take at time t: an arm number, or a point of shape (d,)."""
        actions = self.posterior.actions
        if isinstance(actions, InContext):
            raise TypeError(
                "UCB cannot choose among actions whose context is not fixed: pass a posterior for "
                "the current context, UCB(InThisContext(posterior), rng)"
            )
        if isinstance(actions, Finite):
            arms = self.posterior.contenders(t, beta)
            best = argmax(upper_bound(self.posterior.predict(t, arms), beta), self._rng)
            return best if arms is None else int(arms[best])
        prediction = self.posterior.predict(t, self._grid)
        values = upper_bound(prediction, beta)
        # All candidates are ties, so one of them is drawn.
        if values.max() - values.min() <= TIE * max(1.0, abs(float(values[0]))):
            return self._grid[self._rng.integers(len(values))].copy()
        if actions.dimension == 1:
            peaks = self._peaks(values)
            # On a plateau round-off would decide which action is chosen, so exact slopes are used.
            if self._resolved and not _has_plateau(values, peaks):
                return self._between(beta, prediction, values, peaks)
            return self._bisect(t, beta, peaks)
        return self._climb(t, beta, values, actions)

    def peak(self, t: float, beta: float) -> float:
        """Return the largest upper confidence bound, over the arms or the candidates of a box."""
        points = None if isinstance(self.posterior.actions, Finite) else self._grid
        return float(upper_bound(self.posterior.predict(t, points), beta).max())

    def _peaks(self, values: Array) -> Integers:
        """Return the indices of the highest local maxima of the grid, at most ``STARTS``."""
        rising = values[1:] >= values[:-1]
        falling = values[1:] <= values[:-1]
        peak = np.ones(len(values), dtype=bool)
        peak[1:] &= rising
        peak[:-1] &= falling
        peaks = np.flatnonzero(peak)
        return peaks[self._first(values[peaks])] if len(peaks) > 1 else peaks

    def _between(self, beta: float, known: Prediction, values: Array, peaks: Integers) -> Array:
        """Return the point with the highest bound.

        Around each peak of the grid, the bound is interpolated.
        """
        last, root_beta = len(values) - 1, math.sqrt(beta)
        top = float(values[peaks[0]])
        least = top - 2.0 * TIE * max(1.0, abs(top))
        near, heights = [], []
        for peak in peaks.tolist():
            height = float(values[peak])
            sides = float(values[max(peak - 1, 0)]) + float(values[min(peak + 1, last)])
            # A parabola exceeds its highest grid point by at most 1/8 of the second difference. A
            # peak that is lower than the best peak by more than the whole difference is skipped.
            if height + abs(2.0 * height - sides) >= least:
                near.append(peak)
                heights.append(height)
        refined = [find_peak(known, root_beta, peak) for peak in near]
        best = argmax(np.array(heights + [peak.height for peak in refined]), self._rng)
        if best < len(near):
            return np.array(self._grid[near[best]])
        cell, part = divmod(refined[best - len(near)].place, 1.0)
        low, high = self._grid[int(cell)], self._grid[min(int(cell) + 1, last)]
        return np.array(low + part * (high - low))

    def _bisect(self, t: float, beta: float, peaks: Integers) -> Array:
        """Return the point with the highest bound after bisection of the intervals at all peaks."""
        x = self._grid[:, 0]
        low, high = x[np.maximum(peaks - 1, 0)], x[np.minimum(peaks + 1, len(x) - 1)]
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            _, slope = self._slope(t, beta, middle[:, None])
            rising = slope[:, 0] > 0
            low, high = np.where(rising, middle, low), np.where(rising, high, middle)
        points = np.concatenate((self._grid[peaks], 0.5 * (low + high)[:, None]))
        return self._best(t, beta, points)

    def _climb(self, t: float, beta: float, values: Array, box: Box) -> Array:
        """Return the point with the highest bound that L-BFGS-B finds from the best candidates."""
        from scipy.optimize import minimize  # slow to import, and not always needed

        best = self._first(values)

        def descend(x: Array) -> tuple[float, Array]:
            value, slope = self._slope(t, beta, x[None])
            return -float(value[0]), -slope[0]

        bounds = np.stack((box.low, box.high), axis=1)
        ends = [
            minimize(descend, self._grid[i], jac=True, method="L-BFGS-B", bounds=bounds).x
            for i in best
        ]
        points = np.concatenate((self._grid[best], np.clip(ends, box.low, box.high)))
        return self._best(t, beta, points)

    def _first(self, values: Array) -> Integers:
        """Return the indices of the ``STARTS`` largest values, with ties in random order."""
        shuffled = self._rng.permutation(len(values))
        order = np.argsort(-np.round(values[shuffled], 9), kind="stable")
        return np.asarray(shuffled[order[:STARTS]])

    def _best(self, t: float, beta: float, points: Array) -> Array:
        best = argmax(upper_bound(self.posterior.predict(t, points), beta), self._rng)
        return np.array(points[best])

    def _slope(self, t: float, beta: float, x: Array) -> tuple[Array, Array]:
        """Return the UCB, shape (q,), and its derivative, shape (q, d)."""
        mean, variance, mean_slope, variance_slope = self.posterior.gradient(t, x)
        deviation = np.sqrt(np.maximum(variance, 1e-18))
        pull = math.sqrt(beta) * variance_slope / (2 * deviation[:, None])
        return mean + math.sqrt(beta) * deviation, np.asarray(mean_slope + pull)


def _has_plateau(values: Array, peaks: Integers) -> bool:
    """Return whether a peak that may be the best one is a plateau."""
    last, top = len(values) - 1, float(values.max())
    unit = FLAT * max(1.0, abs(top))
    for peak in peaks.tolist():
        sides = [float(values[i]) for i in (peak - 1, peak + 1) if 0 <= i <= last]
        height = float(values[peak])
        if height >= top - unit and height - min(sides) < unit:
            return True
    return False


def _resolved(posterior: Predictive, box: Box, points: int) -> bool:
    """Return whether the grid resolves the kernel, or the kernels of all members of a mixture."""
    members = getattr(posterior, "members", (posterior,))
    kernels = [member.kernel for member in members]
    return box.dimension == 1 and is_resolved(kernels, box, points)


def _candidates(box: Box, kernel: Kernel, n: int | None) -> Array:
    """Return a grid if d = 1, otherwise Sobol points and the corners, shape (q, d)."""
    if box.dimension == 1:
        return grid(box, n or _grid_size(box, kernel))
    return np.concatenate((sobol(box, n or 2048), corners(box)))


def _grid_size(box: Box, kernel: Kernel) -> int:
    """Return the number of grid points: 16 per shortest length-scale, but 256 to 4096 in total."""
    factors = [k for term in kernel.terms for k in term.actions]
    scales = [np.min(k.length_scale) for k in factors if hasattr(k, "length_scale")]
    shortest = float(min(scales, default=np.inf))
    return int(np.clip(16 * (box.high - box.low)[0] / shortest, 256, 4096))
