"""MASTER, a reduction of changing bandits to stationary ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import positive
from agents.zoo.arms.arm_agent import ArmAgent
from agents.zoo.arms.rewards import Means


def average_regret(n_arms: int, t: float) -> float:
    """Return rho(t), the regret of UCB1 per step over t steps up to constants, on [0, 1]."""
    return math.sqrt(n_arms / t) + n_arms / t


def doubt(n_arms: int, t: float, horizon: int) -> float:
    """Return D(t) = 6 (log2 T + 2) log(T / delta) rho(t), delta = 1 / T, for rewards in [0, 1]."""
    factor = 6.0 * (math.log2(horizon) + 2.0) * 2.0 * math.log(horizon)
    return factor * average_regret(n_arms, t)


class Master(ArmAgent):
    """MASTER with UCB1: instances of many lengths at once, and a new start when they disagree.

    Pseudo-code::

        for blocks of 2^n steps, n = 0, 1, ..., ceil(log2 T):
            for m = n..0, at every multiple of 2^m: with probability rho(2^n) / rho(2^m) schedule
                a fresh UCB1 for 2^m steps
            play the shortest UCB1 that runs;  f <- the bound of its choice;  observe y
            U <- the least f of the block so far;  N <- number of rewards of the block so far
            restart at n = 0 if a UCB1 of 2^m steps ends and the mean of y in them >= U + 9 D(2^m),
                or if the mean of min(f - y, B) in the block >= 3 D(N)

    Here rho(t) = sqrt(K / t) + K / t for K arms is what UCB1 loses per step in t steps, up to
    constants, and D(t) = 12 (log2 T + 2) log(T) B rho(t) for T steps, times ``detector``. The bound
    of an arm is mean[a] + B sqrt(2 log n / n[a]) over the n rewards of the instance, and infinite
    for an arm that the instance has not tried. The instance of the whole block (m = n) is always
    scheduled.

    Reference: [@wei2021nonstationary]. It stands here for [@luo2018efficient] and [@chen2019new] as
    well: without contexts those methods, too, run a bandit at many scales and restart on a test of
    its losses; MASTER needs neither the number nor the size of the changes and has the better
    bound, so one of the three is enough. D is the paper's rho with a hat, 6 (log2 T + 2) log(T /
    delta) rho, for delta = 1 / T. That rho has no logarithms, and this delta, are choices of ours:
    the constants of the paper could not be confirmed.

    [@gerogiannis2024prior] finds that the tests cannot fire at practical horizons. That is so here:
    on rewards in [0, 1], where B = 1, a mean cannot differ by more than 1, and with two arms 9 D
    and 3 D stay above 1 for all horizons below 10^9. ``detector`` shrinks D for those who want to
    see it fire; at 512 steps, two arms and a factor of 1/500 it does, but in a still world as early
    as in one that changes.

    Deviations from the paper: rewards need not lie in [0, 1]. Instead of their range, B is 2
    sigma, the width of bounded rewards of the same sub-Gaussian scale. No f - y counts for more
    than B. Nothing is tested before sigma is known, or ten rewards are. Steps are counted by the
    clock; a late reward goes to the instance that made the decision while it lasts. The warm start
    sets the scale only.

    Args:
        detector: A factor of D, the size that a test asks for.
        common: Those of :class:`ArmAgent`.
    """

    name = "master"

    def __init__(self, problem: Problem, rng: Rng, *, detector: float = 1.0, **common: Any) -> None:
        self._detector = positive("detector", detector)
        self._horizon = max(problem.likely_horizon, 2)
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Begin without scheduled instances."""
        self.restarts, self._order, self._begin = 0, -1, None  # type: tuple[int, int, float | None]
        self._scheduled: list[NDArray[np.bool_]] = []
        self._which: list[int] = []
        self._means: list[Means] = []
        self._gained, self._bound = np.zeros(0), np.zeros(0)
        self._lowest, self._excess, self._n_rewards = math.inf, 0.0, 0

    def _block(self, t: float) -> None:
        """Schedule the next block, which begins at time t."""
        # No block is longer than the horizon, unless time jumps.
        longest = math.ceil(math.log2(self._horizon))
        self._order, self._begin = min(self._order + 1, longest), t
        n, k = self._order, self.n_arms
        self._scheduled = [
            self._rng.random(2 ** (n - m)) < average_regret(k, 2**n) / average_regret(k, 2**m)
            for m in range(n + 1)
        ]
        self._which = [-1] * (n + 1)
        self._means = [Means(k) for _ in range(n + 1)]
        self._gained, self._bound = np.full(2**n, np.nan), np.full(2**n, np.inf)
        self._lowest, self._excess, self._n_rewards = math.inf, 0.0, 0

    def choose(self, t: float, observation: Array) -> int:
        """Return the choice of the shortest instance that runs."""
        if self._begin is None or t >= self._begin + 2**self._order or t < self._begin:
            self._block(t)
        step = self._step(t)
        order = self._active(step)
        if self._which[order] != step >> order:  # a fresh instance begins
            self._which[order] = step >> order
            self._means[order] = Means(self.n_arms)
        means = self._means[order]
        width = self.scale.width * math.sqrt(2.0 * math.log(max(sum(means.count), 1.0)))
        arm = self.highest_bound(means, width)
        if means.count[arm]:
            self._bound[step] = means.mean[arm] + width * means.narrow[arm]
            self._lowest = min(self._lowest, float(self._bound[step]))
        return arm

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Pass the reward to the instance that made the decision, then run the tests."""
        if self._begin is None or not self._begin <= t < self._begin + 2**self._order:
            return
        step = self._step(t)
        order = self._active(step)
        if self._which[order] == step >> order:
            self._means[order].add(arm, reward)
        self._gained[step] = reward
        self._excess += min(float(self._bound[step]) - reward, self.scale.width)
        self._n_rewards += 1
        if self.scale.settled and (self._better(step) or self._worse()):
            self.restarts, self._order, self._begin = self.restarts + 1, -1, None

    def _step(self, t: float) -> int:
        assert self._begin is not None
        return int(t - self._begin)

    def _active(self, step: int) -> int:
        """Return the order of the shortest running instance, or that of the whole block."""
        running = (m for m in range(self._order) if self._scheduled[m][step >> m])
        return next(running, self._order)

    def _doubt(self, t: float) -> float:
        return self._detector * self.scale.width * doubt(self.n_arms, t, self._horizon)

    def _better(self, step: int) -> bool:
        """Return whether a finished instance gained more than any bound of the block (test 1)."""
        for m in range(self._order + 1):
            if (step + 1) % 2**m:
                break
            if self._scheduled[m][step >> m]:
                gained = self._gained[step + 1 - 2**m : step + 1]
                if np.nanmean(gained) >= self._lowest + 9.0 * self._doubt(2**m):
                    return True
        return False

    def _worse(self) -> bool:
        """Return whether the block gained less than its bounds (test 2)."""
        return self._excess / self._n_rewards >= 3.0 * self._doubt(self._n_rewards)
