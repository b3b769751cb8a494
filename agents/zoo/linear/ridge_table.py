"""A regression for every arm, asked about the same features at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agents.arrays import Array
from agents.zoo.linear.ridge import Ridge


class RidgeTable:
    """Answers of many regressions in one product, where a step changes only one of them.

    ``V_a^-1`` and the coefficients are kept for every arm and computed anew, from the sums of its
    :class:`Ridge`, when a reward of that arm has come: rounding does not pile up. Arms without
    rewards have equal answers to the last bit, so that ties among them are ties.

    Args:
        ridges: One for each arm, all of one dimension, with weights of 1.
    """

    def __init__(self, ridges: Sequence[Ridge]) -> None:
        count, dim = len(ridges), ridges[0].dim
        self._ridges = ridges
        self._inverse = np.zeros((count, dim, dim))
        self._solved = np.zeros((count, dim, 2))
        self._stale = set(range(count))

    def add(self, arm: int, x: Array, y: float) -> None:
        """Take an observation of an arm in."""
        self._ridges[arm].add(x, y)
        self._stale.add(arm)

    def predict(self, x: Array, centre: float = 0.0) -> tuple[Array, Array]:
        """Each arm's mean reward and its deviation (n,), for one row of features (d,)."""
        for arm in self._stale:
            self._inverse[arm], self._solved[arm] = self._ridges[arm].solved()
        self._stale.clear()
        theta = self._solved[:, :, 0] - centre * self._solved[:, :, 1]
        mean = centre + theta @ x
        variance = ((self._inverse @ x) * x).sum(axis=1)
        return mean, np.sqrt(np.maximum(variance, 0.0))
