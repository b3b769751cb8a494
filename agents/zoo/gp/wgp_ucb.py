"""WGP-UCB, with discounted observations."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

from agents.arrays import Rng
from agents.base import Problem
from agents.checks import share_or_one
from agents.gp import (
    Constant,
    Incremental,
    Kernel,
    Posterior,
    RankError,
    StateSpace,
    make_posterior,
)
from agents.gp.posteriors.incremental import SPENT
from agents.zoo.gp.gp_agent import GPAgent
from agents.zoo.gp.prior import memory_of


class WGPUCB(GPAgent):
    """WGP-UCB: GP-UCB in which the noise variance of a reward grows with the age of the reward.

    Pseudo-code::

        for t = 1, 2, ...:
            y_s has noise variance sigma^2 gamma^(s - (t - 1)), for all s < t
            mu, sigma <- posterior of f given y_1 ... y_(t-1)
            a_t <- argmax_a mu(a) + sqrt(beta_t) sigma(a)
            observe y_t

    Reference: [@deng2022weighted]. The paper uses weights gamma^(-s), which grow with s, and a
    regulariser that grows with the weights. This is equivalent to noise that grows with the age of
    a reward. The newest reward has the noise variance sigma^2.

    Recommended parameters: the theory requires 1 / (1 - gamma) to be of the order gamma_T^(1/4)
    sqrt(T / B_T), where B_T is the total variation of the function and gamma_T is the information
    gain. This rule is quoted from memory, because the text of the paper was not available; the
    discounts of its experiments are not known to us. The default is gamma = 1 - sqrt(B_T / T), with
    a lower limit of 1/2. It omits the factor gamma_T^(1/4) and assumes B_T = 1. At T = 200, the
    default is 0.93.

    Deviations from the paper: the confidence width is the standard deviation of the weighted
    posterior, as in a public implementation of weighted GP-UCB with which we compared this agent.
    We could not confirm whether the paper uses squared weights in the width, as in the linear case.
    The exploration schedule is that of [@cai2021periodic] instead of the paper's schedule, which
    needs a bound on the norm of the function. Late rewards are weighted by their age. If the
    horizon is unknown, the default discount assumes T = 1000.

    Args:
        gamma: Discount gamma per unit of time, in (0, 1], or "formula" for the default rule.
        variation: Total variation B_T in the rule, on the scale of the prior.
        common: Arguments of every GP agent, see :class:`GPAgent`.
    """

    name = "wgp-ucb"
    posterior: Incremental | StateSpace

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        gamma: float | str = "formula",
        variation: float = 1.0,
        **common: Any,
    ) -> None:
        if gamma == "formula":
            gamma = max(0.5, 1.0 - 1.0 / memory_of(problem, variation))
        self.gamma = share_or_one("gamma", gamma)
        super().__init__(problem, rng, time_kernel=Constant(), **common)

    def start(self) -> None:
        """Create a posterior without observations.

        The time at which a reward has weight 1 is also reset.
        """
        self._now = -math.inf  # time at which a reward has weight 1
        super().start()

    def new_posterior(self, kernel: Kernel | None = None) -> Posterior:
        """Return a state-space posterior if possible, because it discounts at constant cost."""
        if self._engine == "auto":
            with suppress(RankError):
                parts = (kernel or self.kernel, self.coordinates.actions, self.noise_variance)
                return make_posterior(*parts, engine="state-space")
        return super().new_posterior(kernel)

    def advance(self, t: float) -> None:
        """Discount all rewards before a choice at time t: a reward of time t - 1 has weight 1."""
        self._grow_older(t - 1.0)

    def learn(self, action: Any, t: float, y: float) -> None:
        """Learn from a reward; the weight of a late reward is discounted by its age."""
        self._grow_older(t)
        weight = self.gamma ** (self._now - t)
        if weight > SPENT:
            self.posterior.observe(action, t, y, weight)

    def _grow_older(self, t: float) -> None:
        if t > self._now > -math.inf and self.posterior.count:
            self.posterior.discount(max(self.gamma ** (t - self._now), SPENT))
        self._now = max(t, self._now)
