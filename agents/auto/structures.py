"""Candidate kernels: what may hold in the world, each part on or off.

Where the scale of the rewards is known they are, with A the kernel on the actions,

    level A,   season A x Periodic,   persistence A x Decay,   drifting season A x Periodic x Decay.

Where it is not, much of what moves the rewards may move all of them at once (the weather, the
hour), which says nothing about which action is best, but hides it. So every part has a share that
all actions have in common:

    u  +  v A x (1 - h + h S)  +  v_S S  +  v_P A x Decay  +  v_C Decay  +  v_T A x Level,

u for the unknown mean; without a season h = v_S = 0, without persistence v_P = v_C = 0. S is a
``TruncatedPeriodic``, Level a running mean of the rewards (``reward_level.py``): when all are high,
some gain more than others. The numbers are what is assumed beforehand, in units of the variance of
the rewards; ``refit.py`` moves them, h among them.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from functools import reduce

from agents.base import Problem
from agents.gp import (
    ActionKernel,
    Constant,
    ContextLinear,
    ContextSquaredExponential,
    Decay,
    Index,
    Kernel,
    SquaredExponential,
    TruncatedPeriodic,
)

FEW_ARMS = 64
"""Arms up to which each may differ from all others, whatever its coordinates."""
HARMONICS = 5
"""Harmonics of a season, scale known: 0.99998 of ``Periodic``, in a state a third as long."""
FORGETTING, DRIFT = 0.04, 0.02
"""eps of persistence and of a drifting season, where nothing else moves."""
PERSISTENCE = 0.2
"""eps of persistence beside a level and a season: half is forgotten in six steps."""
MEAN, ARM, SHARED_SEASON, OWN_SHOCKS, SHARED_SHOCKS = 3.0, 1.0, 0.5, 0.5, 0.75
"""Variances u, v, v_S, v_P and v_C, to begin with."""
REWARD_LEVEL = 0.05
"""Variance v_T, to begin with."""
SEASON_LENGTH_SCALE, SEASON_HARMONICS = 0.7, 3
SEASON_SHARE = 0.35
"""Of what sets an arm apart, the share that comes and goes with the season, to begin with."""
NOISE = 0.03
"""Variance of the noise, as a share, where the problem does not say."""


@dataclass(frozen=True)
class Candidate:
    """A kernel, how much it is believed beforehand, and whether its period has yet to be found."""

    name: str
    kernel: Kernel
    weight: float
    searched: bool = False


def candidates(
    problem: Problem,
    *,
    season: bool = True,
    persistence: bool = True,
    shared: bool = True,
    period: float | None = None,
    reward_level: ContextLinear | None = None,
) -> list[Candidate]:
    """All structures where the scale is learned, or those without what is switched off.

    Args:
        problem: Its periods are those of the seasons, if it has any.
        season: Whether there may be a season.
        persistence: Whether rewards may persist.
        shared: Whether actions may move together.
        period: What was found where no period is known.
        reward_level: How a running mean of the rewards enters, if it may matter.
    """
    periods = problem.periods or (() if period is None else (period,))
    seasons: list[tuple[float, ...]] = [(), tuple(periods)] if season and periods else [()]
    lasting = (False, True) if persistence else (False,)
    A = action_kernel(problem)
    return [_composite(A, s, p, shared, reward_level) for s in seasons for p in lasting]


def known_scale_candidates(
    problem: Problem, *, season: bool = True, persistence: bool = True
) -> list[Candidate]:
    """All structures where the scale is known, or those without what is switched off."""
    A, periods = action_kernel(problem), problem.periods
    found = [Candidate("level", A * Constant(), 1.0)]
    if persistence:
        found.append(Candidate("persistence", A * Decay(FORGETTING), 1.0))
    if season and not periods:  # too much to find out at once if it drifts as well
        clock = TruncatedPeriodic(1.0, harmonics=HARMONICS)
        found.append(Candidate("season", A * clock, 1.0, searched=True))
    elif season:
        share = 1.0 / len(periods)
        parts = [share * (A * TruncatedPeriodic(p, harmonics=HARMONICS)) for p in periods]
        seasons = reduce(operator.add, parts)
        found.append(Candidate("season", seasons, 2.0))  # known, so it is likely to be there
        if persistence:
            found.append(Candidate("drifting season", seasons * Decay(DRIFT), 1.0))
    return found


def in_contexts(problem: Problem, *, season: bool = True) -> list[Candidate]:
    """Level and season, each with a context that matters and with one that does not."""
    plain = known_scale_candidates(problem, season=season, persistence=False)
    there = [
        replace(c, name=f"{c.name} in context", kernel=c.kernel * ContextSquaredExponential(1.0))
        for c in plain
    ]
    return [*plain, *there]


def _composite(
    A: ActionKernel,
    periods: tuple[float, ...],
    persistence: bool,
    shared: bool,
    reward_level: ContextLinear | None,
) -> Candidate:
    parts: list[Kernel] = [Constant(MEAN), *_lasting(A, periods, shared)]
    if persistence:
        parts.append(OWN_SHOCKS * (A * Decay(PERSISTENCE)))
        parts += [SHARED_SHOCKS * Decay(PERSISTENCE)] if shared else []
    if reward_level is not None:
        parts.append(REWARD_LEVEL * (A * reward_level))
    name = {(0, 0): "level", (1, 0): "season", (0, 1): "persistence", (1, 1): "both"}
    return Candidate(name[bool(periods), persistence], reduce(operator.add, parts), 1.0)


def _lasting(A: ActionKernel, periods: tuple[float, ...], shared: bool) -> list[Kernel]:
    """What sets an arm apart at all times, and in each season."""
    if not periods:
        return [ARM * A]
    v, shape = 1.0 / len(periods), (SEASON_LENGTH_SCALE, SEASON_HARMONICS)
    parts: list[Kernel] = [
        v * ARM * (A * TruncatedPeriodic(p, *shape, SEASON_SHARE)) for p in periods
    ]
    whole = [TruncatedPeriodic(p, *shape) for p in periods]
    return parts + [v * SHARED_SEASON * clock for clock in whole] if shared else parts


def action_kernel(problem: Problem) -> ActionKernel:
    """Of the actions: smooth in their coordinates, or independent arms."""
    n = problem.n_actions
    if n is None:
        return SquaredExponential(1.0)
    smooth = problem.reward_scale is not None or n > FEW_ARMS
    return SquaredExponential(1.0) if smooth and problem.action_features is not None else Index()
