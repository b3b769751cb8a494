"""Letting posteriors see the history, in which past choices may have been an expert's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.auto.belief import Offset
from agents.auto.history import History
from agents.auto.structures import FEW_ARMS
from agents.auto.transform import RewardTransform
from agents.base import Problem
from agents.gp import Actions, Finite, InContext, Posterior, StateSpace
from agents.gp.posteriors.censored import none_above


def replay_all(
    members: list[Posterior],
    problem: Problem,
    history: History,
    scale: RewardTransform,
    offset: Offset | None = None,
    *,
    expert: bool,
) -> float:
    """Let several posteriors see everything; whether an expert chose, the most likely one decides.

    Args: see ``replay``; here ``expert`` says whether the warm start may have been an expert's.

    Returns:
        The log probability of past choices that is not in the evidence of the posteriors: that of
        chance, or 0 if an expert's are in it, or if there are none.
    """
    if expert and _takes_experts(problem, members):
        hints = [replay(member, history, scale, offset, expert=True) for member in members]
        best = int(np.argmax([member.log_evidence for member in members]))
        if hints[best] > _by_chance(problem, history):
            return 0.0
        for member in members:
            member.reset()
    for member in members:
        replay(member, history, scale, offset)
    return _by_chance(problem, history) if history.from_warm_start.any() else 0.0


def replay(
    posterior: Posterior,
    history: History,
    scale: RewardTransform,
    offset: Offset | None = None,
    *,
    expert: bool = False,
) -> float:
    """Let a posterior see everything, in the order of time.

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
            arm, rows = _in_its_context(posterior.actions, action)
            bounds = values[i] - (np.zeros(len(rows)) if mean is None else mean)
            hint += none_above(posterior, arm, t, bounds, rows)
    return hint


def _in_its_context(actions: Actions, action: Any) -> tuple[int, NDArray[Any]]:
    """An arm, and all arms in the context in which it was chosen."""
    if isinstance(actions, InContext):
        return int(action[0]), actions.joined(None, action[1:])
    assert isinstance(actions, Finite)
    return int(action), np.arange(len(actions))


def _takes_experts(problem: Problem, members: list[Posterior]) -> bool:
    few = problem.n_actions is not None and problem.n_actions <= FEW_ARMS
    able = all(isinstance(member, StateSpace) for member in members)
    return few and able and problem.warm_start is not None


def _by_chance(problem: Problem, history: History) -> float:
    """Log probability of what was chosen before if every action was as likely as any other."""
    return -float(history.from_warm_start.sum()) * float(np.log(problem.n_actions or 1))
