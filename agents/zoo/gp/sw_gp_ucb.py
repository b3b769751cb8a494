"""SW-GP-UCB, on a sliding window."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agents.arrays import Rng
from agents.base import Problem
from agents.checks import whole
from agents.gp import Constant, Incremental
from agents.zoo.gp.gp_agent import GPAgent
from agents.zoo.gp.prior import memory_of


class SWGPUCB(GPAgent):
    """SW-GP-UCB: GP-UCB on the rewards of the last W steps.

    Pseudo-code::

        for t = 1, 2, ...:
            forget the observations made before t - W
            a_t <- argmax_a mu(a) + sqrt(beta_t) sigma(a)
            observe y_t

    Reference: [@zhou2021no].

    Recommended parameters: the theory requires W to be of the order gamma_T^(1/4) sqrt(T / P_T),
    where P_T is the total variation of the function over T steps and gamma_T is the information
    gain. This rule is quoted from memory, because the text of the paper was not available; the
    windows of its experiments are not known to us. The default is W = ceil(sqrt(T / P_T)). It omits
    the factor gamma_T^(1/4) and assumes P_T = 1. At T = 200, the default is 15.

    Deviations from the paper: the exploration schedule is that of [@cai2021periodic] instead of the
    paper's schedule, which needs a bound on the norm of the function. The window contains the
    decisions of the last W steps: a reward that arrives after its decision has left the window is
    ignored. If the horizon is unknown, the default window assumes T = 1000.

    Args:
        window: Window W in steps, or "formula" for the default rule.
        variation: Total variation P_T in the rule, on the scale of the prior.
        common: Arguments of every GP agent, see :class:`GPAgent`. The engine must be "incremental",
            which can drop observations.
    """

    name = "sw-gp-ucb"
    engines = ("incremental",)
    posterior: Incremental

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        window: int | str = "formula",
        variation: float = 1.0,
        **common: Any,
    ) -> None:
        if window == "formula":
            window = math.ceil(memory_of(problem, variation))
        self.window = whole("window", window, " or 'formula'")
        self._now = -math.inf  # the latest time so far
        options = {"engine": "incremental", **common}
        super().__init__(problem, rng, time_kernel=Constant(), **options)

    def advance(self, t: float) -> None:
        """Forget the observations that have left the window."""
        self._now = max(self._now, t)
        inside = self.posterior.times >= self._now - self.window
        if not inside.all():
            self.posterior.keep(np.flatnonzero(inside))

    def learn(self, action: Any, t: float, y: float) -> None:
        """Learn from a reward if its decision lies within the window."""
        if t >= self._now - self.window:
            super().learn(action, t, y)
