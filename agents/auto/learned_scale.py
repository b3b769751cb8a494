"""The situation in which nothing is known: scale, structures and variances by evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from agents.auto.belief import Belief, make_member, noise_variance_of
from agents.auto.builders import Builder, Options
from agents.auto.history import History
from agents.auto.refit import MAX_REFIT_OBSERVATIONS, Refit, refit
from agents.auto.replay import replay_all
from agents.auto.reward_level import RewardLevel, line
from agents.auto.structures import NOISE, Candidate, candidates
from agents.auto.transform import TRANSFORMS, RewardTransform
from agents.base import Problem
from agents.gp import Actions, Array, Kernel
from agents.gp.evidence import HOPELESS
from agents.gp.posteriors.period_search import usual_range
from agents.zoo.gp.parts import ContextView
from agents.zoo.gp.prior import actions_of

MIN_REWARDS = 8
"""Rewards that set a scale, where none is known."""
GROWTH, SEARCH_GROWTH = 3, 2
"""The belief is built anew when this many times as many rewards have been seen; while a season is
searched for."""
MIN_PROBABILITY, MAX_STRUCTURES = 0.02, 3
"""Probability from which a structure is followed further, and how many are at most: on average over
what may be, less is lost than by the best guess alone."""
STEP = 0.3
"""Of the grid of frequencies, in cycles over the time looked at."""
MAX_PERIODS_TRIED = 128
"""Entries of the grid."""
CYCLES = 2.0
"""A season is looked for once this many of it have been seen."""
NOISES = (1.0, 4.0, 16.0)
"""Levels of noise that are tried, over the template's."""


class SearchedSeason(NamedTuple):
    """A structure whose period is searched for, and the noise to begin with."""

    candidate: Candidate
    noise_variance: float


class LearnedScale(Builder):
    """Builds the belief at 8, 24, 72, ... rewards, each time from all that was seen.

    There is a reward level where the season is known: while it has still to be found, that is
    enough to find out.
    """

    def __init__(self, problem: Problem, options: Options) -> None:
        wanted = options.reward_level and bool(problem.periods)
        super().__init__(problem, options, ContextView(actions_of(problem), dimension=int(wanted)))
        self.reward_level = RewardLevel() if wanted else None

    def next_build(self, count: int) -> float:
        """How many rewards there have to be for the next belief."""
        if count < MIN_REWARDS:
            return MIN_REWARDS
        return count * (GROWTH if self._problem.periods else SEARCH_GROWTH)

    def build(self, history: History) -> Belief:
        """A belief from all of the history."""
        problem, options, actions = self._problem, self._options, self.contexts.actions
        if len(history) < MIN_REWARDS:
            return first_belief(problem, actions, history)
        seen = history.ends(MAX_REFIT_OBSERVATIONS)
        slopes = line(history) if self.contexts else None
        found = candidates(problem, **options.parts, reward_level=slopes)
        searched = None if problem.periods else self._searched_season(seen)
        template = found[-1] if searched is None else searched.candidate
        scale = choose_scale(template, actions, seen, options.transform)
        noise = self._noise_variance(scale, searched)
        found = _likely(found, [_fit(c, actions, seen, scale, noise, move=False) for c in found])
        found += [] if searched is None else [searched.candidate]
        fits = [_fit(c, actions, seen, scale, noise, move=options.refit) for c in found]
        members = [
            make_member(problem, actions, candidate, fit.kernel, fit.noise_variance)
            for candidate, fit in zip(found, fits, strict=True)
        ]
        replay_all(members, problem, history, scale, expert=options.expert)
        return Belief.of(scale, found, members)

    def _searched_season(self, seen: History) -> SearchedSeason | None:
        """A season of unknown length; None if none is wanted, or too little was seen."""
        if not self._options.season:
            return None

        def structure(period: float) -> Candidate:
            return candidates(self._problem, **self._options.parts, period=period)[-1]

        y = RewardTransform.of(seen.reward, "identity").forward(seen.reward)
        actions = self.contexts.actions
        guess = guess_period(lambda period: structure(period).kernel, actions, seen, y, NOISE)
        if guess is None:
            return None
        return SearchedSeason(replace(structure(guess.period), searched=True), guess.noise_variance)

    def _noise_variance(self, scale: RewardTransform, searched: SearchedSeason | None) -> float:
        """As the problem says, or as it was found beside a season, or as is usual."""
        if searched is not None and self._problem.noise_std is None:
            return searched.noise_variance
        return noise_variance_of(self._problem, scale)


def choose_scale(
    candidate: Candidate, actions: Actions, history: History, transform: str
) -> RewardTransform:
    """The transformation with more evidence, each with its mean and scale of the rewards."""
    names = TRANSFORMS if transform == "auto" else (transform,)
    scales = [RewardTransform.of(history.reward, name) for name in names]

    def evidence(scale: RewardTransform) -> float:
        fit = _fit(candidate, actions, history, scale, NOISE, move=False)
        return fit.log_evidence + scale.log_slope(history.reward)

    return max(scales, key=evidence) if len(scales) > 1 else scales[0]


def _fit(
    candidate: Candidate,
    actions: Actions,
    history: History,
    scale: RewardTransform,
    noise: float,
    *,
    move: bool,
) -> Refit:
    y = scale.forward(history.reward)
    return refit(candidate.kernel, actions, history, y, noise, move=move)


def _likely(found: list[Candidate], fits: list[Refit]) -> list[Candidate]:
    """The best few, most probable first, as far as they are not improbable."""
    score = np.log([c.weight for c in found]) + [fit.log_evidence for fit in fits]
    weight = np.exp(score - score.max())
    order = np.argsort(-weight, kind="stable")[:MAX_STRUCTURES]
    return [found[i] for i in order if weight[i] >= MIN_PROBABILITY * weight.sum()]


def first_belief(problem: Problem, actions: Actions, history: History) -> Belief:
    """A belief that knows where it has been, not what there was."""
    (level,) = candidates(problem, season=False, persistence=False)
    belief = Belief.of(None, [level], [make_member(problem, actions, level, level.kernel, NOISE)])
    for action, t in zip(history.action, history.t.tolist(), strict=True):
        belief.observe(action, t, 0.0)
    return belief


class Guess(NamedTuple):
    """A period, and the variance of the noise that goes with it."""

    period: float
    noise_variance: float


def guess_period(
    make: Callable[[float], Kernel],
    actions: Actions,
    history: History,
    y: Array,
    noise_variance: float,
) -> Guess | None:
    """A first guess at a season of unknown length; None if too little was seen.

    Some rewards are explained by a season of each length on a grid, at several levels of noise. The
    best length is only good enough to learn variances with; the period itself is then searched for
    with these (``agents/gp/posteriors/period_search.py``).

    Args:
        make: The kernel for a period.
        actions: Where the actions come from.
        history: Observations.
        y: Their rewards on the scale of the kernel.
        noise_variance: Of the template.
    """
    span = float(np.ptp(history.t))
    low, high = usual_range(None)
    high = min(high, span / CYCLES)
    if high <= low:
        return None
    count = int(np.ceil((1.0 / low - 1.0 / high) * span / STEP))
    periods = 1.0 / np.linspace(1.0 / high, 1.0 / low, min(count, MAX_PERIODS_TRIED) + 1)
    noises, points = noise_variance * np.array(NOISES), actions.points(history.action)
    grams = [make(period).gram(points, history.t, points, history.t) for period in periods.tolist()]
    found = np.array([[_log_density(K, y, noise) for noise in noises] for K in grams])
    best, level = np.unravel_index(found.argmax(), found.shape)
    return Guess(float(periods[best]), float(noises[level]))


def _log_density(K: Array, y: Array, noise_variance: float) -> float:
    """Of N(0, K + noise) at y, up to a constant."""
    L, wrong = lapack.dpotrf(K + noise_variance * np.eye(len(y)), lower=1)
    if wrong:
        return -HOPELESS
    alpha = lapack.dpotrs(L, y, lower=1)[0]
    return -0.5 * float(y @ alpha) - float(np.log(np.diagonal(L)).sum())
