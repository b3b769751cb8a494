"""Rewards of the last steps, arm by arm."""

from __future__ import annotations

import math
from collections import deque

from agents.state import Stateful
from agents.zoo.arms.means import Means


class SlidingWindow(Stateful):
    """Counts and sums of the rewards of decisions made in the last ``length`` steps.

    A late reward counts until its decision has left the window; one that comes too late is ignored.

    Attributes:
        means: Their counts and means.
    """

    kept = ("_now", "_rows", "means")

    def __init__(self, n_arms: int, length: float) -> None:
        self._length, self._now = length, -math.inf
        self._rows: deque[tuple[float, int, float]] = deque()
        self.means = Means(n_arms)

    def add(self, arm: int, reward: float, t: float) -> None:
        """Take in the reward of a decision at time t."""
        if t < self._now - self._length:
            return
        rows, late = self._rows, 0
        while late < len(rows) and rows[-1 - late][0] > t:
            late += 1
        if late:
            rows.insert(len(rows) - late, (t, arm, reward))
        else:
            rows.append((t, arm, reward))
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
