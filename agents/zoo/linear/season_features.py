"""Features of a time: waves that repeat with the season."""

from __future__ import annotations

import math

import numpy as np

from agents.arrays import Array
from agents.base import Problem
from agents.checks import number, whole
from agents.zoo.gp.prior import main_period


class SeasonFeatures:
    """A constant, and cosine and sine of the first harmonics of each season.

    ``z_t = (1, a cos 2 pi k t / tau, a sin 2 pi k t / tau)`` for k = 1..H and each tau; first all
    cosines, then all sines. All seasons that the problem tells have their harmonics, but no
    products.

    Args:
        problem: Whose seasons are taken.
        period: tau, instead of the problem's.
        count: H, fewer for a season of less than 2 H + 1 steps.
        amplitude: a; with sqrt(2) the norm of z is sqrt(d) at all times.
    """

    def __init__(
        self, problem: Problem, period: float | None, count: int, amplitude: float = 1.0
    ) -> None:
        multiples = range(1, whole("harmonics", count) + 1)
        known = problem.periods if period is None else ()
        periods = [number("period", p) for p in known] or [main_period(problem, period)]
        waves = [k / p for p in periods for k in multiples if 2 * k < p or k == 1]
        self._frequencies, self._amplitude = np.array(waves), amplitude
        self._newest: tuple[float, Array] = (math.nan, np.empty(0))

    @property
    def dim(self) -> int:
        """Number of features."""
        return 1 + 2 * len(self._frequencies)

    def __call__(self, t: float) -> Array:
        """z_t, shape (d,)."""
        if self._newest[0] != t:  # asked twice a step: to choose, and to learn
            angles, n = 2.0 * np.pi * self._frequencies * t, len(self._frequencies)
            z = np.empty(1 + 2 * n)
            z[0], z[1 : n + 1], z[n + 1 :] = 1.0, np.cos(angles), np.sin(angles)
            z[1:] *= self._amplitude
            z.setflags(write=False)
            self._newest = (t, z)
        return self._newest[1]
