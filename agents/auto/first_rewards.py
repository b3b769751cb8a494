"""The situation in which too few rewards have been seen to give them a scale."""

from __future__ import annotations

from agents.auto.belief import Belief, make_member
from agents.auto.history import History
from agents.auto.structures import NOISE, candidates
from agents.base import Problem
from agents.gp import Actions

MIN_REWARDS = 8
"""Rewards that set a scale, where none is known."""


def first_belief(problem: Problem, actions: Actions, history: History) -> Belief:
    """A belief that knows where it has been, not what there was."""
    (level,) = candidates(problem, season=False, persistence=False)
    belief = Belief.of(None, [level], [make_member(problem, actions, level, level.kernel, NOISE)])
    for action, t in zip(history.action, history.t.tolist(), strict=True):
        belief.observe(action, t, 0.0)
    return belief
