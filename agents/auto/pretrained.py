"""The situation in which something was learned elsewhere, which may be wrong here.

A prior (``knowledge.py``) is one candidate among others that doubt it: one in which all that lasts,
levels and seasons, may lie further from the prior's profile than it says, and one that knows
nothing but what the rewards say, as an agent without a prior would. They are weighed by evidence.
None is ever dropped: what was right for long may be wrong from now on.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from agents.auto.belief import Belief
from agents.auto.builders import Builder, Options
from agents.auto.history import History
from agents.auto.knowledge import load_knowledge
from agents.auto.learned_scale import MIN_REWARDS, fitted, next_build
from agents.auto.refit import MAX_REFIT_OBSERVATIONS, Grams
from agents.auto.replay import replay
from agents.auto.structures import NOISE
from agents.base import Problem
from agents.gp import Decay, Kernel, Mixture, Posterior, Sum, make_posterior
from agents.zoo.gp.parts import ContextView
from agents.zoo.gp.prior import actions_of

SETTLED_BY_PRIOR = ("transform", "season", "persistence", "shared", "sharp", "refit")
"""Settings that mean nothing beside a prior."""
DOUBT = 4.0
"""Factor of the variances of what lasts, where the prior is doubted."""
WEIGHTS = (1.0, 0.5, 0.25)
"""How much the prior, the doubted prior and no prior at all are believed beforehand."""


def check_settings(settings: Collection[str]) -> None:
    """Refuse a setting whose place a prior takes."""
    idle = [name for name in SETTLED_BY_PRIOR if name in settings]
    if idle:
        raise ValueError(f"a prior takes the place of {idle[0]}: leave out one of the two")


class Pretrained(Builder):
    """Builds the belief at 8, 16, 32, ... rewards: what knows nothing learns its variances.

    Args:
        problem: Its arms are places of the prior.
        options: Whether the warm start may be taken for an expert's.
        prior: Name or file, see ``knowledge.py``.
    """

    prunes = False

    def __init__(self, problem: Problem, options: Options, prior: str) -> None:
        self._knowledge = load_knowledge(prior, problem)
        super().__init__(problem, options, ContextView(actions_of(problem)))

    def next_build(self, count: int) -> float:
        """How many rewards there have to be for the next belief."""
        return next_build(count)

    def build(self, history: History) -> Belief:
        """A belief from all of the history."""
        known, actions = self._knowledge, self.contexts.actions
        candidates: dict[str, tuple[Kernel, float]] = {
            "prior": (known.kernel, known.noise_variance),
            "doubted prior": (doubted(known.kernel), known.noise_variance),
        }
        if len(history) >= MIN_REWARDS:
            candidates["no prior"] = self._no_prior(history)
        members = [
            make_posterior(kernel, actions, noise, engine="state-space")
            for kernel, noise in candidates.values()
        ]
        self._replay(members, history)
        mixture = Mixture(members, np.array(WEIGHTS[: len(members)]))
        return Belief(known.scale, mixture, tuple(candidates), known.offset, looks_ahead=True)

    def _no_prior(self, history: History) -> tuple[Kernel, float]:
        """What the rewards alone say about variances, in units of their own."""
        known, seen = self._knowledge, history.ends(MAX_REFIT_OBSERVATIONS)
        y = known.scale.forward(seen.reward) - known.at(seen.action, seen.t)
        unit = max(float(np.mean(y**2)), 1e-6)
        grams = Grams(self.contexts.actions, seen)
        fit = fitted(self._problem, self._options, grams, y / np.sqrt(unit), NOISE).fit
        return unit * fit.kernel, unit * fit.noise_variance

    def _replay(self, members: list[Posterior], history: History) -> None:
        known = self._knowledge
        expert = self._options.expert and self._problem.warm_start is not None
        for member in members:
            replay(member, history, known.scale, known.offset, expert=expert)


def doubted(kernel: Kernel) -> Kernel:
    """The kernel with larger variances of what lasts."""
    return Sum(
        tuple(
            term
            if any(isinstance(clock, Decay) for clock in term.clocks)
            else replace(term, variance=DOUBT * term.variance)
            for term in kernel.terms
        )
    )
