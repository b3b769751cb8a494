"""Candidate kernels: what may hold in the world, each part on or off.

Where the problem tells the scale of the rewards they are, with A the kernel on the actions,

    level A,   season A x Periodic,   persistence A x Decay,   drifting season A x Periodic x Decay.

Where it does not, much of what moves the rewards may move all of them at once (the weather, the
hour), which says nothing about which action is best, but hides it. So every part has a share that
all actions have in common:

    u  +  v A x (1 - h + h Season)  +  v_S Season  +  v_P A x Decay  +  v_C Decay,

u for the unknown mean; without a season h = v_S = 0, without persistence v_P = v_C = 0. The numbers
are what is assumed beforehand, in units of the variance of the rewards; ``refit.py`` moves them.
"""

from __future__ import annotations

from dataclasses import dataclass

from agents.base import Problem
from agents.gp import (
    ActionKernel,
    Constant,
    ContextSquaredExponential,
    Decay,
    Index,
    Kernel,
    Season,
    SquaredExponential,
)

FEW_ARMS = 64
"""Arms up to which each may differ from all others, whatever its coordinates."""
HARMONICS = 5
"""Of a season where the scale is told: 0.99998 of ``Periodic``, in a state a third as long."""
FORGETTING, DRIFT = 0.04, 0.02
"""eps of persistence and of a drifting season, where nothing else moves."""
PERSISTENCE = 0.2
"""eps of persistence beside a level and a season: half is forgotten in six steps."""
MEAN, ARM, SHARED_SEASON, OWN_SHOCKS, SHARED_SHOCKS = 3.0, 1.0, 0.5, 0.5, 0.75
SEASON_SHARE, SEASON_LENGTH_SCALE, SEASON_HARMONICS = 0.25, 0.7, 3
NOISE = 0.03
"""Variance of the noise, as a share, where the problem tells none."""


@dataclass(frozen=True)
class Candidate:
    """A kernel, and how much it is believed beforehand."""

    name: str
    kernel: Kernel
    weight: float


def candidates(
    problem: Problem, *, season: bool = True, persistence: bool = True, shared: bool = True
) -> list[Candidate]:
    """All structures for a problem, or those without the parts that are switched off."""
    make = _plain if problem.reward_scale is not None else _composite
    with_season = season and bool(problem.periods)
    found = []
    for one in (False, True) if with_season else (False,):
        for other in (False, True) if persistence else (False,):
            found.append(make(problem, one, other, shared))
    return found


def in_contexts(problem: Problem, *, season: bool = True) -> list[Candidate]:
    """Level and season, each with a context that matters and with one that does not."""
    plain = candidates(problem, season=season, persistence=False)
    there = [
        Candidate(f"{c.name} in context", c.kernel * ContextSquaredExponential(1.0), c.weight)
        for c in plain
    ]
    return [*plain, *there]


def _plain(problem: Problem, season: bool, persistence: bool, _: bool) -> Candidate:
    A = action_kernel(problem)
    if not season:
        return (
            Candidate("persistence", A * Decay(FORGETTING), 1.0)
            if persistence
            else Candidate("level", A * Constant(), 1.0)
        )
    seasons = _sum(
        [
            (1.0 / len(problem.periods)) * (A * Season(p, harmonics=HARMONICS))
            for p in problem.periods
        ]
    )
    if persistence:
        return Candidate("drifting season", seasons * Decay(DRIFT), 1.0)
    return Candidate("season", seasons, 2.0)  # it was told, so it is likely to be there


def _composite(problem: Problem, season: bool, persistence: bool, shared: bool) -> Candidate:
    A, periods = action_kernel(problem), problem.periods
    parts: list[Kernel] = [Constant(MEAN)]
    if season:
        v = 1.0 / len(periods)
        shape = (SEASON_LENGTH_SCALE, SEASON_HARMONICS)
        clocks = [Season(p, *shape, SEASON_SHARE) for p in periods]
        parts += [v * ARM * (A * clock) for clock in clocks]
        whole = [Season(p, *shape) for p in periods]
        parts += [v * SHARED_SEASON * clock for clock in whole] if shared else []
    else:
        parts.append(ARM * A)
    if persistence:
        parts.append(OWN_SHOCKS * (A * Decay(PERSISTENCE)))
        parts += [SHARED_SHOCKS * Decay(PERSISTENCE)] if shared else []
    name = {(0, 0): "level", (1, 0): "season", (0, 1): "persistence", (1, 1): "both"}
    return Candidate(name[season, persistence], _sum(parts), 1.0)


def action_kernel(problem: Problem) -> ActionKernel:
    """Of the actions: smooth in their coordinates, or independent arms."""
    n = problem.n_actions
    if n is None:
        return SquaredExponential(1.0)
    smooth = problem.reward_scale is not None or n > FEW_ARMS
    return SquaredExponential(1.0) if smooth and problem.action_features is not None else Index()


def _sum(kernels: list[Kernel]) -> Kernel:
    total = kernels[0]
    for kernel in kernels[1:]:
        total = total + kernel
    return total
