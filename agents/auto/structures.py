"""Candidate kernels, the structures of the mixture.

If the scale of the rewards is known they are, with A the kernel on the actions,

    level A,   season A x Periodic,   persistence A x Decay,   drifting season A x Periodic x Decay.

If it is unknown, much of the variation may be common to all actions (the weather, the hour), which
does not determine the best action, but hides it. Every part but the level is therefore included
twice, per action and in common:

    u  +  v A  +  sum_s (v_s A x S_s + u_s S_s)  +  v_P A x Decay  +  u_P Decay,

with u for the unknown mean. The S_s are parts of a season (``Harmonics``): a smooth one and,
optionally, a sharp one. Of several seasons only the shortest may be sharp; the longer ones are
smooth and also modulate it (a day in a week): S_long x S_short. With many arms, parts that would
make the state too long are left out, and with dependent arms all but one part. The constants are
prior variances in units of the variance of the rewards; ``refit.py`` fits them, so that absent
parts become small.
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
"""Number of arms up to which arms are independent even if they have coordinates."""
HARMONICS = 5
"""Harmonics of a season with a known scale: 0.99998 of the variance of ``Periodic`` with a third
of its state."""
FORGETTING, DRIFT = 0.04, 0.02
"""eps of persistence and of a drifting season as separate structures."""
PERSISTENCE = 0.2
"""eps of persistence beside a level and a season: half is forgotten in six steps."""
MEAN, LEVEL = 3.0, 1.0
"""Prior variances u and v."""
SMOOTH, SHARP, BENT, SHOCKS = 0.4, 0.07, 0.1, 0.4
"""Prior variances of the smooth and the sharp part of a season, of one season that modulates
another, and of persistence; the same per action and in common."""
SMOOTH_HARMONICS, SHARP_HARMONICS, BENDING_HARMONICS = (1, 3), (4, 11), (1, 2)
"""First and last harmonics of those parts; the third for a season that modulates another."""
MAX_SEASONAL_STATE = 1000
"""Largest length m of the state for seasons: a step costs O(m^2)."""
NOISE = 0.1
"""Noise variance as a share of the variance of rewards, if the problem does not state it."""


@dataclass(frozen=True)
class Structure:
    """Kernel with its prior weight, and a flag for an unknown period."""

    name: str
    kernel: Kernel
    weight: float
    searched: bool = False


def level(problem: Problem) -> Structure:
    """Return the structure of constant means."""
    return Structure("level", Constant(MEAN) + LEVEL * action_kernel(problem), 1.0)


def structure(problem: Problem, *, sharp: bool = False, period: float | None = None) -> Structure:
    """Return the structure with all parts, for a learned scale.

    Args:
        problem: Problem, whose periods are used if it has any.
        sharp: Include a sharp part of the season.
        period: Period of the season if the problem has none.
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
    """Return all structures for a known scale."""
    A, periods = action_kernel(problem), problem.periods
    structures = [
        Structure("level", A * Constant(), 1.0),
        Structure("persistence", A * Decay(FORGETTING), 1.0),
    ]
    if not periods:  # an unknown period and drift together would be hard to identify
        clock = TruncatedPeriodic(1.0, harmonics=HARMONICS)
        return [*structures, Structure("season", A * clock, 1.0, searched=True)]
    share = 1.0 / len(periods)
    parts = [share * (A * TruncatedPeriodic(p, harmonics=HARMONICS)) for p in periods]
    seasons = reduce(operator.add, parts)
    return [
        *structures,
        Structure("season", seasons, 2.0),  # a known season is likely to be present
        Structure("drifting season", seasons * Decay(DRIFT), 1.0),
    ]


def in_contexts(problem: Problem) -> list[Structure]:
    """Return level and season, each with and without dependence on the context."""
    plain = [s for s in known_scale_structures(problem) if s.name in ("level", "season")]
    with_context = [
        replace(s, name=f"{s.name} in context", kernel=s.kernel * ContextSquaredExponential(1.0))
        for s in plain
    ]
    return [*plain, *with_context]


def _parts(periods: tuple[float, ...], sharp: bool) -> Iterator[tuple[float, Kernel]]:
    """Yield the parts of all seasons: prior variances and time kernels."""
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
    """Return the first parts that fit into the largest state, at least one.

    Args:
        parts: Parts by decreasing importance.
        arms: Number of independent arms; None for dependent arms, which get one part.
    """
    if arms is None:
        return parts[:1]
    length, n_parts = 0, 0
    for _, clock in parts:
        waves = [len(spectrum.nu) for t in clock.terms if (spectrum := t.spectrum())]
        length += 2 * sum(waves) * (arms + 1)
        n_parts += length <= MAX_SEASONAL_STATE or n_parts == 0
    return parts[:n_parts]


def _harmonics(period: float, between: tuple[int, int]) -> Harmonics:
    """Return the harmonics between two numbers with at least two steps per cycle, at least one."""
    lowest, highest = between
    return Harmonics(period, lowest, max(lowest, min(highest, int((period - 1) / 2))))


def action_kernel(problem: Problem) -> ActionKernel:
    """Return the kernel of the actions: smooth in their coordinates, or independent arms."""
    n = problem.n_actions
    if n is None:
        return SquaredExponential(1.0)
    smooth = problem.reward_scale is not None or n > FEW_ARMS
    return SquaredExponential(1.0) if smooth and problem.action_features is not None else Index()
