"""Statistics of rewards: the mean of every arm, and the scale of all rewards.

The scale is for methods that assume rewards in [0, 1]. All agents use the same three definitions:

- ``sigma`` is for methods that need rewards to concentrate (UCB, Thompson sampling, tests for a
  change). Proofs for rewards in [0, 1] use only that such rewards are 1/2-sub-Gaussian. Noise of
  standard deviation sigma therefore corresponds to rewards in an interval of ``width`` 2 sigma. The
  value of sigma is the first of these that is available: the agent's setting, the problem's
  ``noise_std`` if it is positive, or the standard deviation of the rewards so far.
- ``unit(reward)`` is for methods that need all rewards to lie in [0, 1] (adversarial methods). If
  the problem has ``reward_scale`` and ``noise_std``, the interval that is mapped to [0, 1] extends
  two standard deviations to either side of the mean of all rewards: ``mean -+ 2 sqrt(s^2 +
  noise_std^2)``. Otherwise, it is the range of the rewards so far. Rewards outside the interval are
  clipped.
- ``standardised(reward)`` is for methods that assume rewards of mean 0 and variance 1. It uses the
  mean and the standard deviation from which this interval is computed or, if the problem does not
  have them, the mean and the standard deviation of the rewards so far.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from operator import itemgetter

from agents.base import Problem
from agents.checks import not_negative


class Means:
    """Weighted counts and sums of the rewards of each arm.

    The statistics are stored in lists, which are faster than arrays for tens of arms. Only the
    entries of the arm that changes are recomputed, so a bound costs one product and one sum per
    arm.

    Attributes:
        count: Sum of the weights of the rewards of each arm.
        total: Weighted sum of the rewards of each arm.
        mean: total / count; 0 for an arm without rewards.
        narrow: 1 / sqrt(count); 0 for an arm without rewards.
        untried: Number of arms without rewards.
    """

    def __init__(self, n_arms: int) -> None:
        self.count, self.total = [0.0] * n_arms, [0.0] * n_arms
        self.mean, self.narrow = [0.0] * n_arms, [0.0] * n_arms
        self.untried = n_arms

    def add(self, arm: int, reward: float, weight: float = 1.0) -> None:
        """Add a reward, or remove one by adding it again with the negative of its weight."""
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
        """Set the statistics of an arm to exactly 0, so that round-off does not accumulate."""
        self.count[arm] = self.total[arm] = self.mean[arm] = self.narrow[arm] = 0.0
        self.untried = self.count.count(0.0)

    def fade(self, factor: float, least: float) -> None:
        """Multiply all weights by a factor; clear arms whose weight is then at most ``least``."""
        for arm, count in enumerate(self.count):
            if count * factor > least:
                self.count[arm], self.total[arm] = count * factor, self.total[arm] * factor
                self.narrow[arm] = 1.0 / math.sqrt(self.count[arm])
                self.mean[arm] = self.total[arm] / self.count[arm]
            else:
                self.clear(arm)


class SlidingWindow:
    """Counts and sums of the rewards of decisions made in the last ``length`` steps.

    A late reward is included until its decision leaves the window. If a reward arrives after its
    decision has left the window, the reward is ignored.

    Attributes:
        means: Counts and means of the rewards in the window.
    """

    def __init__(self, n_arms: int, length: float) -> None:
        self._length, self._now = length, -math.inf
        self._rows: deque[tuple[float, float, float]] = deque()  # time, arm and reward
        self.means = Means(n_arms)

    def add(self, arm: int, reward: float, t: float) -> None:
        """Add the reward of a decision at time t, unless the decision has left the window."""
        if t < self._now - self._length:
            return
        late = self._rows and self._rows[-1][0] > t
        place = bisect_right(self._rows, t, key=itemgetter(0)) if late else len(self._rows)
        self._rows.insert(place, (t, arm, reward))
        self.means.add(arm, reward)

    def __len__(self) -> int:
        return len(self._rows)

    def move(self, t: float) -> None:
        """Move the window to time t: remove the rewards of decisions before ``t - length``."""
        if t > self._now:
            self._now = t
        rows, first = self._rows, self._now - self._length
        while rows and rows[0][0] < first:
            _, arm, reward = rows.popleft()
            self.means.add(int(arm), reward, -1.0)


MIN_REWARDS = 10
"""Minimum number of rewards for an estimate of sigma that is used in tests for a change."""


class RewardScale:
    """Scale of rewards, by the definitions of this module; the order of rewards does not matter.

    Attributes:
        sigma: Sub-Gaussian scale of the noise; 0 until it is known.
        width: Width 2 sigma of an interval of bounded rewards with the same sub-Gaussian scale.
        known: True if the scale does not depend on the rewards so far.

    Args:
        problem: Description of the problem.
        sigma: Standard deviation of the noise; None to use the problem's ``noise_std``.
    """

    def __init__(self, problem: Problem, sigma: float | None = None) -> None:
        std = problem.noise_std if sigma is None else not_negative("scale", sigma)
        # A noise_std of 0 does not determine the scale of the rewards; a setting of 0 is accepted.
        self._sigma = std if std or sigma is not None else None
        self._range = _known_range(problem)
        self._n, self._mean, self._squares = 0, 0.0, 0.0
        self._low, self._high = math.inf, -math.inf
        self.known = self._sigma is not None and self._range is not None
        self._set(self._sigma or 0.0)

    def observe(self, reward: float) -> None:
        """Update the scale with a reward."""
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
        """True if sigma can be used in tests for a change.

        Sigma must be positive, and either known or estimated from at least ten rewards.
        """
        return self.sigma > 0.0 and (self._sigma is not None or self._n >= MIN_REWARDS)

    @property
    def interval(self) -> tuple[float, float]:
        """Rewards that ``unit`` maps to 0 and to 1."""
        if self._range is not None:
            return self._range
        return (self._low, self._high) if self._n else (0.0, 0.0)

    @property
    def mean_and_deviation(self) -> tuple[float, float]:
        """Mean and standard deviation of rewards including noise.

        The values are those of the problem if it states both the scale and the noise of the
        rewards, otherwise those of the rewards so far.
        """
        if self._range is not None:
            low, high = self._range
            return (low + high) / 2.0, (high - low) / 4.0
        return self._mean, math.sqrt(self._squares / self._n) if self._n else 0.0

    def rests_on(self, rewards: int) -> bool:
        """Return whether the scale is known, or at least ``rewards`` rewards were observed."""
        return self._range is not None or self._n >= rewards

    def standardised(self, reward: float) -> float:
        """Return the standardised reward: its distance from the mean in standard deviations.

        The result is 0 while all rewards are equal.
        """
        mean, deviation = self.mean_and_deviation
        return (reward - mean) / deviation if deviation > 0.0 else 0.0

    def unit(self, reward: float) -> float:
        """Return the reward rescaled to [0, 1] and clipped; 1/2 while all rewards are equal."""
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
