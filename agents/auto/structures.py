"""Candidate kernels of auto-gp-ucb, the structures of its mixture.

If the scale of the rewards is known, the structures are, with A the kernel on the actions,

    level A,   season A x Periodic,   persistence A x Decay,   drifting season A x Periodic x Decay.

If the scale is unknown, much of the variation may be common to all actions (for example, the effect
of the weather or of the hour). Common variation does not change which action is best, but makes the
differences between actions harder to see. Every part is therefore included twice, once
multiplied by A and once without A (common to all actions):

    u  +  v A  +  sum_s (v_s A x S_s + u_s S_s)  +  v_P A x Decay  +  u_P Decay,

where u is the variance of the unknown mean of all rewards. The S_s are the parts of the seasons
(``Harmonics``): each season has a smooth part, and the shortest season may also have a sharp part.
Each longer season also modulates the shortest season, which adds the part S_long x S_short; for
example, the daily season may change within the week.

With many arms, parts that would make the state too long are omitted. With dependent arms, only the
first S_s is included. The constants below are prior variances, in units of the variance of the
rewards. ``refit.py`` fits the variances, so that the variances of absent parts become small.
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
"""Number of arms up to which arms with coordinates are modelled as independent if the scale of the
rewards is unknown. With more arms, a warm start is never treated as the choices of an expert."""
HARMONICS = 5
"""Number of harmonics of a season if the scale is known. Five harmonics contain 0.99998 of the
variance of ``Periodic``, and their state is a third as long."""
FORGETTING, DRIFT = 0.04, 0.02
"""Forgetting rates eps of persistence and of a drifting season if the scale is known."""
PERSISTENCE = 0.2
"""Forgetting rate eps of persistence if the scale is unknown. The correlation falls to one half in
about six steps."""
MEAN, LEVEL = 3.0, 1.0
"""Prior variances u of the common mean and v of the levels of the actions."""
SMOOTH, SHARP, BENT, SHOCKS = 0.4, 0.07, 0.1, 0.4
"""Prior variances of the smooth part of a season, of its sharp part, of the modulation of one
season by another, and of persistence. The values per action and in common are equal."""
SMOOTH_HARMONICS, SHARP_HARMONICS, BENDING_HARMONICS = (1, 3), (4, 11), (1, 2)
"""Lowest and highest harmonics of the smooth part of a season, of its sharp part, and of a season
that modulates another."""
MAX_SEASONAL_STATE = 1000
"""Maximum number m of entries of the state for seasons; the cost of a step is O(m^2)."""
NOISE = 0.1
"""Default noise variance, as a share of the variance of the rewards."""


@dataclass(frozen=True)
class Structure:
    """Candidate kernel of the mixture.

    Attributes:
        name: Name of the structure.
        kernel: Kernel; if ``searched`` is true, the search replaces its period.
        weight: Prior weight, not normalised.
        searched: True if the period is unknown and is searched for.
    """

    name: str
    kernel: Kernel
    weight: float
    searched: bool = False


def level(problem: Problem) -> Structure:
    """Return the structure of mean rewards that are constant in time."""
    return Structure("level", Constant(MEAN) + LEVEL * action_kernel(problem), 1.0)


def structure(problem: Problem, *, sharp: bool = False, period: float | None = None) -> Structure:
    """Return the structure with all parts, for an unknown scale of the rewards.

    Args:
        problem: Problem; its periods are used if it states any.
        sharp: Include the sharp part of the shortest season.
        period: Period of a season if the problem states no period; None for no season.
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
    """Return all structures for a known scale of the rewards, without contexts."""
    A, periods = action_kernel(problem), problem.periods
    structures = [
        Structure("level", A * Constant(), 1.0),
        Structure("persistence", A * Decay(FORGETTING), 1.0),
    ]
    if not periods:  # an unknown period and a drift would be hard to identify jointly
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
    """Return the structures level and season, each without and with an effect of the context."""
    plain = [s for s in known_scale_structures(problem) if s.name in ("level", "season")]
    with_context = [
        replace(s, name=f"{s.name} in context", kernel=s.kernel * ContextSquaredExponential(1.0))
        for s in plain
    ]
    return [*plain, *with_context]


def _parts(periods: tuple[float, ...], sharp: bool) -> Iterator[tuple[float, Kernel]]:
    """Yield the prior variance and the time kernel of each part of the seasons."""
    for period in periods:
        yield SMOOTH, _harmonics(period, SMOOTH_HARMONICS)
    shortest = min(periods, default=0.0)
    # The lowest sharp harmonic must have more than two steps per cycle.
    if sharp and shortest > 2 * SHARP_HARMONICS[0]:
        yield SHARP, _harmonics(shortest, SHARP_HARMONICS)
    for period in periods:
        if period > shortest:
            long = _harmonics(period, BENDING_HARMONICS)
            yield BENT, long * _harmonics(shortest, SMOOTH_HARMONICS)


def _affordable(parts: list[tuple[float, Kernel]], arms: int | None) -> list[tuple[float, Kernel]]:
    """Return the first parts, as many as ``MAX_SEASONAL_STATE`` allows, but at least one.

    Args:
        parts: Parts in order of decreasing importance.
        arms: Number of independent arms; None for dependent arms, for which only the first part is
            returned.
    """
    if arms is None:
        return parts[:1]
    length, n_parts = 0, 0
    for _, clock in parts:
        waves = [len(spectrum.nu) for t in clock.terms if (spectrum := t.spectrum())]
        # Each frequency has a sine and a cosine, for each arm and in common.
        length += 2 * sum(waves) * (arms + 1)
        n_parts += length <= MAX_SEASONAL_STATE or n_parts == 0
    return parts[:n_parts]


def _harmonics(period: float, between: tuple[int, int]) -> Harmonics:
    """Return the harmonics in a range, except those with at most two steps per cycle.

    The lowest harmonic is always included.
    """
    lowest, highest = between
    return Harmonics(period, lowest, max(lowest, min(highest, int((period - 1) / 2))))


def action_kernel(problem: Problem) -> ActionKernel:
    """Return the kernel of the actions: smooth in their coordinates, or with independent arms.

    Arms are independent if they have no coordinates, or if the scale of the rewards is unknown and
    there are at most ``FEW_ARMS`` arms.
    """
    n = problem.n_actions
    if n is None:
        return SquaredExponential(1.0)
    smooth = problem.reward_scale is not None or n > FEW_ARMS
    return SquaredExponential(1.0) if smooth and problem.action_features is not None else Index()
