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
    """SW-GP-UCB: GP-UCB on the rewards of the last W steps alone.

    Pseudo-code::

        for t = 1, 2, ...:
            forget the observations made before t - W
            a_t <- argmax_a mu(a) + sqrt(beta_t) sigma(a)
            observe y_t

    Reference: [@zhou2021no].

    Recommended parameters: the theory wants W of the order gamma_T^(1/4) sqrt(T / P_T), with P_T
    the total change of the function over T steps and gamma_T the information gain. The rule is
    quoted from memory; no source for it could be opened, and none of the paper's experiments'
    windows. The default is W = ceil(sqrt(T / P_T)), gamma_T left out and P_T = 1: 15 at T = 200.

    Deviations from the paper: the exploration schedule is the one of [@cai2021periodic], in place
    of one that needs a bound on the norm of the function. Times are those of the decisions: a
    reward that comes when its decision has left the window is ignored. Where the horizon is not
    known, T = 1000 in the rule.

    Args:
        window: W in steps, or "formula".
        variation: P_T in the formula, on the scale of the prior.
        common: Arguments of every GP agent, see :class:`GPAgent`; the engine
            is "incremental", which can drop observations.
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
        """Forget what has left the window."""
        self._now = max(self._now, t)
        inside = self.posterior.times >= self._now - self.window
        if not inside.all():
            self.posterior.keep(np.flatnonzero(inside))

    def learn(self, action: Any, t: float, y: float) -> None:
        """Take in a reward, if its decision lies within the window."""
        if t >= self._now - self.window:
            super().learn(action, t, y)
