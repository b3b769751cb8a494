"""Posterior sampling in place of optimism."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import qmc

from agents.zoo.gp.periodic_gp_ucb import PeriodicGPUCB

LINE_CANDIDATES, BOX_CANDIDATES = 256, 512


class GPThompson(PeriodicGPUCB):
    """Thompson sampling on the periodic Gaussian process: best action of one posterior draw.

    Pseudo-code::

        for t = 1, 2, ...:
            f ~ posterior of f(., t)
            a_t <- argmax_a f(a)
            observe y_t

    Reference: [@cai2021periodic] for the kernel, [@russo2018tutorial] for the rule.

    Deviations from the paper: none of its methods samples. In a box the draw is maximised over a
    fixed set of points (256 on a line, 512 beyond).

    Args: those of :class:`PeriodicGPUCB`; ``beta`` is not used.
    """

    name = "gp-thompson"
    family = "GP, periodic"

    def choose(self, t: float, beta: float) -> Any:
        """The maximiser of one draw."""
        points = self._points()
        draw = self._view.sample(t, self._rng, points)
        best = int(draw.argmax())
        return best if points is None else points[best]

    def _points(self) -> Any:
        """All arms, or evenly spread points of the box."""
        if self._problem.n_actions is not None:
            return None
        dim = self._problem.dim
        if dim == 1:
            spread = np.linspace(-1.0, 1.0, LINE_CANDIDATES)[:, None]
        else:
            spread = 2.0 * qmc.Sobol(dim, scramble=False).random(BOX_CANDIDATES) - 1.0
        return spread * self._problem.action_half_width
