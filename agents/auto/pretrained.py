"""The situation in which something was learned elsewhere, which may be wrong here.

A prior (``knowledge.py``) is one candidate among others that doubt it: copies in which all that
lasts, levels and seasons, may lie further from the prior's profile than it says, and one that has
the structure of an agent that was told nothing. They are weighed by evidence, and none is ever
dropped: what was right for long may be wrong from now on.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from agents.auto.belief import Belief
from agents.auto.builders import Builder, Options
from agents.auto.history import History
from agents.auto.knowledge import load_knowledge
from agents.auto.replay import replay
from agents.auto.structures import structure
from agents.base import Problem
from agents.gp import Decay, Kernel, Mixture, Sum, make_posterior
from agents.zoo.gp.parts import ContextView
from agents.zoo.gp.prior import actions_of

SETTLED_BY_PRIOR = ("transform", "season", "persistence", "shared", "sharp", "lookahead", "refit")
"""Settings that mean nothing beside a prior."""
DOUBTS = (4.0, 16.0)
"""Factors of the variances of what lasts, where the prior is doubted."""
WEIGHTS = (1.0, 0.5, 0.5, 0.25)
"""How much the prior, the doubted priors and no prior at all are believed beforehand."""


def check_settings(settings: Collection[str]) -> None:
    """Refuse a setting whose place a prior takes."""
    idle = [name for name in SETTLED_BY_PRIOR if name in settings]
    if idle:
        raise ValueError(f"a prior takes the place of {idle[0]}: leave out one of the two")


class Pretrained(Builder):
    """Builds the belief once: nothing but weights has to be learned.

    Args:
        problem: Its arms are places of the prior.
        options: Whether the warm start may be taken for an expert's.
        prior: Name or file, see ``knowledge.py``.
    """

    prunes = False

    def __init__(self, problem: Problem, options: Options, prior: str) -> None:
        self._knowledge = load_knowledge(prior, problem)
        super().__init__(problem, options, ContextView(actions_of(problem)))

    def build(self, history: History) -> Belief:
        """A belief from all of the history."""
        known, actions = self._knowledge, self.contexts.actions
        unit = float(known.kernel.diagonal(actions.points(range(known.profile.shape[1]))).mean())
        candidates = {"prior": known.kernel}
        candidates |= {f"prior, doubted {d:g} times": doubted(known.kernel, d) for d in DOUBTS}
        candidates["no prior"] = unit * structure(self._problem, period=known.period).kernel
        expert = self._options.expert and self._problem.warm_start is not None
        members = []
        for kernel in candidates.values():
            member = make_posterior(kernel, actions, known.noise_variance, engine="state-space")
            replay(member, history, known.scale, known.offset, expert=expert)
            members.append(member)
        mixture = Mixture(members, np.array(WEIGHTS))
        return Belief(known.scale, mixture, tuple(candidates), known.offset)


def doubted(kernel: Kernel, factor: float) -> Kernel:
    """The kernel with larger variances of what lasts."""
    return Sum(
        tuple(
            term
            if any(isinstance(clock, Decay) for clock in term.clocks)
            else replace(term, variance=factor * term.variance)
            for term in kernel.terms
        )
    )
