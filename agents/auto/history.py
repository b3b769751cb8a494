"""Observations that an agent keeps, and posteriors that learn from all of them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.auto.structures import FEW_ARMS
from agents.auto.transform import RewardTransform
from agents.base import Problem
from agents.gp import Array, Posterior, StateSpace
from agents.gp.posteriors.state_space import none_above

MAX_HISTORY = 2048
"""Observations that are kept: the newest."""
Offset = Callable[[float], Array]
"""Prior mean of all arms at a time, on the scale of a posterior."""


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


def replay_all(
    members: list[Posterior],
    problem: Problem,
    history: History,
    scale: RewardTransform,
    offset: Offset | None = None,
) -> float:
    """Show everything to several posteriors; the likeliest one decides whether an expert chose.

    Args: see ``replay``.

    Returns:
        The log probability of past choices that is not in the evidence of the posteriors: that of
        chance, or 0 if an expert's are in it, or if there are none.
    """
    by_chance = -float(history.from_warm_start.sum()) * float(np.log(problem.n_actions or 1))
    if _takes_experts(problem, members):
        hints = [replay(member, history, scale, offset, expert=True) for member in members]
        best = int(np.argmax([member.log_evidence for member in members]))
        if hints[best] > by_chance:
            return 0.0
        for member in members:
            member.reset()
    for member in members:
        replay(member, history, scale, offset)
    return by_chance


def replay(
    posterior: Posterior,
    history: History,
    scale: RewardTransform,
    offset: Offset | None = None,
    *,
    expert: bool = False,
) -> float:
    """Show everything to a posterior, in the order of time.

    Args:
        posterior: Without observations.
        history: What was seen.
        scale: Of the rewards.
        offset: Prior mean of all arms at a time, on that scale; 0 if None.
        expert: Whether the choices of the warm start were the best ones, so that all other arms
            were worth no more.

    Returns:
        The log probability of those choices.
    """
    values, hint = scale.forward(history.reward).tolist(), 0.0
    for i in np.argsort(history.t, kind="stable").tolist():
        action, t = history.action[i], float(history.t[i])
        mean = None if offset is None else offset(t)
        posterior.observe(action, t, values[i] - (0.0 if mean is None else float(mean[action])))
        if expert and history.from_warm_start[i] and isinstance(posterior, StateSpace):
            arms = len(posterior.phi(None))
            bounds = values[i] - (np.zeros(arms) if mean is None else mean)
            hint += none_above(posterior, int(action), t, bounds)
    return hint


def _takes_experts(problem: Problem, members: list[Posterior]) -> bool:
    few = problem.n_actions is not None and problem.n_actions <= FEW_ARMS
    able = all(isinstance(member, StateSpace) for member in members)
    return few and able and problem.warm_start is not None
