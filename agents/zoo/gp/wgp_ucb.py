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
    """WGP-UCB: weighted regression, in which the noise of a reward grows with its age.

    Pseudo-code::

        for t = 1, 2, ...:
            y_s has noise variance sigma^2 gamma^(s - (t - 1)), for all s < t
            mu, sigma <- posterior of f given y_1 ... y_(t-1)
            a_t <- argmax_a mu(a) + sqrt(beta_t) sigma(a)
            observe y_t

    Reference: [@deng2022weighted]: weights gamma^(-s) that grow with s, and a regulariser that
    grows with them, are the same as noise that grows with age; the newest reward has plain noise.

    Recommended parameters: the theory wants 1 / (1 - gamma) of the order
    gamma_T^(1/4) sqrt(T / B_T), with B_T the total change of the function and gamma_T the
    information gain. The rule is quoted from memory; no source for it could be opened, and the
    discounts of the paper's experiments are not known to us. The default is
    gamma = 1 - sqrt(B_T / T), at least 1/2, gamma_T left out and B_T = 1: 0.93 at T = 200.

    Deviations from the paper: the width is the deviation of the weighted posterior, as in a public
    implementation of weighted GP-UCB that we compared with; whether the paper's uses squared
    weights, as in the linear case, could not be confirmed. The exploration schedule is the one of
    [@cai2021periodic], in place of one that needs a bound on the norm of the function. Late rewards
    are weighed by their age. Where the horizon is not known, T = 1000 in the rule.

    Args:
        gamma: Discount per unit of time, in (0, 1], or "formula".
        variation: B_T in the formula, on the scale of the prior.
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
        """Start without observations, at no time yet."""
        self._now = -math.inf  # the time at which a reward is new
        super().start()

    def new_posterior(self, kernel: Kernel | None = None) -> Posterior:
        """Return a state where there is one, since it discounts at a cost that does not grow."""
        if self._engine == "auto":
            with suppress(RankError):
                parts = (kernel or self.kernel, self.coordinates.actions, self.noise_variance)
                return make_posterior(*parts, engine="state-space")
        return super().new_posterior(kernel)

    def advance(self, t: float) -> None:
        """Age all rewards, for a choice at time t: that of the step before is new."""
        self._grow_older(t - 1.0)

    def learn(self, action: Any, t: float, y: float) -> None:
        """Take in a reward, aged already if it is late."""
        self._grow_older(t)
        weight = self.gamma ** (self._now - t)
        if weight > SPENT:
            self.posterior.observe(action, t, y, weight)

    def _grow_older(self, t: float) -> None:
        if t > self._now > -math.inf and self.posterior.count:
            self.posterior.discount(max(self.gamma ** (t - self._now), SPENT))
        self._now = max(t, self._now)
