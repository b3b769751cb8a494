"""The situation in which nothing is known: scale and variances by evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from agents.auto.belief import Belief, make_member, noise_variance_of
from agents.auto.builders import Builder, Options
from agents.auto.history import History
from agents.auto.refit import MAX_REFIT_OBSERVATIONS, Grams, Refit, refit
from agents.auto.replay import replay_all
from agents.auto.structures import NOISE, Candidate, structure
from agents.auto.transform import TRANSFORMS, RewardTransform
from agents.base import Problem
from agents.gp import Actions, Array, Kernel
from agents.gp.evidence import HOPELESS
from agents.gp.posteriors.period_search import usual_range

MIN_REWARDS = 8
"""Rewards that set a scale, where none is known."""
GROWTH = 2
"""The belief is built anew when this many times as many rewards have been seen."""
STEP = 0.3
"""Of the grid of frequencies, in cycles over the time looked at."""
MAX_PERIODS_TRIED = 128
"""Entries of the grid."""
CYCLES = 2.0
"""A season is looked for once this many of it have been seen."""
NOISES = (0.3, 1.0, 4.0)
"""Levels of noise that are tried, over the template's."""


class SearchedSeason(NamedTuple):
    """A structure whose period is searched for, and the noise to begin with."""

    candidate: Candidate
    noise_variance: float


class Fitted(NamedTuple):
    """A structure, and its variances as they were learned."""

    candidate: Candidate
    fit: Refit


def next_build(count: int) -> int:
    """How many rewards there have to be for the next belief: 8, 16, 32, ..."""
    return MIN_REWARDS if count < MIN_REWARDS else count * GROWTH


def fitted(problem: Problem, options: Options, grams: Grams, y: Array, noise: float) -> Fitted:
    """All that may hold in the world, with its variances as learned from some rewards.

    A season has a sharp part where that has more evidence: without it the state is shorter.
    """
    kinds = (False, True) if options.sharp and problem.n_actions is not None else (False,)
    found = [structure(problem, **options.parts, sharp=sharp) for sharp in kinds]
    if found[0].kernel == found[-1].kernel:
        found = found[:1]
    fits = [Fitted(c, refit(c.kernel, grams, y, noise, move=options.refit)) for c in found]
    return max(fits, key=lambda each: each.fit.log_evidence)


class LearnedScale(Builder):
    """Builds the belief at 8, 16, 32, ... rewards, each time from all that was seen."""

    def next_build(self, count: int) -> float:
        """How many rewards there have to be for the next belief."""
        return next_build(count)

    def build(self, history: History) -> Belief:
        """A belief from all of the history."""
        problem, options, actions = self._problem, self._options, self.coordinates.actions
        if len(history) < MIN_REWARDS:
            return first_belief(problem, actions, history)
        seen = history.ends(MAX_REFIT_OBSERVATIONS)
        grams = Grams(actions, seen)
        searched = None if problem.periods else self._searched_season(seen)
        template = structure(problem, **options.parts) if searched is None else searched.candidate
        scale = choose_scale(template, grams, seen, options.transform)
        noise, y = self._noise_variance(scale, searched), scale.forward(seen.reward)
        found = [fitted(problem, options, grams, y, noise)]
        if searched is not None:
            kernel = searched.candidate.kernel
            fit = refit(kernel, grams, y, noise, move=options.refit)
            found.append(Fitted(searched.candidate, fit))
        members = [
            make_member(problem, actions, candidate, fit.kernel, fit.noise_variance)
            for candidate, fit in found
        ]
        choices = replay_all(members, problem, history, scale, expert=options.expert)
        belief = Belief.of(scale, [candidate for candidate, _ in found], members)
        return replace(belief, looks_ahead=options.lookahead, choices=choices)

    def _searched_season(self, seen: History) -> SearchedSeason | None:
        """A season of unknown length; None if none is wanted, or too little was seen."""
        if not self._options.season:
            return None

        def with_period(period: float) -> Candidate:
            return structure(self._problem, **self._options.parts, period=period)

        y = RewardTransform.of(seen.reward, "identity").forward(seen.reward)
        actions = self.coordinates.actions
        guess = guess_period(lambda period: with_period(period).kernel, actions, seen, y, NOISE)
        if guess is None:
            return None
        found = replace(with_period(guess.period), searched=True)
        return SearchedSeason(found, guess.noise_variance)

    def _noise_variance(self, scale: RewardTransform, searched: SearchedSeason | None) -> float:
        """As the problem says, or as it was found beside a season, or as is usual."""
        if searched is not None and self._problem.noise_std is None:
            return searched.noise_variance
        return noise_variance_of(self._problem, scale)


def choose_scale(
    candidate: Candidate, grams: Grams, history: History, transform: str
) -> RewardTransform:
    """The transformation with most evidence, each with its mean and scale of the rewards."""
    names = TRANSFORMS if transform == "auto" else (transform,)
    scales = [RewardTransform.of(history.reward, name) for name in names]

    def evidence(scale: RewardTransform) -> float:
        y = scale.forward(history.reward)
        fit = refit(candidate.kernel, grams, y, NOISE, move=False)
        return fit.log_evidence + scale.log_slope(history.reward)

    return max(scales, key=evidence) if len(scales) > 1 else scales[0]


def first_belief(problem: Problem, actions: Actions, history: History) -> Belief:
    """A belief that knows where it has been, not what there was."""
    level = structure(problem, season=False, persistence=False)
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
