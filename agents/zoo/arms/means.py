"""Counts and means of rewards, arm by arm, ready for a bound."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from operator import itemgetter


class Means:
    """Weighted counts and sums of rewards; plain lists, quicker than arrays for tens of arms.

    Only the arm that changes is computed anew, so that a bound costs one product and one sum an
    arm.

    Attributes:
        count: Sum of the weights of each arm's rewards.
        total: Sum of the weighted rewards.
        mean: total / count; 0 for an arm without rewards.
        narrow: 1 / sqrt(count); 0 for an arm without rewards.
        untried: How many arms have no rewards.
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
        """Multiply all weights, and forget arms of which less than ``least`` is left."""
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
