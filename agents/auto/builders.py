"""Builders of beliefs: what auto-gp-ucb starts with, and when it looks at everything again.

With a prior (``learned_prior.py``) that is one candidate among others that doubt it: copies in
which all that lasts, levels and seasons, may lie further from the prior's profile than it says,
weighed by evidence and never dropped; and the belief of an agent without a prior, with a scale and
variances of its own, which replaces them as long as it has more evidence. Both are built again at
8, 16, 32, ... rewards: a prior that was right for long may turn out wrong, and the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from agents.auto.belief import Belief
from agents.auto.history import History, replay_all
from agents.auto.learned_prior import load_prior
from agents.auto.refit import MAX_REFIT_OBSERVATIONS, Grams, Refit, refit
from agents.auto.structures import (
    NOISE,
    Structure,
    in_contexts,
    known_scale_structures,
    level,
    structure,
)
from agents.auto.transform import TRANSFORMS, RewardTransform
from agents.base import Problem
from agents.checks import one_of
from agents.gp import (
    Actions,
    Array,
    Decay,
    Kernel,
    Mixture,
    Normaliser,
    PeriodSearch,
    Posterior,
    Sum,
    make_posterior,
)
from agents.gp.evidence import HOPELESS
from agents.gp.posteriors.mixture import make_members
from agents.gp.posteriors.period_search import usual_range
from agents.zoo.gp.coordinates import Coordinates
from agents.zoo.gp.prior import noise_variance_of

MIN_REWARDS = 8
"""Rewards that set a scale, where none is known."""
GROWTH = 2
"""The belief is built again when this many times as many rewards have been seen."""
STEP = 0.3
"""Step of the grid of frequencies, in cycles over the time looked at."""
MAX_PERIODS_TRIED = 128
"""Entries of the grid."""
CYCLES = 2.0
"""A season is looked for once this many of it have been seen."""
NOISES = (0.3, 1.0, 4.0)
"""Levels of noise that are tried, over the template's."""
DOUBTS = (4.0, 16.0)
"""Factors of the variances of what lasts, where a prior is doubted."""
WEIGHTS = (1.0, 0.5, 0.5)
"""Prior weights of the prior and the doubted priors."""
MARGIN = 20.0
"""Log evidence by which no prior must be ahead: its variances were fitted to these very rewards,
and what a prior gets wrong about scatter costs it evidence, but little regret."""


class Builder:
    """Builds the belief once; a subclass says from what, and may build it again.

    Attributes:
        coordinates: Of the actions, and of their contexts if there are any.
        prunes: Whether structures that have become improbable are dropped.
    """

    prunes = True

    def __init__(self, problem: Problem, transform: str, *, contexts: bool = False) -> None:
        self._transform = one_of("transform", transform, ("auto", *TRANSFORMS))
        self._problem, self.coordinates = problem, Coordinates(problem, contexts=contexts)

    def next_build(self, count: int) -> float:
        """Number of rewards at which the next belief is built: by default none is."""
        return math.inf

    def build(self, history: History) -> Belief:
        """A belief from all of the history."""
        raise NotImplementedError


class KnownScale(Builder):
    """Builder for problems with a known scale of rewards: the paper's structures.

    Nothing but their weights has to be learned.
    """

    def __init__(self, problem: Problem, transform: str) -> None:
        assert problem.reward_scale is not None
        self._scale = RewardTransform("identity", Normaliser(*problem.reward_scale))
        super().__init__(problem, transform, contexts=True)

    def build(self, history: History) -> Belief:
        """A belief from all of the history."""
        problem, actions = self._problem, self.coordinates.actions
        of = in_contexts if self.coordinates.have_contexts else known_scale_structures
        structures, noise = of(problem), _noise_variance(self._scale, problem)
        members = [make_member(problem, actions, each, each.kernel, noise) for each in structures]
        replay_all(members, problem, history, self._scale)
        return Belief.of(self._scale, structures, members)


class SearchedSeason(NamedTuple):
    """A structure whose period is searched for, and the noise to start with."""

    structure: Structure
    noise_variance: float


class Fitted(NamedTuple):
    """A structure, and its variances as they were learned."""

    structure: Structure
    fit: Refit


class LearnedScale(Builder):
    """Builder for problems without one: scale and variances by evidence."""

    def next_build(self, count: int) -> float:
        """Number of rewards at which the next belief is built."""
        return MIN_REWARDS if count < MIN_REWARDS else count * GROWTH

    def build(self, history: History) -> Belief:
        """A belief from all of the history."""
        problem, actions = self._problem, self.coordinates.actions
        if len(history) < MIN_REWARDS:
            return first_belief(problem, actions, history)
        seen = history.ends(MAX_REFIT_OBSERVATIONS)
        grams = Grams(actions, seen)
        searched = None if problem.periods else self._searched_season(seen)
        template = structure(problem) if searched is None else searched.structure
        scale = choose_scale(template, grams, seen, self._transform)
        noise, y = self._noise_variance(scale, searched), scale.forward(seen.reward)
        fitted = [_fitted(problem, grams, y, noise)]
        if searched is not None:
            fit = refit(searched.structure.kernel, grams, y, noise)
            fitted.append(Fitted(searched.structure, fit))
        members = [
            make_member(problem, actions, each, fit.kernel, fit.noise_variance)
            for each, fit in fitted
        ]
        choices = replay_all(members, problem, history, scale)
        belief = Belief.of(scale, [each for each, _ in fitted], members)
        return replace(belief, looks_ahead=True, choices=choices)

    def _searched_season(self, seen: History) -> SearchedSeason | None:
        """A season of unknown length; None if too little was seen."""

        def with_period(period: float) -> Structure:
            return structure(self._problem, period=period)

        y = RewardTransform.of(seen.reward, "identity").forward(seen.reward)
        actions = self.coordinates.actions
        guess = guess_period(lambda period: with_period(period).kernel, actions, seen, y, NOISE)
        if guess is None:
            return None
        found = replace(with_period(guess.period), searched=True)
        return SearchedSeason(found, guess.noise_variance)

    def _noise_variance(self, scale: RewardTransform, searched: SearchedSeason | None) -> float:
        """The problem's, or the one found beside a season, or the usual one."""
        if searched is not None and self._problem.noise_std is None:
            return searched.noise_variance
        return _noise_variance(scale, self._problem)


def _fitted(problem: Problem, grams: Grams, y: Array, noise: float) -> Fitted:
    """All that may hold in the world, with its variances as learned from some rewards.

    A season has a sharp part where that has more evidence: without it the state is shorter.
    """
    tried = [structure(problem)]
    if problem.n_actions is not None:
        sharp = structure(problem, sharp=True)
        tried += [sharp] if sharp.kernel != tried[0].kernel else []
    fits = [Fitted(each, refit(each.kernel, grams, y, noise)) for each in tried]
    return max(fits, key=lambda each: each.fit.log_evidence)


def make_member(
    problem: Problem, actions: Actions, of: Structure, kernel: Kernel, noise: float
) -> Posterior:
    """A posterior of a structure with this kernel; a search if its period has yet to be found."""
    horizon = problem.horizon
    if of.searched:
        low, high = usual_range(horizon)
        return PeriodSearch(kernel, actions, noise, low=low, high=high, horizon=horizon)
    return make_members([kernel], actions, noise, horizon=horizon)[0]


def _noise_variance(scale: RewardTransform, problem: Problem) -> float:
    """The variance of the noise on the scale of the rewards, as far as the problem says."""
    if problem.noise_std is None or scale.transform != "identity":
        return NOISE
    return noise_variance_of(problem, scale.normaliser)


def choose_scale(
    template: Structure, grams: Grams, history: History, transform: str
) -> RewardTransform:
    """The transformation with most evidence, each with its mean and scale of the rewards."""
    names = TRANSFORMS if transform == "auto" else (transform,)
    scales = [RewardTransform.of(history.reward, name) for name in names]

    def evidence(scale: RewardTransform) -> float:
        y = scale.forward(history.reward)
        fit = refit(template.kernel, grams, y, NOISE, move=False)
        return fit.log_evidence + scale.log_slope(history.reward)

    return max(scales, key=evidence) if len(scales) > 1 else scales[0]


def first_belief(problem: Problem, actions: Actions, history: History) -> Belief:
    """A belief that knows where it has been, not what there was."""
    plain = level(problem)
    belief = Belief.of(None, [plain], [make_member(problem, actions, plain, plain.kernel, NOISE)])
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
    best, quiet = np.unravel_index(found.argmax(), found.shape)
    return Guess(float(periods[best]), float(noises[quiet]))


def _log_density(K: Array, y: Array, noise_variance: float) -> float:
    """Log density of N(0, K + noise) at y, up to a constant."""
    L, wrong = lapack.dpotrf(K + noise_variance * np.eye(len(y)), lower=1)
    if wrong:
        return -HOPELESS
    alpha = lapack.dpotrs(L, y, lower=1)[0]
    return -0.5 * float(y @ alpha) - float(np.log(np.diagonal(L)).sum())


class Pretrained(Builder):
    """Builds the belief at 1, 8, 16, 32, ... rewards, with a prior or without.

    Args:
        problem: Its arms are places of the prior.
        transform: "auto": the prior has its own.
        prior: Name or file, see ``learned_prior.py``.
    """

    prunes = False

    def __init__(self, problem: Problem, transform: str, prior: str) -> None:
        if transform != "auto":
            raise ValueError("a prior has its own transform: leave out one of the two")
        self._prior = load_prior(prior, problem)
        self._plain = LearnedScale(problem, transform)
        super().__init__(problem, transform)

    def next_build(self, count: int) -> float:
        """Number of rewards at which the next belief is built."""
        return 1 if count < 1 else self._plain.next_build(count)

    def build(self, history: History) -> Belief:
        """A belief from all of the history."""
        pretrained = self._pretrained(history)
        if len(history) < MIN_REWARDS:
            return pretrained
        plain = self._plain.build(history)
        ahead = plain.evidence(history) - pretrained.evidence(history)
        return plain if ahead > MARGIN else pretrained

    def _pretrained(self, history: History) -> Belief:
        prior, actions = self._prior, self.coordinates.actions
        kernels = {"prior": prior.kernel}
        kernels |= {f"prior, doubted {d:g} times": doubted(prior.kernel, d) for d in DOUBTS}
        members = [
            make_posterior(kernel, actions, prior.noise_variance, engine="state-space")
            for kernel in kernels.values()
        ]
        facing = self._faced(history) if len(history) else 1.0
        offset = replace(prior, profile=facing * prior.profile)
        choices = replay_all(members, self._problem, history, prior.scale, offset)
        mixture = Mixture(members, np.array(WEIGHTS))
        return Belief(prior.scale, mixture, tuple(kernels), offset, choices=choices)

    def _faced(self, history: History) -> float:
        """-1 where rewards lie nearer to the negative of the profile: the least is sought then."""
        y = self._prior.scale.forward(history.reward)
        expected = self._prior.at(history.action, history.t)
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
