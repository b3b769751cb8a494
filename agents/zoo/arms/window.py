"""Rewards of the last steps, arm by arm."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np

from agents.zoo.arms.means import Means


class SlidingWindow:
    """Counts and sums of the rewards of decisions made in the last ``length`` steps.

    A late reward counts until its decision has left the window; one that comes too late is ignored.

    Attributes:
        means: Their counts and means.
    """

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
            self.means.add(arm, reward, -1.0)

    def state(self) -> dict[str, Any]:
        """What ``add`` and ``move`` have changed."""
        return {
            "rows": np.array(self._rows, dtype=np.float64).reshape(-1, 3),
            "now": None if self._now == -math.inf else self._now,
            "means": self.means.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put ``state()`` back."""
        self._now = -math.inf if state["now"] is None else float(state["now"])
        self._rows = deque((float(t), int(arm), float(y)) for t, arm, y in state["rows"])
        self.means.restore(state["means"])
