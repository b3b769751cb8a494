"""Builders of beliefs: what auto-gp-ucb begins with, and when it looks at everything anew."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from agents.auto.belief import Belief, Offset, make_member, noise_variance_of
from agents.auto.history import History
from agents.auto.replay import replay_all
from agents.auto.structures import in_contexts, known_scale_candidates
from agents.auto.transform import TRANSFORMS, RewardTransform
from agents.base import Problem
from agents.checks import flag, one_of
from agents.gp import Normaliser
from agents.zoo.gp.coordinates import Coordinates


@dataclass(frozen=True)
class Options:
    """What may be switched off or settled; the settings of ``AutoGPUCB`` of the same names."""

    transform: str = "auto"
    season: bool = True
    persistence: bool = True
    shared: bool = True
    sharp: bool = True
    lookahead: bool = True
    expert: bool = True
    refit: bool = True

    def __post_init__(self) -> None:
        one_of("transform", self.transform, ("auto", *TRANSFORMS))
        for switch in fields(self)[1:]:
            flag(switch.name, getattr(self, switch.name))

    @property
    def parts(self) -> dict[str, Any]:
        """The parts of a structure that may be there."""
        return {k: getattr(self, k) for k in ("season", "persistence", "shared")}


class Builder:
    """Builds the belief once; a subclass says from what, and may build it again.

    Attributes:
        coordinates: Of the actions, and of their contexts if there are any.
        prunes: Whether candidates that have become improbable are dropped.
    """

    prunes = True
    facing = 1.0
    """-1 where rewards are the negatives of what a prior is about."""

    def __init__(self, problem: Problem, options: Options, *, contexts: bool = False) -> None:
        self._problem, self._options = problem, options
        self.coordinates = Coordinates(problem, contexts=contexts)

    @property
    def offset(self) -> Offset | None:
        """Prior mean of all arms at a time; None if it is 0."""
        return None

    def next_build(self, count: int) -> float:
        """How many rewards there have to be for the next belief: by default none is built again."""
        return math.inf

    def build(self, history: History) -> Belief:
        """A belief from all of the history."""
        raise NotImplementedError


class KnownScale(Builder):
    """Where the problem says how rewards are scaled: the paper's structures.

    Nothing but their weights has to be learned.
    """

    def __init__(self, problem: Problem, options: Options) -> None:
        assert problem.reward_scale is not None
        self._scale = RewardTransform("identity", Normaliser(*problem.reward_scale))
        super().__init__(problem, options, contexts=True)

    def build(self, history: History) -> Belief:
        """A belief from all of the history."""
        problem, options = self._problem, self._options
        if self.coordinates.have_contexts:
            found = in_contexts(problem, season=options.season)
        else:
            parts = {"season": options.season, "persistence": options.persistence}
            found = known_scale_candidates(problem, **parts)
        noise, actions = noise_variance_of(problem, self._scale), self.coordinates.actions
        members = [make_member(problem, actions, c, c.kernel, noise) for c in found]
        replay_all(members, problem, history, self._scale, expert=options.expert)
        return Belief.of(self._scale, found, members)
