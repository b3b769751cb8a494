"""What an agent has seen, as far as it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.gp import Array

MOST = 2048
"""Observations that are kept: the newest."""


@dataclass(frozen=True, eq=False)
class History:
    """Observations in the order in which they came.

    Attributes:
        action: In the coordinates of the kernel: arms, points (n, d), or either with contexts.
        t: Times.
        reward: Rewards.
        told: Whether each was part of the warm start.
    """

    action: NDArray[Any]
    t: Array
    reward: Array
    told: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: Sequence[tuple[Any, float, float, bool]]) -> History:
        """From rows (action, t, reward, told)."""
        action, t, reward, told = zip(*rows, strict=True) if rows else ((), (), (), ())
        return cls(
            np.array(action), np.array(t, dtype=float), np.array(reward), np.array(told, dtype=bool)
        )

    def __len__(self) -> int:
        return len(self.t)

    def ends(self, n: int) -> History:
        """The first n / 2 in time, when much was tried, and the last n / 2; all if there are fewer.

        Who plays well sees good rewards only: what the worse ones would be, the last alone hide.
        What was told is left out if there is enough else: others may have chosen better still.
        """
        keep = np.argsort(self.t, kind="stable")
        own = keep[~self.told[keep]]
        keep = own if len(own) >= n // 2 else keep
        if len(keep) > n:
            keep = np.r_[keep[: n // 2], keep[len(keep) - n // 2 :]]
        return History(self.action[keep], self.t[keep], self.reward[keep], self.told[keep])
