"""Statistics of rewards: means of every arm, and the scale of all rewards.

The scale is for methods that assume rewards in [0, 1]. All agents use the same three definitions:

- ``sigma``, for methods that need rewards to concentrate (UCB, Thompson sampling, tests for a
  change). Proofs for rewards in [0, 1] only use that they are 1/2-sub-Gaussian, so noise of
  deviation
sigma corresponds to rewards in an interval of ``width`` 2 sigma. It is, in this order: the agent's
setting, the problem's ``noise_std`` if positive, the
  standard deviation of the rewards so far.
- ``unit(reward)``, for methods that need rewards in [0, 1] in all cases (adversarial ones). The
interval is two standard deviations about the mean of all rewards, ``mean -+ 2
  sqrt(s^2 + noise_std^2)``, if the problem has ``reward_scale`` and ``noise_std``; otherwise it
  is the range of the rewards so far. What falls outside is clipped.
- ``standardised(reward)``, for methods that assume rewards of mean 0 and variance 1: by the mean
  and the deviation that this interval was made of, or by those of the rewards so far.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from operator import itemgetter

from agents.base import Problem
from agents.checks import not_negative


class Means:
    """Weighted counts and sums of rewards, in lists, which are faster than arrays for tens of arms.

    Only the arm that changes is recomputed, so a bound costs one product and one sum per arm.

    Attributes:
        count: Sum of the weights of each arm's rewards.
        total: Sum of the weighted rewards.
        mean: total / count; 0 for an arm without rewards.
        narrow: 1 / sqrt(count); 0 for an arm without rewards.
        untried: Number of arms without rewards.
    """

    def __init__(self, n_arms: int) -> None:
        self.count, self.total = [0.0] * n_arms, [0.0] * n_arms
        self.mean, self.narrow = [0.0] * n_arms, [0.0] * n_arms
        self.untried = n_arms

    def add(self, arm: int, reward: float, weight: float = 1.0) -> None:
        """Take in a reward, or with a negative weight take it out again."""
        before = self.count[arm]
        count = self.count[arm] = before + weight
        if count > 0.0:
            total = self.total[arm] = self.total[arm] + weight * reward
            self.mean[arm] = total / count
            self.narrow[arm] = 1.0 / math.sqrt(count)
            if not before:
                self.untried -= 1
        else:
            self.clear(arm)

    def clear(self, arm: int) -> None:
        """Forget all rewards of an arm: exactly, so that round-off cannot pile up."""
        self.count[arm] = self.total[arm] = self.mean[arm] = self.narrow[arm] = 0.0
        self.untried = self.count.count(0.0)

    def fade(self, factor: float, least: float) -> None:
        """Multiply all weights, and clear arms whose weight falls below ``least``."""
        for arm, count in enumerate(self.count):
            if count * factor > least:
                self.count[arm], self.total[arm] = count * factor, self.total[arm] * factor
                self.narrow[arm] = 1.0 / math.sqrt(self.count[arm])
                self.mean[arm] = self.total[arm] / self.count[arm]
            else:
                self.clear(arm)


class SlidingWindow:
    """Counts and sums of the rewards of decisions made in the last ``length`` steps.

    A late reward counts until its decision has left the window; one that comes too late is ignored.

    Attributes:
        means: Their counts and means.
    """

    def __init__(self, n_arms: int, length: float) -> None:
        self._length, self._now = length, -math.inf
        self._rows: deque[tuple[float, float, float]] = deque()  # time, arm and reward
        self.means = Means(n_arms)

    def add(self, arm: int, reward: float, t: float) -> None:
        """Take in the reward of a decision at time t."""
        if t < self._now - self._length:
            return
        late = self._rows and self._rows[-1][0] > t
        place = bisect_right(self._rows, t, key=itemgetter(0)) if late else len(self._rows)
        self._rows.insert(place, (t, arm, reward))
        self.means.add(arm, reward)

    def __len__(self) -> int:
        return len(self._rows)

    def move(self, t: float) -> None:
        """Drop what is older than ``t - length``: what is left was decided in the last steps."""
        if t > self._now:
            self._now = t
        rows, first = self._rows, self._now - self._length
        while rows and rows[0][0] < first:
            _, arm, reward = rows.popleft()
            self.means.add(int(arm), reward, -1.0)


MIN_REWARDS = 10
"""Least number of rewards in a standard deviation that is used in tests."""


class RewardScale:
    """Scale of rewards, by the rules of the module. Their order does not matter.

    Attributes:
        sigma: Sub-Gaussian scale of the noise; 0 until it is known.
        width: Width of the interval of bounded rewards with the same scale: 2 sigma.
        known: True if no reward has to be observed.

    Args:
        problem: Description of the problem.
        sigma: Standard deviation of the noise; None for the problem's.
    """

    def __init__(self, problem: Problem, sigma: float | None = None) -> None:
        std = problem.noise_std if sigma is None else not_negative("scale", sigma)
        # The noise of a noiseless world gives no scale of its rewards; a setting of 0 is accepted.
        self._sigma = std if std or sigma is not None else None
        self._range = _known_range(problem)
        self._n, self._mean, self._squares = 0, 0.0, 0.0
        self._low, self._high = math.inf, -math.inf
        self.known = self._sigma is not None and self._range is not None
        self._set(self._sigma or 0.0)

    def observe(self, reward: float) -> None:
        """Take a reward into account."""
        self._n += 1
        step = reward - self._mean
        self._mean += step / self._n
        self._squares += step * (reward - self._mean)
        if reward < self._low:
            self._low = reward
        if reward > self._high:
            self._high = reward
        if self._sigma is None:
            self._set(math.sqrt(self._squares / self._n))

    def _set(self, sigma: float) -> None:
        self.sigma, self.width = sigma, 2.0 * sigma

    @property
    def settled(self) -> bool:
        """True if sigma is positive, and known or from ten rewards: else no test for a change."""
        return self.sigma > 0.0 and (self._sigma is not None or self._n >= MIN_REWARDS)

    @property
    def interval(self) -> tuple[float, float]:
        """Least and greatest reward for ``unit``."""
        if self._range is not None:
            return self._range
        return (self._low, self._high) if self._n else (0.0, 0.0)

    @property
    def mean_and_deviation(self) -> tuple[float, float]:
        """Mean and deviation of all rewards, noise included: the problem's, or of those so far."""
        if self._range is not None:
            low, high = self._range
            return (low + high) / 2.0, (high - low) / 4.0
        return self._mean, math.sqrt(self._squares / self._n) if self._n else 0.0

    def rests_on(self, rewards: int) -> bool:
        """Return whether mean and deviation are known, or so many rewards have been seen."""
        return self._range is not None or self._n >= rewards

    def standardised(self, reward: float) -> float:
        """Return a reward in deviations from the mean; 0 as long as all were equal."""
        mean, deviation = self.mean_and_deviation
        return (reward - mean) / deviation if deviation > 0.0 else 0.0

    def unit(self, reward: float) -> float:
        """Return a reward in [0, 1]; 1/2 as long as all were equal."""
        low, high = self.interval
        if not high > low:
            return 0.5
        return min(max((reward - low) / (high - low), 0.0), 1.0)


def _known_range(problem: Problem) -> tuple[float, float] | None:
    if problem.reward_scale is None or problem.noise_std is None:
        return None
    mean, deviation = problem.reward_scale
    reach = 2.0 * math.hypot(deviation, problem.noise_std)
    return mean - reach, mean + reach
