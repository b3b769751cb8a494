"""UCB that forgets by and by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.base import Problem
from agents.zoo.arm_agent import UNKNOWN_HORIZON, ArmAgent
from agents.zoo.settings import between, positive

Array = NDArray[np.float64]
FORGOTTEN = 1e-200
"""A count below which an arm is as good as untried."""


class DUCB(ArmAgent):
    """Discounted UCB: UCB in which a reward of k steps ago counts gamma^k.

    Pseudo-code::

        try every arm once
        N[a], mean[a] <- discounted by gamma per step;  N <- sum_a N[a]
        a_t <- argmax_a mean[a] + 2 B sqrt(xi log N / N[a])

    Reference: [@garivier2011upper]: gamma = 1 - sqrt(U / T) / 4 for U changes, here U = 1, and
    xi > 1/2. The default xi = 0.6 is common in later comparisons; the value of the paper's own
    simulations could not be confirmed.

    Deviations from the paper: B = 2 sigma (:mod:`agents.zoo.reward_scale`). Steps are counted by
    the clock, so that a late reward counts as much as if it had come in time.

    Args:
        problem: What is known.
        rng: Breaks ties.
        gamma: Discount per step.
        xi: Exploration.
        common: Those of :class:`ArmAgent`.
    """

    name, kept = "d-ucb", ("_count", "_total", "_now")

    def __init__(
        self,
        problem: Problem,
        rng: np.random.Generator,
        *,
        gamma: float | None = None,
        xi: float = 0.6,
        **common: Any,
    ) -> None:
        horizon = problem.horizon or UNKNOWN_HORIZON
        usual = 1.0 - 0.25 / math.sqrt(horizon)
        self._gamma = usual if gamma is None else between("gamma", gamma, 0.0, 1.0)
        self._xi = positive("xi", xi)
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Discounted counts and sums, as of time ``_now``."""
        self._count, self._total = [0.0] * self.n_arms, [0.0] * self.n_arms
        self._now: float | None = None

    def choose(self, t: float, observation: Array) -> int:
        """An untried arm, or the greatest bound."""
        self._forget(t - 1.0)
        n = sum(self._count)
        width = 2.0 * self.scale.width * math.sqrt(self._xi * math.log(max(n, 1.0)))
        return self.highest_bound(self._count, self._total, width)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Add the reward, discounted if it comes late."""
        self._forget(t)
        assert self._now is not None
        weight = self._gamma ** (self._now - t)
        self._count[arm] += weight
        self._total[arm] += weight * reward

    def _forget(self, t: float) -> None:
        """Discount to time t, unless that is past."""
        if self._now is None or t > self._now:
            steps = 0.0 if self._now is None else t - self._now
            self._now, factor = t, self._gamma**steps
            self._total = [factor * total for total in self._total]
            self._count = [factor * count for count in self._count]
            if min(self._count) < FORGOTTEN:
                self._drop()

    def _drop(self) -> None:
        for arm, count in enumerate(self._count):
            if count < FORGOTTEN:
                self._count[arm] = self._total[arm] = 0.0
