"""The period of a noisy signal, from the frequencies that stand out of its spectrum."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from agents.arrays import Array

LONGEST = 500
"""No longer period is looked for, however long the signal."""


def estimate_period(t: Array, y: Array, *, sigma: float, level: float = 0.05) -> int:
    """The period of y at times t, or 1 if no frequency stands out of noise of deviation sigma."""
    steps, longest = np.floor(t).astype(int), min(len(t) // 2, LONGEST)
    j, q = fractions_up_to(longest)
    if not len(q) or sigma <= 0:
        return 1
    threshold = math.log(len(q) / level)
    period, basis = 1, np.ones((len(t), 1))
    for _ in range(longest):
        rest = y - basis @ np.linalg.lstsq(basis, y, rcond=None)[0]
        # White noise has a response of Exponential(1).
        response = _power(steps, rest, longest) / (len(t) * sigma**2)
        if response.max() < threshold:
            break
        alike = np.flatnonzero(response > response.max() + math.log(level))
        best = min(alike, key=lambda i: (math.lcm(period, int(q[i])), -response[i]))
        if math.lcm(period, int(q[best])) > longest:
            break
        period = math.lcm(period, int(q[best]))
        angle = 2.0 * np.pi * j[best] / q[best] * steps
        basis = np.column_stack([basis, np.cos(angle), np.sin(angle)])
    return period


@lru_cache(maxsize=8)
def fractions_up_to(longest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All j / q in lowest terms with 0 < j / q <= 1/2 and q <= longest, by q and then j."""
    q = np.repeat(np.arange(2, longest + 1), np.arange(2, longest + 1) // 2)
    j = np.concatenate([np.arange(1, p // 2 + 1) for p in range(2, longest + 1)] or [q])
    lowest = np.gcd(j, q) == 1
    return j[lowest], q[lowest]


def _power(steps: NDArray[np.int64], y: Array, longest: int) -> Array:
    """|sum y exp(-2 pi i t j / q)|^2 for the fractions above: only t mod q matters."""
    parts = []
    for q in range(2, longest + 1):
        folded = np.bincount(steps % q, weights=y, minlength=q)
        power = np.square(np.abs(np.fft.rfft(folded)[1:]))
        parts.append(power[np.gcd(np.arange(1, len(power) + 1), q) == 1])
    return np.concatenate(parts)
