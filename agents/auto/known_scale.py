"""The situation in which the problem says how rewards are scaled: the paper's structures."""

from __future__ import annotations

import math

from agents.auto.belief import Belief, make_member, noise_variance_of
from agents.auto.history import History
from agents.auto.options import Options
from agents.auto.replay import replay_all
from agents.auto.structures import in_contexts, known_scale_candidates
from agents.auto.transform import RewardTransform
from agents.base import Problem
from agents.gp import Normaliser
from agents.zoo.gp.parts import ContextView, context_columns
from agents.zoo.gp.prior import actions_of


class KnownScale:
    """Builds the belief once: nothing but the weights of the structures has to be learned."""

    reward_level = None

    def __init__(self, problem: Problem, options: Options) -> None:
        assert problem.reward_scale is not None
        self._problem, self._options = problem, options
        self._scale = RewardTransform("identity", Normaliser(*problem.reward_scale))
        self.contexts = ContextView(actions_of(problem), context_columns(problem))

    def next_build(self, count: int) -> float:
        """The belief is built once: no number of rewards calls for another."""
        return math.inf

    def build(self, history: History) -> Belief:
        """A belief from all of the history."""
        problem, options = self._problem, self._options
        if self.contexts:
            found = in_contexts(problem, season=options.season)
        else:
            parts = {"season": options.season, "persistence": options.persistence}
            found = known_scale_candidates(problem, **parts)
        noise, actions = noise_variance_of(problem, self._scale), self.contexts.actions
        members = [make_member(problem, actions, c, c.kernel, noise) for c in found]
        replay_all(members, problem, history, self._scale, expert=options.expert)
        return Belief.of(self._scale, found, members)
