"""Bandit that finds the period of each arm by Fourier analysis, then runs UCB per phase."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import at_least_one, share
from agents.zoo.arms.arm_agent import ArmAgent

MAX_PERIOD = 500
"""Longest period that can be found."""


class FourierPeriodUCB(ArmAgent):
    """Fourier-Period-UCB: the period of each arm from its spectrum, then UCB for each phase.

    Pseudo-code::

        stage one: choose each arm n times in a row
            frequencies <- those of arm a's periodogram that stand out of the noise
            T_a <- least common multiple of their denominators (1 if there are none)
        stage two: p_a <- t mod T_a
            a_t <- argmax_a mean[a, p_a] + sigma sqrt(2 log t / n[a, p_a]), untried cells first

    Reference: [@chen2020learning], whose method has two stages. Each arm has an unknown period,
    which is a whole number. The problem's season is not used.

    Deviations from the paper: the text of the paper's algorithms was not available. The outline of
    this agent follows the abstract and the introduction of the paper; the constants are ours. By
    default, n is sqrt T, so that the regret of stage one is within the order of the paper's bound.
    Stage one uses at most half of the run in total, so periods cannot be estimated in short runs
    with many arms. The candidate frequencies are the fractions j / q with q <= n / 2. They are
    selected one after the other. The response of a frequency is the power of the rewards at this
    frequency, divided by the number of rewards. As long as the largest response of a frequency
    exceeds sigma^2 log(M / level) for M fractions, a frequency is selected, and its wave is removed
    from the rewards by least squares. White noise exceeds this threshold with a probability of at
    most ``level``. Among frequencies whose responses do not differ significantly, the frequency
    that leads to the shortest period of the arm is selected. The width in stage two is half of the
    width of ``ucb1`` in this package. A box is discretised into ``box_arms`` points.

    Args:
        stage_one: Number n of choices of each arm in stage one; by default as described above.
        level: Upper bound on the probability of finding a period in white noise.
        common: Arguments of every agent for arms, see :class:`ArmAgent`.
    """

    name = "fourier-period-ucb"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        stage_one: int | None = None,
        level: float = 0.05,
        **common: Any,
    ) -> None:
        self._given = None if stage_one is None else at_least_one("stage_one", stage_one)
        self._level = share("level", level)
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Reset the agent to stage one, with no stored rewards and no estimated periods."""
        half = self.horizon // (2 * self.n_arms)
        rule = max(1, min(math.ceil(math.sqrt(self.horizon)), half))
        self.stage_one = rule if self._given is None else int(self._given)
        self._first: float | None = None
        self._seen: list[tuple[float, int, float]] = []  # time, arm and reward
        self.periods: list[int] = []
        self._cells: list[Array] = []  # for each arm: counts and sums, shape (2, T_a)

    def choose(self, t: float, observation: Array) -> int:
        """Return the next arm of stage one, or in stage two the arm with the greatest bound."""
        self._first = t if self._first is None else self._first
        turn = int((t - self._first) // self.stage_one)
        if not self.periods and 0 <= turn < self.n_arms:
            return turn
        if not self.periods:
            self._find_periods()
        pairs = [c[:, self._phase(arm, t)] for arm, c in enumerate(self._cells)]
        count, total = np.array(pairs).T
        untried = np.flatnonzero(count == 0)
        if len(untried):
            return self.any_of(untried)
        decisions = sum(c[0].sum() for c in self._cells)
        return self.best_of(
            total / count + self.scale.sigma * np.sqrt(2.0 * math.log(decisions) / count)
        )

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Record the reward, by phase if the periods are known; order and delay do not matter."""
        if self.periods:
            self._count(arm, reward, t)
        else:
            self._seen.append((t, arm, reward))

    def _find_periods(self) -> None:
        seen = np.array(self._seen).reshape(-1, 3)
        for arm in range(self.n_arms):
            t, _, y = seen[seen[:, 1] == arm].T
            period = estimate_period(t, y, sigma=self.scale.sigma, level=self._level)
            self.periods.append(period)
            self._cells.append(np.zeros((2, period)))
        for when, which, reward in self._seen:
            self._count(int(which), reward, when)
        self._seen = []

    def _count(self, arm: int, reward: float, t: float) -> None:
        self._cells[arm][:, self._phase(arm, t)] += 1.0, reward

    def _phase(self, arm: int, t: float) -> int:
        return math.floor(t) % self.periods[arm]


def estimate_period(t: Array, y: Array, *, sigma: float, level: float = 0.05) -> int:
    """Return the period of the rewards y at times t, a whole number of steps.

    The result is 1 if no frequency is significant for noise with standard deviation ``sigma``.
    """
    steps, longest = np.floor(t).astype(int), min(len(t) // 2, MAX_PERIOD)
    j, q = fractions_up_to(longest)
    if not len(q) or sigma <= 0:
        return 1
    threshold = math.log(len(q) / level)
    period, basis = 1, np.ones((len(t), 1))
    for _ in range(longest):
        rest = y - basis @ np.linalg.lstsq(basis, y, rcond=None)[0]
        # For white noise, a response has the distribution Exponential(1).
        response = _power(steps, rest, longest) / (len(t) * sigma**2)
        if response.max() < threshold:
            break
        # Responses that are smaller than the largest one by less than -log(level) are ties.
        ties = np.flatnonzero(response > response.max() + math.log(level))
        best = min(ties, key=lambda i: (math.lcm(period, int(q[i])), -response[i]))
        if math.lcm(period, int(q[best])) > longest:
            break
        period = math.lcm(period, int(q[best]))
        angle = 2.0 * np.pi * j[best] / q[best] * steps
        basis = np.column_stack([basis, np.cos(angle), np.sin(angle)])
    return period


@lru_cache(maxsize=8)
def fractions_up_to(longest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all j / q in lowest terms with 0 < j / q <= 1/2 and q <= longest, sorted by q, j."""
    q = np.repeat(np.arange(2, longest + 1), np.arange(2, longest + 1) // 2)
    j = np.concatenate([np.arange(1, p // 2 + 1) for p in range(2, longest + 1)] or [q])
    lowest = np.gcd(j, q) == 1
    return j[lowest], q[lowest]


def _power(steps: NDArray[np.int64], y: Array, longest: int) -> Array:
    """Return |sum y exp(-2 pi i t j / q)|^2 for the fractions of ``fractions_up_to(longest)``."""
    parts = []
    for q in range(2, longest + 1):
        # Only t mod q matters, so rewards with equal remainders are added up first.
        folded = np.bincount(steps % q, weights=y, minlength=q)
        power = np.square(np.abs(np.fft.rfft(folded)[1:]))
        parts.append(power[np.gcd(np.arange(1, len(power) + 1), q) == 1])
    return np.concatenate(parts)
