"""The situation in which something was learned elsewhere: it settles structures and scale."""

from __future__ import annotations

import math
from collections.abc import Collection

from agents.auto.belief import Belief
from agents.auto.history import History
from agents.auto.knowledge import load_knowledge
from agents.auto.options import Options
from agents.auto.replay import replay
from agents.base import Problem
from agents.gp import Mixture, make_posterior
from agents.zoo.gp.parts import ContextView
from agents.zoo.gp.prior import actions_of

SETTLED_BY_PRIOR = ("transform", "season", "persistence", "shared", "reward_level", "refit")
"""Settings that mean nothing beside a prior."""


def check_settings(settings: Collection[str]) -> None:
    """Refuse a setting whose place a prior takes."""
    idle = [name for name in SETTLED_BY_PRIOR if name in settings]
    if idle:
        raise ValueError(f"a prior takes the place of {idle[0]}: leave out one of the two")


class Pretrained:
    """Builds the belief once, around the profiles of a prior.

    Args:
        problem: Its arms are places of the prior.
        options: Whether the warm start may be taken for an expert's.
        prior: Name or file, see ``knowledge.py``.
    """

    reward_level = None

    def __init__(self, problem: Problem, options: Options, prior: str) -> None:
        self._knowledge = load_knowledge(prior, problem)
        self._expert = options.expert and problem.warm_start is not None
        self.contexts = ContextView(actions_of(problem))

    def next_build(self, count: int) -> float:
        """The belief is built once: no number of rewards calls for another."""
        return math.inf

    def build(self, history: History) -> Belief:
        """A belief from all of the history."""
        known, actions = self._knowledge, self.contexts.actions
        member = make_posterior(known.kernel, actions, known.noise_variance, engine="state-space")
        replay(member, history, known.scale, known.offset, expert=self._expert)
        return Belief(known.scale, Mixture([member]), ("prior",), known.offset)
