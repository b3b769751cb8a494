"""W-DBO, which drops irrelevant observations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agents.arrays import Rng
from agents.base import Problem
from agents.checks import not_negative, number, one_of, positive, seasonal_length_scale
from agents.gp import (
    Array,
    Box,
    Decay,
    Incremental,
    Kernel,
    Periodic,
    TimeSquaredExponential,
)
from agents.gp.actions import grid, sobol
from agents.gp.relevance import coming_times, time_scale
from agents.zoo.gp.gp_agent import GPAgent
from agents.zoo.gp.prior import actions_of, main_period

CLOCKS = ("se", "decay", "periodic", "quasi-periodic")
MIN_KEPT = 2
"""Minimum number of stored observations, as in the authors' code."""
LINE_POINTS, BOX_POINTS = 64, 256
"""Number of points that represent a box when relevance is computed, for d = 1 and for d > 1."""


class WDBO(GPAgent):
    """W-DBO: GP-UCB that drops, within a budget, the observations least relevant for the future.

    Pseudo-code::

        b <- 1
        for t = 1, 2, ...:
            b <- b (1 + alpha)^(dt / l_T)
            while 1 + R_i < b for the least relevant observation i:  drop it;  b <- b / (1 + R_i)
            a_t <- argmax_a mu(a, t) + sqrt(beta_t) sigma(a, t)
            observe y_t

    R_i is the relevance of observation i: the Wasserstein distance between the beliefs about the
    future with and without this observation, divided by the distance between the belief and the
    prior. The time l_T is the memory of the kernel in steps, and dt is the number of steps since
    the last decision.

    Reference: [@bardou2024too]. The order of the steps is that of the authors' package
    wdbo-algo 1.0.7.

    Recommended parameters: alpha = 1/4 (in Section 5.1 and in the package), and 15 observations
    before any is dropped (in the package). The smooth kernels of the paper correspond to
    ``time_kernel="se"``.

    Deviations from the paper:
        1. Relevance is a sum over the available actions and future times. This sum can be computed
           for any kernel of this package. The paper uses a closed-form integral over the whole
           space.
        2. For a purely periodic kernel, the future and l_T are one period. Observations then do not
           age, and only redundant observations are dropped.
        3. Hyper-parameters are fixed, or fitted once to the warm start. They are not fitted again
           at every step.
        4. The exploration schedule is that of [@cai2021periodic].

    Args:
        alpha: Relative growth of the budget in l_T steps; with a larger alpha, more observations
            are dropped.
        first: Minimum number of observations before any is dropped.
        time_kernel: "se", "decay", "periodic", or "quasi-periodic" (the product of the periodic
            kernel and the decay).
        time_length_scale: Length-scale of "se", in steps (10 if None), or of the periodic kernel (1
            if None).
        eps: Forgetting rate of the decay.
        period: Period of the periodic kernel in steps; by default that of the problem's main
            season.
        common: Arguments of every GP agent, see :class:`GPAgent`. The engine must be "incremental".
    """

    name = "w-dbo"
    takes_contexts = False
    engines = ("incremental",)
    posterior: Incremental

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        alpha: float = 0.25,
        first: int = 15,
        time_kernel: str = "se",
        time_length_scale: float | None = None,
        eps: float = 0.03,
        period: float | None = None,
        **common: Any,
    ) -> None:
        scale = (
            None if time_length_scale is None else positive("time_length_scale", time_length_scale)
        )
        clock = _clock(problem, time_kernel, scale, number("eps", eps), period)
        self._alpha, self._first = not_negative("alpha", alpha), number("first", first)
        self._now, self._budget = -math.inf, 1.0
        actions = actions_of(problem)
        self._points = _points(actions) if isinstance(actions, Box) else None
        options = {"engine": "incremental", **common}
        super().__init__(problem, rng, time_kernel=clock, **options)

    def advance(self, t: float) -> None:
        """Increase the budget, then drop the least relevant observations that the budget allows."""
        if t > self._now > -math.inf:
            growth = (t - self._now) / time_scale(self.posterior.kernel)
            self._budget *= (1.0 + self._alpha) ** min(growth, 100.0)
        self._now = max(t, self._now)
        if len(self.posterior.times) >= self._first:
            self._drop()

    def _drop(self) -> None:
        coming = coming_times(self.posterior.kernel, self._now)
        relevance = self.posterior.relevance(coming, self._points)
        left = list(range(len(self.posterior.times)))
        while len(left) > MIN_KEPT:
            values = 1.0 + relevance()
            least = int(values.argmin())
            if values[least] >= self._budget:
                break
            self._budget /= float(values[least])
            relevance = relevance.without(least)
            del left[least]
        if len(left) < len(self.posterior.times):
            self.posterior.keep(np.array(left))


def _clock(
    problem: Problem, kind: str, length_scale: float | None, eps: float, period: float | None
) -> Kernel:
    if one_of("time_kernel", kind, CLOCKS) == "se":
        return TimeSquaredExponential(10.0 if length_scale is None else length_scale)
    if kind == "decay":
        return Decay(eps)
    within = seasonal_length_scale(1.0 if length_scale is None else length_scale)
    season = Periodic(main_period(problem, period), within)
    return season if kind == "periodic" else season * Decay(eps)


def _points(box: Box) -> Array:
    return grid(box, LINE_POINTS) if box.dimension == 1 else sobol(box, BOX_POINTS)
