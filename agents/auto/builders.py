"""Builders of beliefs for auto-gp-ucb.

With a prior (``learned_prior.py``), the belief is a mixture of the prior and of copies in which the
variances of levels and seasons are larger. These candidates are weighted by evidence and never
dropped. The belief without a prior is used instead while its log evidence exceeds that of the
mixture by more than ``MARGIN``. Both beliefs are rebuilt after 8, 16, 32, ... rewards, so that a
change of the world can reverse the choice between them.
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
"""Number of rewards from which an unknown scale is first estimated."""
GROWTH = 2
"""Factor by which the number of rewards grows from one build of the belief to the next."""
STEP = 0.3
"""Step of the grid of frequencies, in cycles over the observed time span. Every frequency is then
at most 0.15 cycles from a grid point, unless ``MAX_PERIODS_TRIED`` makes the steps wider."""
MAX_PERIODS_TRIED = 128
"""Maximum number of steps of the grid of frequencies."""
CYCLES = 2.0
"""Minimum number of seasons in the observed span, which limits the candidate periods."""
NOISES = (0.3, 1.0, 4.0)
"""Candidate noise variances, relative to the noise variance of the template."""
DOUBTS = (4.0, 16.0)
"""Factors on the variances of levels and seasons in the copies of a prior."""
WEIGHTS = (1.0, 0.5, 0.5)
"""Weights of the prior and its copies before any evidence, not normalised."""
MARGIN = 20.0
"""Margin of log evidence above which the belief without a prior replaces the belief with a prior.

The margin is large for two reasons. First, the variances of the belief without a prior were fitted
to the same rewards. Second, a wrong noise variance of the prior reduces the evidence of the prior,
but hardly increases the regret.
"""


class Builder:
    """Base class for builders of beliefs.

    Attributes:
        coordinates: Map from the actions and contexts of the problem to those of the kernel.
        prunes: True if improbable structures may be dropped.
    """

    prunes = True

    def __init__(self, problem: Problem, transform: str, *, contexts: bool = False) -> None:
        self._transform = one_of("transform", transform, ("auto", *TRANSFORMS))
        self._problem, self.coordinates = problem, Coordinates(problem, contexts=contexts)

    def next_build(self, count: int) -> float:
        """Return the number of rewards at which the next belief is built.

        The default is infinity, with which the belief is built only once.
        """
        return math.inf

    def build(self, history: History) -> Belief:
        """Return a belief from the whole history."""
        raise NotImplementedError


class KnownScale(Builder):
    """Builder that mixes the paper's structures, for problems with a known reward scale.

    The weights of the structures are learned, but the variances of their terms are fixed.
    """

    def __init__(self, problem: Problem, transform: str) -> None:
        assert problem.reward_scale is not None
        self._scale = RewardTransform("identity", Normaliser(*problem.reward_scale))
        super().__init__(problem, transform, contexts=True)

    def build(self, history: History) -> Belief:
        """Return a belief from the whole history."""
        problem, actions = self._problem, self.coordinates.actions
        of = in_contexts if self.coordinates.have_contexts else known_scale_structures
        structures, noise = of(problem), _noise_variance(self._scale, problem)
        members = [make_member(problem, actions, s, s.kernel, noise) for s in structures]
        replay_all(members, problem, history, self._scale)
        return Belief.of(self._scale, structures, members)


class SearchedSeason(NamedTuple):
    """Structure with an unknown period, and the noise variance estimated with a guessed period."""

    structure: Structure
    noise_variance: float


class Fitted(NamedTuple):
    """Structure with its fitted variances."""

    structure: Structure
    fit: Refit


class LearnedScale(Builder):
    """Builder that learns the scale and the variances, for problems with an unknown scale."""

    def next_build(self, count: int) -> float:
        """Return the number of rewards at which the next belief is built."""
        return MIN_REWARDS if count < MIN_REWARDS else count * GROWTH

    def build(self, history: History) -> Belief:
        """Return a belief from the whole history."""
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
            make_member(problem, actions, candidate, fit.kernel, fit.noise_variance)
            for candidate, fit in fitted
        ]
        choices = replay_all(members, problem, history, scale)
        belief = Belief.of(scale, [candidate for candidate, _ in fitted], members)
        return replace(belief, looks_ahead=True, choices=choices)

    def _searched_season(self, seen: History) -> SearchedSeason | None:
        """Return a structure with an unknown period, or None if the observed span is too short."""

        def with_period(period: float) -> Structure:
            return structure(self._problem, period=period)

        # The scale is chosen later, with the kernel of this season as the template.
        y = RewardTransform.of(seen.reward, "identity").forward(seen.reward)
        actions = self.coordinates.actions
        guess = guess_period(lambda period: with_period(period).kernel, actions, seen, y, NOISE)
        if guess is None:
            return None
        season = replace(with_period(guess.period), searched=True)
        return SearchedSeason(season, guess.noise_variance)

    def _noise_variance(self, scale: RewardTransform, searched: SearchedSeason | None) -> float:
        """Return the noise variance of the rewards after the transform ``scale``.

        If the problem does not state the noise and a period was searched for, the result is the
        noise variance that was estimated with the period.
        """
        if searched is not None and self._problem.noise_std is None:
            return searched.noise_variance
        return _noise_variance(scale, self._problem)


def _fitted(problem: Problem, grams: Grams, y: Array, noise: float) -> Fitted:
    """Return the structure with all parts, after fitting the variances of its terms to rewards.

    The sharp part of a season enlarges the state, so it is included only if it raises the evidence.
    """
    candidates = [structure(problem)]
    if problem.n_actions is not None:
        sharp = structure(problem, sharp=True)
        # The kernels are equal if the sharp part cannot be included.
        candidates += [sharp] if sharp.kernel != candidates[0].kernel else []
    fits = [Fitted(s, refit(s.kernel, grams, y, noise)) for s in candidates]
    return max(fits, key=lambda fitted: fitted.fit.log_evidence)


def make_member(
    problem: Problem, actions: Actions, of: Structure, kernel: Kernel, noise: float
) -> Posterior:
    """Return a posterior with a kernel, or a period search if the structure needs one."""
    horizon = problem.horizon
    if of.searched:
        low, high = usual_range(horizon)
        return PeriodSearch(kernel, actions, noise, low=low, high=high, horizon=horizon)
    return make_members([kernel], actions, noise, horizon=horizon)[0]


def _noise_variance(scale: RewardTransform, problem: Problem) -> float:
    """Return the problem's noise variance after the transform ``scale``; ``NOISE`` if unknown.

    After a transform other than the identity, the variance of the noise depends on the reward, so
    the result is ``NOISE``.
    """
    if problem.noise_std is None or scale.transform != "identity":
        return NOISE
    return noise_variance_of(problem, scale.normaliser)


def choose_scale(
    template: Structure, grams: Grams, history: History, transform: str
) -> RewardTransform:
    """Return a transform of the rewards to mean 0 and standard deviation 1.

    If ``transform`` is "auto", the transform with the highest evidence is returned.
    """
    names = TRANSFORMS if transform == "auto" else (transform,)
    scales = [RewardTransform.of(history.reward, name) for name in names]

    def evidence(scale: RewardTransform) -> float:
        y = scale.forward(history.reward)
        fit = refit(template.kernel, grams, y, NOISE, move=False)
        return fit.log_evidence + scale.log_slope(history.reward)

    return max(scales, key=evidence) if len(scales) > 1 else scales[0]


def first_belief(problem: Problem, actions: Actions, history: History) -> Belief:
    """Return a belief that has learned from the chosen actions, but not from their rewards."""
    plain = level(problem)
    belief = Belief.of(None, [plain], [make_member(problem, actions, plain, plain.kernel, NOISE)])
    for action, t in zip(history.action, history.t.tolist(), strict=True):
        belief.observe(action, t, 0.0)
    return belief


class Guess(NamedTuple):
    """Estimated period and the corresponding noise variance."""

    period: float
    noise_variance: float


def guess_period(
    make: Callable[[float], Kernel],
    actions: Actions,
    history: History,
    y: Array,
    noise_variance: float,
) -> Guess | None:
    """Return a rough estimate of an unknown period, or None if the observed span is too short.

    The evidence of each period on a grid is computed for several noise variances, at a cost of
    O(n^3) for each period and noise variance. The best period is precise enough to fit the
    variances of the kernel. With these variances, ``agents/gp/posteriors/period_search.py`` then
    searches for the exact period.

    Args:
        make: Function that returns the kernel for a period.
        actions: Set of actions.
        history: Observations.
        y: Rewards on the scale of the kernel.
        noise_variance: Noise variance of the template, which ``NOISES`` multiplies.
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
    log_densities = np.array([[_log_density(K, y, noise) for noise in noises] for K in grams])
    best, level = np.unravel_index(log_densities.argmax(), log_densities.shape)
    return Guess(float(periods[best]), float(noises[level]))


def _log_density(K: Array, y: Array, noise_variance: float) -> float:
    """Return the log density of N(0, K + noise_variance I) at y, up to a constant."""
    L, wrong = lapack.dpotrf(K + noise_variance * np.eye(len(y)), lower=1)
    if wrong:
        return -HOPELESS
    alpha = lapack.dpotrs(L, y, lower=1)[0]
    return -0.5 * float(y @ alpha) - float(np.log(np.diagonal(L)).sum())


class Pretrained(Builder):
    """Builder that uses a prior unless the belief without a prior has much higher evidence.

    The belief is built after 1, 8, 16, 32, ... rewards. The first reward may show that rewards are
    negative measurements, so that the profile of the prior must be negated.

    Args:
        problem: Problem whose arms are among the arms of the prior.
        transform: Must be "auto", since the prior has its own transform.
        prior: Name or file of the prior (see ``learned_prior.py``).
    """

    prunes = False

    def __init__(self, problem: Problem, transform: str, prior: str) -> None:
        if transform != "auto":
            raise ValueError(
                "transform must be 'auto' if prior is set, since a prior has its own transform, "
                f"got {transform!r}"
            )
        self._prior = load_prior(prior, problem)
        self._plain = LearnedScale(problem, transform)
        super().__init__(problem, transform)

    def next_build(self, count: int) -> float:
        """Return the number of rewards at which the next belief is built."""
        return 1 if count < 1 else self._plain.next_build(count)

    def build(self, history: History) -> Belief:
        """Return a belief from the whole history."""
        pretrained = self._pretrained(history)
        if len(history) < MIN_REWARDS:
            return pretrained
        plain = self._plain.build(history)
        ahead = plain.evidence(history) - pretrained.evidence(history)
        return plain if ahead > MARGIN else pretrained

    def _pretrained(self, history: History) -> Belief:
        """Return a mixture of the prior and its copies that has learned from the whole history."""
        prior, actions = self._prior, self.coordinates.actions
        kernels = {"prior": prior.kernel}
        kernels |= {f"prior, doubted {d:g} times": doubted(prior.kernel, d) for d in DOUBTS}
        members = [
            make_posterior(kernel, actions, prior.noise_variance, engine="state-space")
            for kernel in kernels.values()
        ]
        direction = self._direction(history) if len(history) else 1.0
        offset = replace(prior, profile=direction * prior.profile)
        choices = replay_all(members, self._problem, history, prior.scale, offset)
        mixture = Mixture(members, np.array(WEIGHTS))
        return Belief(prior.scale, mixture, tuple(kernels), offset, choices=choices)

    def _direction(self, history: History) -> float:
        """Return -1 if the negative profile is closer to the rewards than the profile, else 1."""
        y = self._prior.scale.forward(history.reward)
        expected = self._prior.at(history.action, history.t)
        return 1.0 if np.abs(y - expected).sum() <= np.abs(y + expected).sum() else -1.0


def doubted(kernel: Kernel, factor: float) -> Kernel:
    """Return the kernel after multiplying the variances of all terms without decay by a factor."""
    return Sum(
        tuple(
            term
            if any(isinstance(clock, Decay) for clock in term.clocks)
            else replace(term, variance=factor * term.variance)
            for term in kernel.terms
        )
    )
