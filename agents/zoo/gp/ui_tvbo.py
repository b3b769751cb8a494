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
"""exp(-|u - v| / 2): what a Wiener process is in logarithmic time, divided by its deviation."""


class UITVBO(GPAgent):
    """UI-TVBO: a Gaussian process that wanders, so that old rewards lose certainty, not value.

    Pseudo-code::

        k{(a, t), (b, s)} = k_A(a, b) {1 + q min(t, s)}
        for t = 1, 2, ...:
            a_t <- argmax_a mu(a, t) + sqrt(beta_t) sigma(a, t)
            observe y_t

    The kernel is that of f(., t) = f(., 0) + a Wiener process of variance q per step. With
    u = log(1 + q t) it is exp(u/2) exp(v/2) exp(-|u - v|/2): f is exp(u/2) times a process that
    decays at a constant rate in u. So the belief is the one of TV-GP-UCB in the time u, where y_t
    is seen divided by exp(u/2), with noise that is smaller by as much. Exact, in every engine.

    Reference: [@brunzema2022controller]; the kernel, its start at variance 1 and q = 0.03 are also
    in the authors' code (repository brunzema/uitvbo).

    Deviations from the paper: its second part, constraints that keep the function convex, is left
    out, since rewards here need not be; and so is the local approximation of old data. The
    exploration schedule is the one of [@cai2021periodic]. The clock starts with the warm start, or
    at 0. ``fit_warm_start`` fits the forgetting of TV-GP-UCB, whose steps have variance eps = q.

    ``belief(t)`` of a past t is not smoothed, see :meth:`GPAgent.belief`.

    Args:
        forgetting: q in (0, 1), variance of the change in one step as a share of the prior's.
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
        """Start without observations, with the rate of the kernel."""
        (term,) = self.kernel.terms
        (self._rate,) = (clock.eps for clock in term.clocks if isinstance(clock, Decay))
        super().start()

    def new_posterior(self, kernel: Kernel | None = None) -> Posterior:
        """Return a posterior of the steady process, in logarithmic time."""
        (term,) = (kernel or self.kernel).terms
        return super().new_posterior(Sum((replace(term, clocks=(STEADY,)),)))

    def choose(self, t: float, beta: float) -> Any:
        """Return the same action in both times, since the factor exp(u/2) is common to all."""
        return super().choose(self._logarithmic(t), beta)

    def learn(self, action: Any, t: float, y: float) -> None:
        """Take in a reward, in the unit of the steady process."""
        u = self._logarithmic(t)
        self.posterior.observe(action, u, y * math.exp(-u / 2), math.exp(u))

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Return the mean and variance of the process that wanders."""
        u = self._logarithmic(t)
        mean, variance = super().predict(u, actions)
        return Prediction(math.exp(u / 2) * mean, math.exp(u) * variance)

    def _logarithmic(self, t: float) -> float:
        """Return u; what lies before the start counts as of the start."""
        return math.log1p(self._rate * max(t - self._origin, 0.0))
