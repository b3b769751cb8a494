"""Forgetting what is older than a window."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agents.arrays import Rng
from agents.base import Problem
from agents.checks import whole
from agents.gp import Constant, Selective
from agents.zoo.gp.gp_agent import GPAgent
from agents.zoo.gp.parts.model import Model, posterior_of
from agents.zoo.gp.prior import memory_of


class Window(Model):
    """Forgets what is older than ``length`` steps; ``now`` is the latest time so far."""

    posterior: Selective
    kept = ("now",)

    def __init__(self, length: int) -> None:
        super().__init__(Constant(), build=posterior_of(Selective, "incremental or dense"))
        self.length, self.now = length, -math.inf

    def advance(self, t: float) -> None:
        """Forget what has left the window."""
        self.now = max(self.now, t)
        inside = self.posterior.times >= self.now - self.length
        if not inside.all():
            self.posterior.keep(np.flatnonzero(inside))

    def observe(self, action: Any, t: float, y: float) -> None:
        """Take in a reward, if its decision lies within the window."""
        if t >= self.now - self.length:
            super().observe(action, t, y)


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
            is "incremental" or "dense", which can drop observations.
    """

    name = "sw-gp-ucb"

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
        model = Window(whole("window", window, " or 'formula'"))
        super().__init__(problem, rng, model=model, **{"engine": "incremental", **common})
