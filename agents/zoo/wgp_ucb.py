"""Forgetting by weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agents.base import Problem, number
from agents.gp import Constant, Posterior, RankError, Weighing, make_posterior
from agents.gp.incremental import SPENT
from agents.zoo.gaussian import GPAgent
from agents.zoo.prior import memory_of


class WGPUCB(GPAgent):
    """WGP-UCB: weighted regression, in which the noise of a reward grows with its age.

    Pseudo-code::

        for t = 1, 2, ...:
            y_s has noise variance sigma^2 gamma^(s - t + 1), for all s < t
            mu, sigma <- posterior of f given y_1 ... y_(t-1)
            a_t <- argmax_a mu(a) + sqrt(beta_t) sigma(a)
            observe y_t

    Reference: [@deng2022weighted]: weights gamma^(-s) that grow with s, and a regulariser that
    grows with them, are the same as noise that grows with age.

    Recommended parameters: the theory wants 1 / (1 - gamma) of the order
    gamma_T^(1/4) sqrt(T / B_T), with B_T the total change of the function and gamma_T the
    information gain. The rule is quoted from memory; no source for it could be opened, and the
    discounts of the paper's experiments are not known to us. The default is
    gamma = 1 - sqrt(B_T / T), gamma_T left out and B_T = 1: 0.93 at T = 200.

    Deviations from the paper: the variance is that of the weighted posterior, and the exploration
    schedule the one of [@cai2021periodic]; the paper's bound needs a norm of the function, and
    whether its width uses squared weights, as in the linear case, could not be confirmed. Age is
    counted from the newest reward, so late ones are weighed as if they had come in time. Where the
    horizon is not known, T = 1000 in the rule.

    Args:
        problem: What is known.
        rng: Breaks ties.
        gamma: Discount per unit of time, in (0, 1], or "formula".
        variation: B_T in the formula, on the scale of the prior.
        common: Arguments of every GP agent, see :class:`agents.zoo.gaussian.GPAgent`.
    """

    name = "wgp-ucb"
    posterior: Weighing

    def __init__(
        self,
        problem: Problem,
        rng: np.random.Generator,
        *,
        gamma: float | str = "formula",
        variation: float = 1.0,
        **common: Any,
    ) -> None:
        if gamma == "formula":
            gamma = max(0.0, 1.0 - 1.0 / memory_of(problem, variation)) or 0.5
        if not 0 < number("gamma", gamma) <= 1:
            raise ValueError(f"gamma must lie in (0, 1], got {gamma!r}")
        self._gamma, self._newest = float(gamma), -math.inf
        super().__init__(problem, rng, clock=Constant(), **common)

    def prior(self, noise_variance: float) -> Posterior:
        """Nothing seen; a state where there is one, since it discounts at a cost that stays."""
        self._newest = -math.inf
        if self._engine == "auto":
            try:
                return make_posterior(
                    self._kernel, self._actions, noise_variance, engine="state-space"
                )
            except RankError:
                pass
        return super().prior(noise_variance)

    def observe(self, action: Any, t: float, y: float) -> None:
        """Let all others grow older, then take in a reward; or a late one, aged already."""
        if t > self._newest > -math.inf:
            self.posterior.discount(max(self._gamma ** (t - self._newest), SPENT))
        self._newest = max(t, self._newest)
        weight = self._gamma ** (self._newest - t)
        if weight > SPENT:
            self.posterior.observe(action, t, y, weight)

    def state(self) -> dict[str, Any]:
        """Also the time of the newest reward."""
        known = math.isfinite(self._newest)
        return {**super().state(), "newest": self._newest if known else None}

    def restore(self, state: dict[str, Any]) -> None:
        """Put ``state()`` back."""
        super().restore(state)
        self._newest = -math.inf if state["newest"] is None else float(state["newest"])
