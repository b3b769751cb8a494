"""From what was seen to a belief: scale, structures, variances, and then every observation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from agents.auto.knowledge import Knowledge
from agents.auto.past import Past
from agents.auto.refit import MOST, Refit, refit
from agents.auto.scale import TRANSFORMS, Scale
from agents.auto.structures import FEW_ARMS, NOISE, Candidate, candidates, in_contexts
from agents.base import Problem
from agents.gp import (
    Actions,
    Array,
    InContext,
    Kernel,
    Normaliser,
    Posterior,
    StateSpace,
    make_posterior,
)
from agents.gp.bank import Bank, make_members
from agents.gp.censored import none_above

KEEP, MOST_KEPT = 0.2, 2
"""Probability from which a structure is followed further, and how many are at most."""
Offset = Callable[[float], Array]


@dataclass(frozen=True)
class Options:
    """What may be switched off.

    Attributes:
        transform: "auto", "identity" or "log1p".
        season: Whether there may be a season.
        persistence: Whether rewards may persist.
        shared: Whether actions may move together.
        expert: Whether past decisions may have been the best ones.
        refit: Whether variances are learned.
    """

    transform: str = "auto"
    season: bool = True
    persistence: bool = True
    shared: bool = True
    expert: bool = True
    refit: bool = True

    def __post_init__(self) -> None:
        if self.transform not in ("auto", *TRANSFORMS):
            allowed = ", ".join(("auto", *TRANSFORMS))
            raise ValueError(f"transform must be one of {allowed}, got {self.transform!r}")
        for name in ("season", "persistence", "shared", "expert", "refit"):
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
    posterior: Bank
    names: tuple[str, ...]


def told_scale(problem: Problem) -> Scale | None:
    """The scale of the rewards, if it is told."""
    told = problem.reward_scale
    return None if told is None else Scale("identity", Normaliser(*told))


def build(problem: Problem, actions: Actions, past: Past, options: Options) -> Model:
    """A belief from all that is kept of the past; some eight rewards at least, or a told scale."""
    season, persistence, shared = options.season, options.persistence, options.shared
    found = candidates(problem, season=season, persistence=persistence, shared=shared)
    if isinstance(actions, InContext):
        found = in_contexts(problem, season=season)
    told, recent = told_scale(problem), past.newest(MOST)
    scale = told or choose_scale(found[-1], actions, recent, options.transform)
    noise = _noise_variance(problem, scale)
    if told is None:
        found = _likely(found, [_fit(c, actions, recent, scale, noise, False) for c in found])
    moves = options.refit and told is None
    fits = [_fit(c, actions, recent, scale, noise, moves) for c in found]
    members = [_member(problem, actions, fit.kernel, fit.noise_variance) for fit in fits]
    expert = options.expert and _takes_experts(problem, members[0])
    if expert:
        hints = [replay(member, past, scale, expert=True) for member in members]
        expert = hints[int(np.argmax([m.log_evidence for m in members]))] > _by_chance(
            problem, past
        )
        for member in members if not expert else ():
            member.reset()
    if not expert:
        for member in members:
            replay(member, past, scale)
    prior = np.array([candidate.weight for candidate in found])
    return Model(scale, Bank(members, prior), tuple(candidate.name for candidate in found))


def informed(
    problem: Problem, actions: Actions, past: Past, options: Options, knowledge: Knowledge
) -> Model:
    """A belief that starts from what was learned elsewhere."""
    kernel, noise = knowledge.kernel, knowledge.noise_variance
    member = make_posterior(kernel, actions, noise, engine="state-space")
    expert = options.expert and problem.warm_start is not None
    replay(member, past, knowledge.scale, knowledge.offset, expert=expert)
    return Model(knowledge.scale, Bank([member]), ("prior",))


def first(problem: Problem, actions: Actions, past: Past, options: Options) -> Model:
    """Without a scale: a belief that knows where it has been, not what there was."""
    found = candidates(problem, season=options.season, persistence=options.persistence)
    posterior = _member(problem, actions, found[0].kernel, NOISE)
    for action, t in zip(past.action, past.t.tolist(), strict=True):
        posterior.observe(action, t, 0.0)
    return Model(None, Bank([posterior]), (found[0].name,))


def choose_scale(candidate: Candidate, actions: Actions, past: Past, transform: str) -> Scale:
    """The transformation with more evidence, each with its mean and scale of the rewards."""
    names = TRANSFORMS if transform == "auto" else (transform,)
    scales = [Scale.of(past.reward, name) for name in names]

    def evidence(scale: Scale) -> float:
        fit = _fit(candidate, actions, past, scale, NOISE, move=False)
        return fit.log_evidence + scale.log_slope(past.reward)

    return max(scales, key=evidence) if len(scales) > 1 else scales[0]


def replay(
    posterior: Posterior,
    past: Past,
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
    values, hint = scale.forward(past.reward).tolist(), 0.0
    for i in np.argsort(past.t, kind="stable").tolist():
        action, t = past.action[i], float(past.t[i])
        mean = None if offset is None else offset(t)
        posterior.observe(action, t, values[i] - (0.0 if mean is None else float(mean[action])))
        if expert and past.told[i] and isinstance(posterior, StateSpace):
            arms = len(posterior.actions)  # type: ignore[arg-type]
            bounds = values[i] - (np.zeros(arms) if mean is None else mean)
            hint += none_above(posterior, int(action), t, bounds)
    return hint


def _fit(
    candidate: Candidate, actions: Actions, past: Past, scale: Scale, noise: float, move: bool
) -> Refit:
    if not len(past):
        return Refit(candidate.kernel, noise, 0.0)
    return refit(candidate.kernel, actions, past, scale.forward(past.reward), noise, move=move)


def _likely(found: list[Candidate], fits: list[Refit]) -> list[Candidate]:
    """The best, and the second best if it is nearly as good."""
    score = np.log([c.weight for c in found]) + [fit.log_evidence for fit in fits]
    weight = np.exp(score - score.max())
    order = np.argsort(-weight, kind="stable")[:MOST_KEPT]
    return [found[i] for i in order if weight[i] >= KEEP * weight.sum()]


def _member(problem: Problem, actions: Actions, kernel: Kernel, noise: float) -> Posterior:
    return make_members([kernel], actions, noise, horizon=problem.horizon)[0]


def _noise_variance(problem: Problem, scale: Scale) -> float:
    if problem.noise_std is None or scale.transform != "identity":
        return NOISE
    # A noiseless world still needs a positive variance to invert.
    return max((problem.noise_std / scale.normaliser.scale) ** 2, 1e-6)


def _takes_experts(problem: Problem, member: Posterior) -> bool:
    few = problem.n_actions is not None and problem.n_actions <= FEW_ARMS
    return few and problem.warm_start is not None and isinstance(member, StateSpace)


def _by_chance(problem: Problem, past: Past) -> float:
    """Log probability of what was chosen before if every action was as likely as any other."""
    assert problem.n_actions is not None
    return -float(past.told.sum()) * float(np.log(problem.n_actions))
