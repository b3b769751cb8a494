"""What an agent has seen, as far as it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.gp import Array

MAX_HISTORY = 2048
"""Observations that are kept: the newest."""


class Observation(NamedTuple):
    """An action as a posterior knows it, its time, its reward, and whether others chose it."""

    action: Any
    t: float
    reward: float
    from_warm_start: bool


@dataclass(frozen=True, eq=False)
class History:
    """Observations in the order in which they came.

    Attributes:
        action: In the coordinates of the kernel: arms, points (n, d), or either with contexts.
        t: Times.
        reward: Rewards.
        from_warm_start: Whether each was part of the warm start.
    """

    action: NDArray[Any]
    t: Array
    reward: Array
    from_warm_start: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: Sequence[Observation]) -> History:
        """From single observations."""
        action, t, reward, before = zip(*rows, strict=True) if rows else ((), (), (), ())
        flags = np.array(before, dtype=bool)
        return cls(np.array(action), np.array(t, dtype=float), np.array(reward), flags)

    def rows(self) -> list[Observation]:
        """The single observations."""
        actions = self.action.tolist() if self.action.dtype.kind == "i" else self.action
        columns = [column.tolist() for column in (self.t, self.reward, self.from_warm_start)]
        return [Observation(*row) for row in zip(actions, *columns, strict=True)]

    def __len__(self) -> int:
        return len(self.t)

    def ends(self, n: int) -> History:
        """The first n / 2 in time, when much was tried, and the last n / 2; all if there are fewer.

        Who plays well sees good rewards only: what the worse ones would be, the last alone hide.
        The warm start is left out if there is enough else: others may have chosen better still.
        """
        keep = np.argsort(self.t, kind="stable")
        own = keep[~self.from_warm_start[keep]]
        keep = own if len(own) >= n // 2 else keep
        if len(keep) > n:
            keep = np.r_[keep[: n // 2], keep[len(keep) - n // 2 :]]
        flags = self.from_warm_start[keep]
        return History(self.action[keep], self.t[keep], self.reward[keep], flags)
