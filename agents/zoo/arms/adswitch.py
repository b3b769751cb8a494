"""AdSwitch, for an unknown number of changes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import positive
from agents.zoo.arms.arm_agent import ArmAgent

FINEST = 20
"""Exponent of the smallest gap, 2^-FINEST, for which an arm is checked."""


class AdSwitch(ArmAgent):
    """AdSwitch: inferior arms are dropped but checked occasionally, and a change causes a restart.

    Pseudo-code::

        in turn, play the good arms and those that are to be checked
        r(n) <- B sqrt(2 log T / n);  m[s:](a), n[s:](a) <- mean and count of a since time s
        new episode if |m[s1:s2] - m[s:]| > r(n[s1:s2]) + r(n[s:]) for a good arm      (3)
                    or |m[s:] - m_bad| > gap / 4 + r(n[s:]) for a bad arm              (4)
        a good arm turns bad if max m[s:](good) - m[s:](a) > B sqrt(C log T / (n[s:](a) - 1))
        check a bad arm for 2 log T / d^2 plays with probability d sqrt(episode / (K T log T)),
            for every d = 1/2, 1/4, ... >= gap / 16

    Reference: [@auer2019adaptively], announced in [@auer2019achieving]. Its theorem requires
    C > 16, but then arms are rarely dropped within 200 steps. The default is C = 1, as in the
    comparison of [@besson2022efficient], whose code was the second reference for this
    implementation. With rewards in [0, 1] and fewer than about 10^4 steps, checks take up all
    steps: even with two arms and the largest gap, more than one play per step is scheduled on
    average.

    Deviations from the paper: rewards need not lie in [0, 1]. Instead of the range of the rewards,
    B is 2 sigma, because rewards in an interval of width 2 sigma are sigma-sub-Gaussian. Both tests
    are evaluated at every step and for all intervals, whereas the two public implementations
    evaluate them only at some steps (by default every 20th or 50th step) and for some intervals.
    For (3), it is enough to store the running extremes of m -+ r, because at step s2 the interval
    [s1:s2] was the interval [s1:]. If sigma is learned, each r uses the estimate of sigma at the
    time when r was computed. If several checks of an arm are due, only the longest check is run.
    Late rewards are processed in the order in which they arrive. The computing time of a step and
    the memory grow with the length of the episode.

    Args:
        c: Constant C in the condition for dropping an arm.
        common: Arguments of every agent for arms, see :class:`ArmAgent`.
    """

    name = "adswitch"

    def __init__(self, problem: Problem, rng: Rng, *, c: float = 1.0, **common: Any) -> None:
        self._c = positive("c", c)
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Start the first episode."""
        self.episode = 0
        self._log = math.log(max(self.horizon, 2))
        self._begin()

    def _begin(self) -> None:
        k = self.n_arms
        self.episode, self._n = self.episode + 1, 0
        self._last, self._checks = [-1] * k, [0] * k
        self._good, self._gap, self._mean = np.ones(k, dtype=bool), np.zeros(k), np.zeros(k)
        # Greatest lower end and smallest upper end of all confidence intervals, for each arm.
        self._highest, self._lowest = np.full(k, -np.inf), np.full(k, np.inf)
        self._count, self._total = np.zeros((16, k)), np.zeros((16, k))

    def choose(self, t: float, observation: Array) -> int:
        """Return the least recently played arm, among good arms and arms to be checked."""
        in_turn = [a for a in range(self.n_arms) if self._good[a] or self._checks[a]]
        oldest = min(self._last[a] for a in in_turn)
        return self.any_of([a for a in in_turn if self._last[a] == oldest])

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Store the reward, test for a change, drop inferior arms, and schedule checks."""
        self._remember(arm, reward)
        if self.scale.settled and self._changed(arm):
            self._begin()
            return
        if self.scale.settled:
            self._drop()
        self._plan()

    def _remember(self, arm: int, reward: float) -> None:
        """Add a reward to all rows; row s of the tables covers reward s and all later rewards."""
        if self._n == len(self._count):
            self._count = np.concatenate([self._count, np.zeros_like(self._count)])
            self._total = np.concatenate([self._total, np.zeros_like(self._total)])
        self._count[: self._n + 1, arm] += 1.0
        self._total[: self._n + 1, arm] += reward
        self._last[arm] = self._n
        self._checks[arm] = max(self._checks[arm] - 1, 0)
        self._n += 1

    def _changed(self, arm: int) -> bool:
        count = self._count[: self._n, arm]
        mean = self._total[: self._n, arm] / count  # count > 0: all rows contain this reward
        radius = self.scale.width * np.sqrt(2.0 * self._log / count)
        if not self._good[arm]:  # (4)
            return bool((np.abs(mean - self._mean[arm]) > self._gap[arm] / 4 + radius).any())
        low, high = float((mean - radius).max()), float((mean + radius).min())
        self._highest[arm] = max(self._highest[arm], low)
        self._lowest[arm] = min(self._lowest[arm], high)
        return bool(low > self._lowest[arm] or high < self._highest[arm])  # (3)

    def _drop(self) -> None:
        """Drop arms by condition (1) of the paper, and store their means and gaps by (2)."""
        count, total = self._count[: self._n], self._total[: self._n]
        seen = (count > 1.0) & self._good
        mean = total / np.maximum(count, 1.0)
        gap = np.where(seen, mean, -np.inf).max(axis=1)[:, None] - mean
        bound = self.scale.width * np.sqrt(self._c * self._log / np.maximum(count - 1.0, 1.0))
        worse = seen & (gap > bound)
        for arm in np.flatnonzero(worse.any(axis=0)):
            if self._good.sum() > 1:
                since = int(worse[:, arm].argmax())
                self._good[arm], self._checks[arm] = False, 0
                self._mean[arm], self._gap[arm] = mean[since, arm], gap[since, arm]

    def _plan(self) -> None:
        rate = math.sqrt(self.episode / (self.n_arms * self.horizon * self._log))
        for arm in np.flatnonzero(~self._good):
            gap = self._gap[arm] / max(self.scale.width, 1e-300)  # avoids a division by 0
            for i in range(1, FINEST + 1):
                size = 0.5**i
                if size < gap / 16.0:
                    break
                if self._rng.random() < size * rate:
                    plays = math.ceil(2.0 * self._log / size**2)
                    self._checks[arm] = max(self._checks[arm], plays)
