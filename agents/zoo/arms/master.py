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
    """Return rho(t), the average regret of UCB1 over t steps, for rewards in [0, 1].

    Constant factors are left out.
    """
    return math.sqrt(n_arms / t) + n_arms / t


def doubt(n_arms: int, t: float, horizon: int) -> float:
    """Return D(t) = 6 (log2 T + 2) log(T / delta) rho(t), where delta = 1 / T."""
    factor = 6.0 * (math.log2(horizon) + 2.0) * 2.0 * math.log(horizon)
    return factor * average_regret(n_arms, t)


class Master(ArmAgent):
    """MASTER with UCB1: instances on many time scales, and a restart when their rewards disagree.

    Pseudo-code::

        for blocks of 2^n steps, n = 0, 1, ..., ceil(log2 T):
            for m = n..0, at every multiple of 2^m: with probability rho(2^n) / rho(2^m) schedule
                a fresh UCB1 for 2^m steps
            play the shortest UCB1 that runs;  f <- the bound of its choice;  observe y
            U <- the least f of the block so far;  N <- number of rewards of the block so far
            restart at n = 0 if a UCB1 of 2^m steps ends and the mean of y in them >= U + 9 D(2^m),
                or if the mean of min(f - y, B) in the block >= 3 D(N)

    Here rho(t) = sqrt(K / t) + K / t for K arms is the average regret per step of UCB1 over t
    steps, up to constant factors. D(t) is 12 (log2 T + 2) log(T) B rho(t) for T steps, multiplied
    by the setting ``detector``. The bound of an arm is mean[a] + B sqrt(2 log n / n[a]), where n is
    the number of rewards of the instance. The bound is infinite for an arm that the instance has
    not tried. The instance of the whole block (m = n) is always scheduled.

    Reference: [@wei2021nonstationary]. In this package, MASTER also represents [@luo2018efficient]
    and [@chen2019new]. Without contexts, the methods of these two papers also run a bandit on many
    time scales, and restart if a test of its losses detects a change. MASTER needs neither the
    number nor the size of the changes and has the better bound, so only MASTER is implemented. D is
    the paper's rho with a hat, 6 (log2 T + 2) log(T / delta) rho, for delta = 1 / T. This delta and
    a rho without logarithms are our choices, because the constants of the paper could not be
    confirmed.

    [@gerogiannis2024prior] finds that the tests cannot fire at practical horizons. This agent
    confirms the finding: with rewards in [0, 1], B is 1 and two means differ by at most 1, but with
    two arms, 9 D and 3 D exceed 1 for all horizons below 10^9. A small ``detector`` reduces D, so
    that the tests can be observed. With 512 steps, two arms and a factor of 1/500, the tests fire,
    but they fire as early in a world without changes as in a world with changes.

    Deviations from the paper: rewards need not lie in [0, 1]. Instead of the range of the rewards,
    B is 2 sigma, because rewards in an interval of width 2 sigma are sigma-sub-Gaussian. Each
    difference f - y is limited to at most B. The tests start when sigma is known or estimated from
    ten rewards. Blocks are measured in time steps, not in rewards. A late reward is passed to the
    instance that made its decision, as long as this instance runs. The warm start sets only the
    scale.

    Args:
        detector: Factor by which D is multiplied; with a smaller factor, the tests fire earlier.
        common: Arguments of every agent for arms, see :class:`ArmAgent`.
    """

    name = "master"

    def __init__(self, problem: Problem, rng: Rng, *, detector: float = 1.0, **common: Any) -> None:
        self._detector = positive("detector", detector)
        self._horizon = max(problem.likely_horizon, 2)
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Reset the agent to the state before the first block, without scheduled instances."""
        self.restarts, self._order, self._begin = 0, -1, None  # type: tuple[int, int, float | None]
        self._scheduled: list[NDArray[np.bool_]] = []
        self._which: list[int] = []
        self._means: list[Means] = []
        self._gained, self._bound = np.zeros(0), np.zeros(0)
        self._lowest, self._excess, self._n_rewards = math.inf, 0.0, 0

    def _block(self, t: float) -> None:
        """Schedule the next block, which begins at time t."""
        # Blocks double in length, so within the horizon this limit matters only if time jumps.
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
        """Return the choice of the running instance that is scheduled for the fewest steps."""
        if self._begin is None or t >= self._begin + 2**self._order or t < self._begin:
            self._block(t)
        step = self._step(t)
        order = self._active(step)
        if self._which[order] != step >> order:  # a new instance begins
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
        """Return the order m of the running instance with the fewest scheduled steps, 2^m."""
        running = (m for m in range(self._order) if self._scheduled[m][step >> m])
        return next(running, self._order)

    def _doubt(self, t: float) -> float:
        return self._detector * self.scale.width * doubt(self.n_arms, t, self._horizon)

    def _better(self, step: int) -> bool:
        """Return whether the rewards of a finished instance are too high for its block (test 1)."""
        for m in range(self._order + 1):
            if (step + 1) % 2**m:
                break
            if self._scheduled[m][step >> m]:
                gained = self._gained[step + 1 - 2**m : step + 1]
                if np.nanmean(gained) >= self._lowest + 9.0 * self._doubt(2**m):
                    return True
        return False

    def _worse(self) -> bool:
        """Return whether the rewards of the block are too low for its bounds (test 2)."""
        return self._excess / self._n_rewards >= 3.0 * self._doubt(self._n_rewards)
