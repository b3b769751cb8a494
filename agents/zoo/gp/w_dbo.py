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
"""Least number of stored observations, as in the authors' code."""
LINE_POINTS, BOX_POINTS = 64, 256
"""Number of points for relevance, in one dimension and in more."""


class WDBO(GPAgent):
    """W-DBO: drops the observations that matter least for the future, within a budget.

    Pseudo-code::

        b <- 1
        for t = 1, 2, ...:
            b <- b (1 + alpha)^(dt / l_T)
            while 1 + R_i < b for the least relevant observation i:  drop it;  b <- b / (1 + R_i)
            a_t <- argmax_a mu(a, t) + sqrt(beta_t) sigma(a, t)
            observe y_t

    R_i is the Wasserstein distance between the beliefs about the future with and without
    observation i, relative to that between the belief and the prior.

    Reference: [@bardou2024too], and the authors' package wdbo-algo 1.0.7 for the order of steps.

    Recommended parameters: alpha = 1/4 (Section 5.1, and the package), 15 observations before the
    first is dropped (package). Kernels: the paper's smooth ones are "se" here.

    Deviations from the paper:
        1. Relevance is a sum over the available actions and future times, for any kernel of this
        package; the paper's is a closed-form integral over all of space.
        2. For a purely periodic kernel, the future and l_T are one period: observations do not age,
        and redundant ones are dropped.
        3. Hyper-parameters are fixed, or fitted to the warm start, not refitted at every step.
        4. The exploration schedule is the one of [@cai2021periodic].

    Args:
        alpha: Growth of the budget per l_T; the larger, the more is dropped.
        first: Observations before the first may be dropped.
        time_kernel: "se", "decay", "periodic", or "quasi-periodic" (periodic times decay).
        time_length_scale: Of "se", in steps (10 if None), or of the periodic kernel (1 if None).
        eps: Forgetting rate of the decay.
        period: Of the periodic kernel; by default the problem's main season.
        common: Arguments of every GP agent, see :class:`GPAgent`; the engine
            is "incremental".
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
        """Increase the budget, and drop the observations that it allows to."""
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
