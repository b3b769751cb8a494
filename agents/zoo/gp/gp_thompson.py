"""Thompson sampling on the periodic Gaussian process."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.arrays import Rng
from agents.gp import Array, Box, Predictive
from agents.zoo.gp.periodic_gp_ucb import PeriodicGPUCB

LINE_CANDIDATES, BOX_CANDIDATES = 256, 512
"""Number of points of a box over which a draw is maximised, for d = 1 and for d > 1."""


class PosteriorDraw:
    """Acquisition rule that maximises one draw from a posterior over the actions."""

    def __init__(self, posterior: Predictive, rng: Rng) -> None:
        self._posterior, self._rng = posterior, rng
        actions = posterior.actions
        self._points = _spread_points(actions) if isinstance(actions, Box) else None

    def choose(self, t: float, beta: float) -> Any:
        """Return the action with the greatest draw: an arm number, or a point of shape (d,)."""
        best = int(self._posterior.sample(t, self._rng, self._points).argmax())
        return best if self._points is None else self._points[best]


def _spread_points(box: Box) -> Array:
    """Return evenly spread points of a box that is symmetric around 0."""
    if box.dimension == 1:
        spread = np.linspace(-1.0, 1.0, LINE_CANDIDATES)[:, None]
    else:
        from scipy.stats import qmc  # slow to import, and not always needed

        spread = 2.0 * qmc.Sobol(box.dimension, scramble=False).random(BOX_CANDIDATES) - 1.0
    return np.asarray(spread * box.high)


class GPThompson(PeriodicGPUCB):
    """Thompson sampling on the periodic Gaussian process: the maximiser of a posterior draw.

    Pseudo-code::

        for t = 1, 2, ...:
            f ~ posterior of f(., t)
            a_t <- argmax_a f(a)
            observe y_t

    Reference: [@cai2021periodic] for the kernel, [@russo2018tutorial] for the rule.

    Deviations from the paper: no method of [@cai2021periodic] draws from the posterior. In a box,
    the draw is maximised over a fixed set of points (256 in one dimension, 512 in more dimensions).

    Args: the arguments of :class:`PeriodicGPUCB`; ``beta`` has no effect.
    """

    name = "gp-thompson"
    acquisition = PosteriorDraw
