"""UI-TVBO, with growing uncertainty and a constant mean."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from agents.arrays import Rng
from agents.base import Problem
from agents.checks import share
from agents.gp import Decay, Incremental, Kernel, Posterior, Prediction, StateSpace, Sum
from agents.zoo.gp.gp_agent import GPAgent

STEADY = Decay(1.0 - math.exp(-1.0))
"""Kernel exp(-|u - v| / 2) of the stationary process, as a function of u = log(1 + q t)."""


class UITVBO(GPAgent):
    """UI-TVBO: GP-UCB for a function that changes in time as a Wiener process.

    Pseudo-code::

        k{(a, t), (b, s)} = k_A(a, b) {1 + q min(t, s)}
        for t = 1, 2, ...:
            a_t <- argmax_a mu(a, t) + sqrt(beta_t) sigma(a, t)
            observe y_t

    The kernel is that of f(., t) = f(., 0) + a Wiener process of variance q per step. The
    uncertainty about an old reward therefore grows with its age, while the mean stays the same.
    With u = log(1 + q t) the kernel is exp(u/2) exp(v/2) exp(-|u - v|/2): f is exp(u/2) times a
    process whose correlation decays at a constant rate in u. The posterior is therefore that of
    TV-GP-UCB in the time u, with y_t and the standard deviation of its noise divided by exp(u/2).
    This transformation is exact and can be used with every engine.

    Reference: [@brunzema2022controller]. The kernel, its variance of 1 at t = 0 and q = 0.03 are
    also in the authors' code (repository brunzema/uitvbo).

    Deviations from the paper: the second part of the method, constraints that keep the function
    convex, is left out, because mean rewards need not be convex here. The local approximation of
    old data is also left out. The exploration schedule is that of [@cai2021periodic]. Time is
    measured from the first decision of the warm start, or from 0 without a warm start.
    ``fit_warm_start`` fits the forgetting rate eps of TV-GP-UCB and uses it as q, because the
    change in one step of TV-GP-UCB has variance eps.

    For a past t, the state-space engine does not compute the exact posterior; see
    :meth:`GPAgent.belief`.

    Args:
        forgetting: Rate q in (0, 1): the variance of the change in one step, as a share of the
            prior variance.
        common: Arguments of every GP agent, see :class:`GPAgent`.
    """

    name = "ui-tvbo"
    posterior: Incremental | StateSpace

    def __init__(
        self, problem: Problem, rng: Rng, *, forgetting: float = 0.03, **common: Any
    ) -> None:
        past = problem.warm_start
        self._origin = float(past.t.min()) if past is not None and len(past.t) else 0.0
        clock = Decay(share("forgetting", forgetting))
        super().__init__(problem, rng, time_kernel=clock, **common)

    def start(self) -> None:
        """Create a posterior without observations, and read q from the kernel."""
        (term,) = self.kernel.terms
        (self._rate,) = (clock.eps for clock in term.clocks if isinstance(clock, Decay))
        super().start()

    def new_posterior(self, kernel: Kernel | None = None) -> Posterior:
        """Return a posterior of the stationary process as a function of u = log(1 + q t)."""
        (term,) = (kernel or self.kernel).terms
        return super().new_posterior(Sum((replace(term, clocks=(STEADY,)),)))

    def choose(self, t: float, beta: float) -> Any:
        """Return the action for time t; the factor exp(u/2), common to all actions, is left out."""
        return super().choose(self._logarithmic(t), beta)

    def learn(self, action: Any, t: float, y: float) -> None:
        """Learn from a reward, converted to the unit of the stationary process."""
        u = self._logarithmic(t)
        self.posterior.observe(action, u, y * math.exp(-u / 2), math.exp(u))

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Return mean and variance of f(., t), which is exp(u/2) times the stationary process."""
        u = self._logarithmic(t)
        mean, variance = super().predict(u, actions)
        return Prediction(math.exp(u / 2) * mean, math.exp(u) * variance)

    def _logarithmic(self, t: float) -> float:
        """Return u = log(1 + q t), with t measured from ``_origin``; 0 for times before it."""
        return math.log1p(self._rate * max(t - self._origin, 0.0))
