"""D-LinUCB, linear UCB with discounted rewards."""

from __future__ import annotations

import math
from typing import Any

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import positive, share_or_one
from agents.zoo.linear.linear_agent import LinearAgent


class DLinUCB(LinearAgent):
    """D-LinUCB: linear UCB on discounted least squares.

    Pseudo-code::

        V <- gamma V + x x' + (1 - gamma) lam I,   b <- gamma b + y x
        W <- gamma^2 W + x x' + (1 - gamma^2) lam I,   theta <- V^-1 b
        beta <- sigma sqrt(2 log(1/delta) + d log(1 + (1 - gamma^2t) / (lam d (1 - gamma^2))))
        a_t <- argmax_a x_a' theta + (beta + sqrt(lam) S) sqrt(x_a' V^-1 W V^-1 x_a)

    Reference: [@russac2019weighted], Algorithm 1. The paper recommends
    gamma = 1 - (B / (d T))^(2/3) with the total variation B of theta. In their experiments, the
    authors use lam = 0.1, S = 1 and delta = 0.01 (according to their notebook). The agent does not
    know B. The default is B = 1, which also gives the window that [@cheung2019learning] recommends
    for unknown B.

    Deviations from the paper: worlds have coordinates instead of features, so the features of an
    arm are a constant and the coordinates of the arm, which are centred and scaled into the unit
    ball. Arms without coordinates have unit vectors as features. A box is discretised into
    ``box_arms`` points. The weight of a reward depends on the time of its decision: a late reward
    has the same weight as a reward without delay. The authors' code updates W from V; here, W is
    updated as printed in the paper.

    Args:
        discount: Discount gamma; by default 1 - (B / (d T))^(2/3).
        variation: Total variation B in the formula.
        delta: Probability with which a confidence bound may fail.
        common: Arguments of every linear agent, see :class:`LinearAgent`.
    """

    name = "d-linucb"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        discount: float | None = None,
        variation: float = 1.0,
        delta: float = 0.01,
        **common: Any,
    ) -> None:
        self._given = None if discount is None else share_or_one("discount", discount)
        self._variation = positive("variation", variation)
        super().__init__(problem, rng, delta=delta, **common)

    def start(self) -> None:
        """Create the regression, and reset the time of the newest reward."""
        super().start()
        slow = 1.0 - min(self._variation / (self.dim * self.horizon), 0.99) ** (2 / 3)
        self.discount = slow if self._given is None else self._given
        self._ridge, self._latest = self.new_ridge(), -math.inf

    def choose(self, t: float, observation: Array) -> int:
        """Return the arm with the greatest bound."""
        return self.best_of(self.bounds(self._ridge))

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Discount older rewards, then add the reward."""
        if t > self._latest > -math.inf:
            self._ridge.discount(self.discount ** (t - self._latest))
        self._latest = max(t, self._latest)
        self._ridge.add(self.x[arm], reward, self.discount ** (self._latest - t))
