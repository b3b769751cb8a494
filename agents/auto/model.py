"""From what was seen to a belief: scale, structures, variances, and then every observation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.auto.history import History
from agents.auto.knowledge import Knowledge
from agents.auto.period import guess_period
from agents.auto.refit import MOST, Refit, refit
from agents.auto.reward_level import line
from agents.auto.structures import FEW_ARMS, NOISE, Candidate, candidates, in_contexts
from agents.auto.transform import TRANSFORMS, Scale
from agents.base import Problem
from agents.gp import (
    Actions,
    Array,
    Finite,
    InContext,
    Normaliser,
    Posterior,
    StateSpace,
    make_posterior,
)
from agents.gp.posteriors.censored import none_above
from agents.gp.posteriors.mixture import Mixture, make_members
from agents.gp.posteriors.period_search import PeriodSearch, usual_range

KEEP, MOST_KEPT = 0.02, 3
"""Probability from which a structure is followed further, and how many are at most: on average over
what may be, less is lost than by the best guess alone."""
Offset = Callable[[float], Array]


@dataclass(frozen=True)
class Options:
    """What may be switched off.

    Attributes:
        transform: "auto", "identity" or "log1p".
        season: Whether there may be a season.
        persistence: Whether rewards may persist.
        shared: Whether actions may move together.
        reward_level: Whether some actions may gain more than others when all are high.
        expert: Whether past decisions may have been the best ones.
        refit: Whether variances are learned.
    """

    transform: str = "auto"
    season: bool = True
    persistence: bool = True
    shared: bool = True
    reward_level: bool = True
    expert: bool = True
    refit: bool = True

    @property
    def parts(self) -> dict[str, Any]:
        """What ``candidates`` takes."""
        return {k: getattr(self, k) for k in ("season", "persistence", "shared")}

    def __post_init__(self) -> None:
        if self.transform not in ("auto", *TRANSFORMS):
            allowed = ", ".join(("auto", *TRANSFORMS))
            raise ValueError(f"transform must be one of {allowed}, got {self.transform!r}")
        for name in ("season", "persistence", "shared", "reward_level", "expert", "refit"):
            if getattr(self, name) not in (True, False):
                raise ValueError(f"{name} is true or false, got {getattr(self, name)!r}")


@dataclass(frozen=True)
class Model:
    """A belief.

    Attributes:
        scale: Of the rewards; None while there is none.
        posterior: The belief on that scale.
        names: Of its candidates.
    """

    scale: Scale | None
    posterior: Mixture
    names: tuple[str, ...]


def told_scale(problem: Problem) -> Scale | None:
    """The scale of the rewards, if it is told."""
    told = problem.reward_scale
    return None if told is None else Scale("identity", Normaliser(*told))


def build(problem: Problem, actions: Actions, history: History, options: Options) -> Model:
    """A belief from all of the history; some eight rewards at least, or a told scale."""
    told, seen = told_scale(problem), history.ends(MOST)
    contexts = isinstance(actions, InContext)
    reward_level = line(history) if contexts and told is None else None
    found = candidates(problem, **options.parts, reward_level=reward_level)
    if contexts and told is not None:
        found = in_contexts(problem, season=options.season)
    untold = None if told or problem.periods else _with_a_season(problem, actions, seen, options)
    template = found[-1] if untold is None else untold.candidate
    scale = told or choose_scale(template, actions, seen, options.transform)
    noise = _noise_variance(problem, scale)
    if untold is not None and problem.noise_std is None:
        noise = untold.noise_variance
    if told is None:
        found = _likely(found, [_fit(c, actions, seen, scale, noise, False) for c in found])
    found += [] if untold is None else [untold.candidate]
    moves = options.refit and told is None
    fits = [_fit(c, actions, seen, scale, noise, moves) for c in found]
    members = [
        _member(problem, actions, replace(c, kernel=fit.kernel), fit.noise_variance)
        for c, fit in zip(found, fits, strict=True)
    ]
    expert = options.expert and _takes_experts(problem, members)
    if expert:
        hints = [replay(member, history, scale, expert=True) for member in members]
        expert = hints[int(np.argmax([m.log_evidence for m in members]))] > _by_chance(
            problem, history
        )
        for member in members if not expert else ():
            member.reset()
    if not expert:
        for member in members:
            replay(member, history, scale)
    prior = np.array([candidate.weight for candidate in found])
    return Model(scale, Mixture(members, prior), tuple(candidate.name for candidate in found))


class Untold(NamedTuple):
    """A structure whose season is searched for, and the noise to begin with."""

    candidate: Candidate
    noise_variance: float


def _with_a_season(
    problem: Problem, actions: Actions, history: History, options: Options
) -> Untold | None:
    """A season that nobody told; None if none is wanted, or too little was seen."""

    if not options.season:
        return None

    def structure(period: float) -> Candidate:
        return candidates(problem, **options.parts, period=period)[-1]

    y = Scale.of(history.reward, "identity").forward(history.reward)
    guess = guess_period(lambda period: structure(period).kernel, actions, history, y, NOISE)
    if guess is None:
        return None
    return Untold(replace(structure(guess.period), searched=True), guess.noise_variance)


def informed(
    problem: Problem, actions: Actions, history: History, options: Options, knowledge: Knowledge
) -> Model:
    """A belief that starts from what was learned elsewhere."""
    kernel, noise = knowledge.kernel, knowledge.noise_variance
    member = make_posterior(kernel, actions, noise, engine="state-space")
    expert = options.expert and problem.warm_start is not None
    replay(member, history, knowledge.scale, knowledge.offset, expert=expert)
    return Model(knowledge.scale, Mixture([member]), ("prior",))


def first(problem: Problem, actions: Actions, history: History, options: Options) -> Model:
    """Without a scale: a belief that knows where it has been, not what there was."""
    found = candidates(problem, season=options.season, persistence=options.persistence)
    posterior = _member(problem, actions, found[0], NOISE)
    for action, t in zip(history.action, history.t.tolist(), strict=True):
        posterior.observe(action, t, 0.0)
    return Model(None, Mixture([posterior]), (found[0].name,))


def choose_scale(candidate: Candidate, actions: Actions, history: History, transform: str) -> Scale:
    """The transformation with more evidence, each with its mean and scale of the rewards."""
    names = TRANSFORMS if transform == "auto" else (transform,)
    scales = [Scale.of(history.reward, name) for name in names]

    def evidence(scale: Scale) -> float:
        fit = _fit(candidate, actions, history, scale, NOISE, move=False)
        return fit.log_evidence + scale.log_slope(history.reward)

    return max(scales, key=evidence) if len(scales) > 1 else scales[0]


def replay(
    posterior: Posterior,
    history: History,
    scale: Scale,
    offset: Offset | None = None,
    *,
    expert: bool = False,
) -> float:
    """Let a posterior see everything, in the order of time.

    Args:
        posterior: Without observations.
        past: What was seen.
        scale: Of the rewards.
        offset: Prior mean of all arms at a time, on that scale; 0 if None.
        expert: Whether what was told are the best choices of their moments, so that all other arms
            were worth no more.

    Returns:
        The log probability of those choices.
    """
    values, hint = scale.forward(history.reward).tolist(), 0.0
    for i in np.argsort(history.t, kind="stable").tolist():
        action, t = history.action[i], float(history.t[i])
        mean = None if offset is None else offset(t)
        posterior.observe(action, t, values[i] - (0.0 if mean is None else float(mean[action])))
        if expert and history.told[i] and isinstance(posterior, StateSpace):
            arm, rows = _in_its_context(posterior.actions, action)
            bounds = values[i] - (np.zeros(len(rows)) if mean is None else mean)
            hint += none_above(posterior, arm, t, bounds, rows)
    return hint


def _in_its_context(actions: Actions, action: Any) -> tuple[int, NDArray[Any]]:
    """An arm, and all arms in the context in which it was chosen."""
    if isinstance(actions, InContext):
        return int(action[0]), actions.joined(None, action[1:])
    assert isinstance(actions, Finite)
    return int(action), np.arange(len(actions))


def _fit(
    candidate: Candidate, actions: Actions, history: History, scale: Scale, noise: float, move: bool
) -> Refit:
    if not len(history):
        return Refit(candidate.kernel, noise, 0.0)
    return refit(
        candidate.kernel, actions, history, scale.forward(history.reward), noise, move=move
    )


def _likely(found: list[Candidate], fits: list[Refit]) -> list[Candidate]:
    """The best, and the second best if it is nearly as good."""
    score = np.log([c.weight for c in found]) + [fit.log_evidence for fit in fits]
    weight = np.exp(score - score.max())
    order = np.argsort(-weight, kind="stable")[:MOST_KEPT]
    return [found[i] for i in order if weight[i] >= KEEP * weight.sum()]


def _member(problem: Problem, actions: Actions, candidate: Candidate, noise: float) -> Posterior:
    horizon = problem.horizon
    if candidate.searched:
        low, high = usual_range(horizon)
        return PeriodSearch(candidate.kernel, actions, noise, low=low, high=high, horizon=horizon)
    return make_members([candidate.kernel], actions, noise, horizon=horizon)[0]


def _noise_variance(problem: Problem, scale: Scale) -> float:
    if problem.noise_std is None or scale.transform != "identity":
        return NOISE
    # A noiseless world still needs a positive variance to invert.
    return max((problem.noise_std / scale.normaliser.scale) ** 2, 1e-6)


def _takes_experts(problem: Problem, members: list[Posterior]) -> bool:
    few = problem.n_actions is not None and problem.n_actions <= FEW_ARMS
    able = all(isinstance(member, StateSpace) for member in members)
    return few and able and problem.warm_start is not None


def _by_chance(problem: Problem, history: History) -> float:
    """Log probability of what was chosen before if every action was as likely as any other."""
    assert problem.n_actions is not None
    return -float(history.told.sum()) * float(np.log(problem.n_actions))
