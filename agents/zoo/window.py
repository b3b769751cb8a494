"""Rewards of the last steps, arm by arm."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np


class SlidingWindow:
    """Counts and sums of the rewards of decisions made in the last ``length`` steps.

    A late reward counts until its decision has left the window; one that comes too late is ignored.

    Attributes:
        count: Rewards of each arm.
        total: Their sums.
        size: All rewards in the window.
    """

    def __init__(self, n_arms: int, length: float) -> None:
        self._length, self._now = length, -math.inf
        self._rows: deque[tuple[float, int, float]] = deque()
        self.count, self.total, self.size = [0] * n_arms, [0.0] * n_arms, 0

    def add(self, arm: int, reward: float, t: float) -> None:
        """Take in the reward of a decision at time t."""
        if t < self._now - self._length:
            return
        rows, late = self._rows, 0
        while late < len(rows) and rows[-1 - late][0] > t:
            late += 1
        rows.insert(len(rows) - late, (t, arm, reward))
        self.count[arm] += 1
        self.total[arm] += reward
        self.size += 1

    def move(self, t: float) -> None:
        """Drop what is older than ``t - length``: what is left was decided in the last steps."""
        if t > self._now:
            self._now = t
        rows, first = self._rows, self._now - self._length
        while rows and rows[0][0] < first:
            _, arm, reward = rows.popleft()
            self.count[arm] -= 1
            # Exactly zero when empty, so that round-off cannot pile up.
            self.total[arm] = self.total[arm] - reward if self.count[arm] else 0.0
            self.size -= 1

    def state(self) -> dict[str, Any]:
        """What ``add`` and ``move`` have changed."""
        return {
            "rows": np.array(self._rows, dtype=np.float64).reshape(-1, 3),
            "now": None if self._now == -math.inf else self._now,
            "total": self.total,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put ``state()`` back."""
        self._now = -math.inf if state["now"] is None else float(state["now"])
        self._rows = deque((float(t), int(arm), float(y)) for t, arm, y in state["rows"])
        self.count, self.total = [0] * len(self.count), list(state["total"])
        for _, arm, _ in self._rows:
            self.count[arm] += 1
        self.size = len(self._rows)
