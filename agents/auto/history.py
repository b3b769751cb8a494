"""Stored observations of an agent, and their replay into posteriors."""

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
"""Maximum number of stored observations; older observations are dropped."""
Offset = Callable[[float], Array]
"""Function that returns the prior mean of all arms at a time, on the scale of a posterior."""


class Observation(NamedTuple):
    """Observation: action in the coordinates of the kernel, time of the decision, and reward.

    ``from_warm_start`` is true if the decision belongs to the warm start.
    """

    action: Any
    t: float
    reward: float
    from_warm_start: bool


@dataclass(frozen=True, eq=False)
class History:
    """Observations in order of arrival.

    Attributes:
        action: Actions in the coordinates of the kernel: arms of shape (n,), points of shape
            (n, d), or rows that contain an arm or a point, followed by a context.
        t: Times, shape (n,).
        reward: Rewards, shape (n,).
        from_warm_start: Flags, true for the observations of the warm start, shape (n,).
    """

    action: NDArray[Any]
    t: Array
    reward: Array
    from_warm_start: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: Sequence[Observation]) -> History:
        """Return a history that consists of the given observations."""
        action, t, reward, before = zip(*rows, strict=True) if rows else ((), (), (), ())
        flags = np.array(before, dtype=bool)
        return cls(np.array(action), np.array(t, dtype=float), np.array(reward), flags)

    def __len__(self) -> int:
        return len(self.t)

    def ends(self, n: int) -> History:
        """Return the first and the last n / 2 observations by time, or all if there are at most n.

        A good policy observes mainly high rewards, so its newest observations contain few low
        rewards. The oldest observations are included for this reason. The warm start
        may contain only good choices, so it is omitted if there are at least n / 2 other
        observations.
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
    """Replay a history into posteriors, and decide whether an expert chose the warm start.

    An expert is assumed if, under the posterior with the highest evidence, the probability that
    the chosen arms were the best exceeds the probability of choosing these arms at random.

    Args:
        members: Posteriors without observations.
        problem: Problem of the agent.
        history: Observations.
        scale: Transform of the rewards.
        offset: Prior mean of all arms at a time, on the transformed scale; None for 0.

    Returns:
        Log probability of the choices of the warm start under random choice. The result is 0 if an
        expert is assumed, since the evidence of the posteriors then includes the choices, or if
        there is no warm start.
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
    """Replay a history into a posterior, in order of time.

    Args:
        posterior: Posterior without observations.
        history: Observations.
        scale: Transform of the rewards.
        offset: Prior mean of all arms at a time, on the transformed scale; None for 0.
        expert: Assume that the choices of the warm start were optimal, so that the mean of no other
            arm exceeded the observed reward.

    Returns:
        Log probability of the choices of the warm start if ``expert`` is true, otherwise 0.
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
    """Return whether the choices of a warm start can be treated as those of an expert."""
    few = problem.n_actions is not None and problem.n_actions <= FEW_ARMS
    able = all(isinstance(member, StateSpace) for member in members)
    return few and able and problem.warm_start is not None
