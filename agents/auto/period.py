"""A first guess at a season of unknown length, where scale and variances are not known either.

Some rewards are explained by a season of each length on a grid, at several levels of noise.
The best length is only good enough to learn variances with; the period itself is then searched for
with these (``agents/gp/posteriors/period_search.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from agents.auto.history import History
from agents.gp import Actions, Array, Kernel
from agents.gp.evidence import HOPELESS
from agents.gp.posteriors.period_search import usual_range

STEP = 0.3
"""Of the grid of frequencies, in cycles over the time looked at."""
MAX_PERIODS_TRIED = 128
"""Entries of the grid."""
CYCLES = 2.0
"""A season is looked for once this many of it have been seen."""
NOISES = (1.0, 4.0, 16.0)
"""Levels of noise that are tried, over the template's."""


class Guess(NamedTuple):
    """A period, and the variance of the noise that goes with it."""

    period: float
    noise_variance: float


def guess_period(
    make: Callable[[float], Kernel],
    actions: Actions,
    history: History,
    y: Array,
    noise_variance: float,
) -> Guess | None:
    """The period with most evidence; None if too little was seen.

    Args:
        make: The kernel for a period.
        actions: Where the actions come from.
        history: Observations.
        y: Their rewards on the scale of the kernel.
        noise_variance: Of the template.
    """
    span = float(np.ptp(history.t))
    low, high = usual_range(None)
    high = min(high, span / CYCLES)
    if high <= low:
        return None
    count = int(np.ceil((1.0 / low - 1.0 / high) * span / STEP))
    periods = 1.0 / np.linspace(1.0 / high, 1.0 / low, min(count, MAX_PERIODS_TRIED) + 1)
    noises, points = noise_variance * np.array(NOISES), actions.points(history.action)
    grams = [make(period).gram(points, history.t, points, history.t) for period in periods.tolist()]
    found = np.array([[_log_density(K, y, noise) for noise in noises] for K in grams])
    best, level = np.unravel_index(found.argmax(), found.shape)
    return Guess(float(periods[best]), float(noises[level]))


def _log_density(K: Array, y: Array, noise_variance: float) -> float:
    """Of N(0, K + noise) at y, up to a constant."""
    L, wrong = lapack.dpotrf(K + noise_variance * np.eye(len(y)), lower=1)
    if wrong:
        return -HOPELESS
    alpha = lapack.dpotrs(L, y, lower=1)[0]
    return -0.5 * float(y @ alpha) - float(np.log(np.diagonal(L)).sum())
