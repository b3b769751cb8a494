"""EXP4 with periodic experts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import share_or_one
from agents.zoo.arms.arm_agent import ArmAgent
from agents.zoo.gp.prior import longest_period

MAX_OPEN_DECISIONS = 1_000
"""Number of decisions whose probabilities are stored until their rewards arrive."""
MIN_CHANCE = 1e-6
"""Smallest probability by which a reward is divided.

An arm that another policy chose may have a smaller probability.
"""


class PeriodicEXP4(ArmAgent):
    """Periodic EXP4: EXP4 whose experts are all schedules with a period of at most P.

    Pseudo-code::

        w[f, l, a] <- 0 for each period f <= P, phase l < f and arm a
        Z[f, l] = sum_a exp w[f, l, a]
        p_a ~ sum_f exp(w[f, t mod f, a]) prod over l != t mod f of Z[f, l]
        draw a_t ~ p, observe a reward y in [0, 1]
        w[f, t mod f, a_t] += gamma y / (K p_{a_t}) for each f
        gamma = min{1, sqrt(K log N / T)},  N = sum_f K^f experts

    Reference: [@oh2019periodic], for its example with all periods up to P, and for its efficient
    sum over exponentially many experts. The rate gamma and the update are those of the authors'
    code.

    Deviations from the paper: the authors' code replaces sums of exponentials with their largest
    term; here, the sums are exact. In its original form, EXP4 mixes a share gamma of uniform
    choices into the probabilities. Neither the authors' code nor this agent does so: with
    K log N > T, the usual case here, all choices would be random. Rewards are rescaled to [0, 1].
    If the problem states their scale and noise, the interval that is mapped to [0, 1] extends two
    standard deviations to either side of their mean; otherwise, it is the range of the rewards so
    far. Values outside the interval are clipped. A late reward is divided by the probability at its
    decision if this decision is among the last thousand, otherwise by the present probability.

    Args:
        max_period: Longest period P, at most 336. The default is the problem's main period, rounded
            up, or 24 if it is unknown.
        gamma: Learning rate gamma; by default min{1, sqrt(K log N / T)}.
        common: Arguments of every agent for arms, see :class:`ArmAgent`.
    """

    name = "periodic-exp4"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        max_period: int | None = None,
        gamma: float | None = None,
        **common: Any,
    ) -> None:
        self.longest = longest_period(problem, max_period, most=336)
        self._given = None if gamma is None else share_or_one("gamma", gamma)
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Start with equal weights of all experts."""
        self._periods = np.arange(1, self.longest + 1)
        self._rows = np.arange(self.longest)
        self._weight = np.zeros((self.longest, self.longest, self.n_arms))
        self._log_sum = np.zeros((self.longest, self.longest))  # log Z; 0 in cells without a phase
        for row, period in enumerate(self._periods):
            self._log_sum[row, :period] = math.log(self.n_arms)
        log_experts = float(log_sum_exp(self._log_sum.sum(axis=1), axis=0))
        rate = min(1.0, math.sqrt(self.n_arms * log_experts / self.horizon))
        self.gamma = rate if self._given is None else self._given
        self._asked_at, self._asked = np.zeros(0), np.zeros((0, self.n_arms))

    def choose(self, t: float, observation: Array) -> int:
        """Return an arm drawn from the advice of the experts, and store the probabilities."""
        chance = self.probabilities(t)
        self._asked_at = np.append(self._asked_at, t)[-MAX_OPEN_DECISIONS:]
        self._asked = np.vstack([self._asked, chance])[-MAX_OPEN_DECISIONS:]
        return int(self._rng.choice(self.n_arms, p=chance))

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Reward the experts that would have chosen this arm."""
        open_decisions = np.flatnonzero(self._asked_at == t)
        chance = self._asked[open_decisions[-1]] if len(open_decisions) else self.probabilities(t)
        self._asked_at = np.delete(self._asked_at, open_decisions[-1:])
        self._asked = np.delete(self._asked, open_decisions[-1:], axis=0)
        phase = self._phases(t)
        gain = self.gamma * self.scale.unit(reward) / (self.n_arms * max(chance[arm], MIN_CHANCE))
        self._weight[self._rows, phase, arm] += gain
        self._log_sum[self._rows, phase] = log_sum_exp(self._weight[self._rows, phase], axis=1)

    def probabilities(self, t: float) -> Array:
        """Return the probabilities of the arms at time t."""
        phase = self._phases(t)
        others = self._log_sum.sum(axis=1) - self._log_sum[self._rows, phase]
        log_share = log_sum_exp(others[:, None] + self._weight[self._rows, phase], axis=0)
        chance = np.exp(log_share - log_sum_exp(log_share, axis=0))
        share: Array = chance / chance.sum()
        return share

    def _phases(self, t: float) -> Any:
        return np.mod(math.floor(t), self._periods)


def log_sum_exp(values: Array, *, axis: int) -> Array:
    """Return the logarithm of a sum of exponentials, faster than SciPy for a few values."""
    top = values.max(axis=axis, keepdims=True)
    total = np.log(np.exp(values - top).sum(axis=axis, keepdims=True)) + top
    result: Array = total.squeeze(axis=axis)
    return result
