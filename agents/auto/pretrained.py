"""The situation in which something was learned elsewhere, which may be wrong here.

A prior (``knowledge.py``) is one candidate among others that doubt it: copies in which all that
lasts, levels and seasons, may lie further from the prior's profile than it says, weighed by
evidence and never dropped; and the belief of an agent that was told nothing, with a scale and
variances of its own, which takes their place as long as it has more evidence. That is looked at
again at 8, 16, 32, ... rewards: what was right for long may turn out wrong, and the other way
round.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from agents.auto.belief import Belief, Offset
from agents.auto.builders import Builder, Options
from agents.auto.history import History
from agents.auto.knowledge import load_knowledge
from agents.auto.learned_scale import MIN_REWARDS, LearnedScale
from agents.auto.replay import replay_all
from agents.base import Problem
from agents.gp import Decay, Kernel, Mixture, Sum, make_posterior

SETTLED_BY_PRIOR = ("transform", "season", "persistence", "shared", "sharp", "lookahead", "refit")
"""Settings that mean nothing beside a prior."""
DOUBTS = (4.0, 16.0)
"""Factors of the variances of what lasts, where the prior is doubted."""
WEIGHTS = (1.0, 0.5, 0.5)
"""How much the prior and the doubted priors are believed beforehand."""
MARGIN = 20.0
"""Log evidence by which no prior must be ahead: its variances were fitted to these very rewards,
and what a prior gets wrong about scatter costs it evidence, but little regret."""


def check_settings(settings: Collection[str]) -> None:
    """Refuse a setting whose place a prior takes."""
    idle = [name for name in SETTLED_BY_PRIOR if name in settings]
    if idle:
        raise ValueError(f"a prior takes the place of {idle[0]}: leave out one of the two")


class Pretrained(Builder):
    """Builds the belief at 1, 8, 16, 32, ... rewards, with the prior or without.

    Args:
        problem: Its arms are places of the prior.
        options: Whether the warm start may be taken for an expert's.
        prior: Name or file, see ``knowledge.py``.
    """

    prunes = False

    def __init__(self, problem: Problem, options: Options, prior: str) -> None:
        self._knowledge = load_knowledge(prior, problem)
        self._told_nothing = LearnedScale(problem, options)
        super().__init__(problem, options)

    @property
    def offset(self) -> Offset:
        """Prior mean of all arms at a time."""
        return replace(self._knowledge, profile=self.facing * self._knowledge.profile).offset

    def next_build(self, count: int) -> float:
        """How many rewards there have to be for the next belief."""
        return 1 if count < 1 else self._told_nothing.next_build(count)

    def build(self, history: History) -> Belief:
        """A belief from all of the history."""
        self.facing = self._faced(history) if len(history) else 1.0
        pretrained = self._pretrained(history)
        if len(history) < MIN_REWARDS:
            return pretrained
        plain = self._told_nothing.build(history)
        ahead = plain.evidence(history) - pretrained.evidence(history)
        return plain if ahead > MARGIN else pretrained

    def _pretrained(self, history: History) -> Belief:
        known, actions = self._knowledge, self.coordinates.actions
        candidates = {"prior": known.kernel}
        candidates |= {f"prior, doubted {d:g} times": doubted(known.kernel, d) for d in DOUBTS}
        members = [
            make_posterior(kernel, actions, known.noise_variance, engine="state-space")
            for kernel in candidates.values()
        ]
        seen = (members, self._problem, history, known.scale, self.offset)
        choices = replay_all(*seen, expert=self._options.expert)
        mixture = Mixture(members, np.array(WEIGHTS))
        return Belief(known.scale, mixture, tuple(candidates), self.offset, choices=choices)

    def _faced(self, history: History) -> float:
        """-1 where rewards lie nearer to the negative of the profile: the least is sought then."""
        y = self._knowledge.scale.forward(history.reward)
        expected = self._knowledge.at(history.action, history.t)
        return 1.0 if np.abs(y - expected).sum() <= np.abs(y + expected).sum() else -1.0


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
