"""Candidate kernels: the structures that may hold in the world.

Where the scale of the rewards is known they are, with A the kernel on the actions,

    level A,   season A x Periodic,   persistence A x Decay,   drifting season A x Periodic x Decay.

Where it is not, much of what moves the rewards may move all of them at once (the weather, the
hour), which says nothing about which action is best, but hides it. So every part but the level is
there twice, an action's own and one that all actions have in common:

    u  +  v A  +  sum_s (v_s A x S_s + u_s S_s)  +  v_P A x Decay  +  u_P Decay,

u for the unknown mean. The S_s are parts of a season (``Harmonics``): what is smooth in it, and
what is sharp, if that is wanted. Of several seasons the shortest may be sharp, the others are
smooth and also bend the shortest one (a day in a week): S_long x S_short. With many arms what
would make the state too long is left out, and where arms are not independent all but one part. The
numbers are what is assumed beforehand, in units of the variance of the rewards; ``refit.py`` moves
them, so that what is not there is learned to be small.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

from agents.base import Problem
from agents.gp import (
    ActionKernel,
    Constant,
    ContextSquaredExponential,
    Decay,
    Harmonics,
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
MEAN, LEVEL = 3.0, 1.0
"""Variances u and v, to begin with."""
SMOOTH, SHARP, BENT, SHOCKS = 0.4, 0.07, 0.1, 0.4
"""Variances of the smooth and the sharp part of a season, of one season that bends another, and of
what persists; each an action's own, and the same again in common."""
SMOOTH_HARMONICS, SHARP_HARMONICS, BENDING_HARMONICS = (1, 3), (4, 11), (1, 2)
"""First and last harmonics of those parts; of a long season where it bends a short one."""
MAX_SEASONAL_STATE = 1000
"""Length of the state that seasons may take: a step costs its square."""
NOISE = 0.1
"""Variance of the noise, as a share, where the problem does not say."""


@dataclass(frozen=True)
class Structure:
    """A kernel, how much it is believed beforehand, and whether its period has yet to be found."""

    name: str
    kernel: Kernel
    weight: float
    searched: bool = False


def level(problem: Problem) -> Structure:
    """Means that do not change."""
    return Structure("level", Constant(MEAN) + LEVEL * action_kernel(problem), 1.0)


def structure(problem: Problem, *, sharp: bool = False, period: float | None = None) -> Structure:
    """Everything that may hold where the scale is learned.

    Args:
        problem: Its periods are those of the seasons, if it has any.
        sharp: Whether seasons have a sharp part.
        period: Of the season where the problem has none.
    """
    periods = problem.periods or (() if period is None else (period,))
    A = action_kernel(problem)
    arms = problem.n_actions if isinstance(A, Index) else None
    seasons = _affordable(list(_parts(tuple(periods), sharp)), arms)
    kernel = level(problem).kernel
    for variance, clock in [*seasons, (SHOCKS, Decay(PERSISTENCE))]:
        kernel = kernel + variance * (A * clock) + variance * clock
    return Structure("both" if seasons else "persistence", kernel, 1.0)


def known_scale_structures(problem: Problem) -> list[Structure]:
    """All structures where the scale is known."""
    A, periods = action_kernel(problem), problem.periods
    found = [
        Structure("level", A * Constant(), 1.0),
        Structure("persistence", A * Decay(FORGETTING), 1.0),
    ]
    if not periods:  # too much to find out at once if it drifts as well
        clock = TruncatedPeriodic(1.0, harmonics=HARMONICS)
        return [*found, Structure("season", A * clock, 1.0, searched=True)]
    share = 1.0 / len(periods)
    parts = [share * (A * TruncatedPeriodic(p, harmonics=HARMONICS)) for p in periods]
    seasons = reduce(operator.add, parts)
    return [
        *found,
        Structure("season", seasons, 2.0),  # known, so it is likely to be there
        Structure("drifting season", seasons * Decay(DRIFT), 1.0),
    ]


def in_contexts(problem: Problem) -> list[Structure]:
    """Level and season, each with a context that matters and with one that does not."""
    plain = [s for s in known_scale_structures(problem) if s.name in ("level", "season")]
    there = [
        replace(s, name=f"{s.name} in context", kernel=s.kernel * ContextSquaredExponential(1.0))
        for s in plain
    ]
    return [*plain, *there]


def _parts(periods: tuple[float, ...], sharp: bool) -> Iterator[tuple[float, Kernel]]:
    """The parts of all seasons: variances to start with, and covariances over time."""
    for period in periods:
        yield SMOOTH, _harmonics(period, SMOOTH_HARMONICS)
    shortest = min(periods, default=0.0)
    if sharp and shortest > 2 * SHARP_HARMONICS[0]:
        yield SHARP, _harmonics(shortest, SHARP_HARMONICS)
    for period in periods:
        if period > shortest:
            long = _harmonics(period, BENDING_HARMONICS)
            yield BENT, long * _harmonics(shortest, SMOOTH_HARMONICS)


def _affordable(parts: list[tuple[float, Kernel]], arms: int | None) -> list[tuple[float, Kernel]]:
    """Without the parts, from the last on, that would make the state too long; one is kept.

    Args:
        parts: Those that are missed most first.
        arms: How many have such parts; None where they are not independent: one part then.
    """
    if arms is None:
        return parts[:1]
    length, kept = 0, 0
    for _, clock in parts:
        waves = [len(spectrum.nu) for t in clock.terms if (spectrum := t.spectrum())]
        length += 2 * sum(waves) * (arms + 1)
        kept += length <= MAX_SEASONAL_STATE or kept == 0
    return parts[:kept]


def _harmonics(period: float, between: tuple[int, int]) -> Harmonics:
    """At least one, and none that would have less than two steps."""
    lowest, highest = between
    return Harmonics(period, lowest, max(lowest, min(highest, int((period - 1) / 2))))


def action_kernel(problem: Problem) -> ActionKernel:
    """Kernel of the actions: smooth in their coordinates, or independent arms."""
    n = problem.n_actions
    if n is None:
        return SquaredExponential(1.0)
    smooth = problem.reward_scale is not None or n > FEW_ARMS
    return SquaredExponential(1.0) if smooth and problem.action_features is not None else Index()
