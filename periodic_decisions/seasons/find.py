"""Search for seasons in a table of rewards.

Seasons come from the periodogram and the autocorrelation. Each is then put to two tests:

* *Is it there at all?* With K whole seasons in the data, a season has power at every K-th frequency
  of the spectrum and nowhere else, while noise has it everywhere: the mean power there is compared
  with that of its neighbours (an F test, corrected for every period that could have been tried).
  Drifts and random walks are smooth in frequency and do not stand out against their neighbours.
* *How strong is it?* The share of the variance that the means by phase explain in a season that
  they were not computed from.

Seasons are ranked by what knowing them gains: the reward of the arm that was best at the same phase
in other seasons, over that of the best arm, always the same. A year that explains much of the
variance, but of all arms alike, does not hide the day that changes which arm is best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.signal import find_peaks

from periodic_decisions.seasons.schedule import best_slots
from periodic_decisions.seasons.slots import calendar_periods, slot_choices, without_gaps
from periodic_decisions.seasons.spectrum import (
    MIN_SEASONS,
    MIN_STRENGTH,
    autocorrelation,
    in_calendar,
    independent_arms,
    neighbours,
    p_value,
    refine,
    spectrum,
    standardise,
    strength_of,
    varying,
    whiten,
    without_season,
)
from periodic_decisions.tables.grid import TimeGrid
from periodic_envs.arrays import Array
from periodic_envs.data.recording import rewards_of

MAX_P_VALUE = 0.005  # of a season found where there is none; tests measure the rate
MIN_GAIN = 0.05  # least gain of a longer season that explains less than one that fits into it
MAX_PEAKS = 12  # of the periodogram, and of the autocorrelation, that are tried


@dataclass(frozen=True)
class Season:
    """A season in a table.

    Attributes:
        period: Its length in steps.
        strength: Share of the variance explained in seasons that were left out, at most 1.
        p_value: How likely so clear a season is by chance, all periods considered.
        autocorrelation: Similarity of values one period apart.
        gain: Share of what could be gained over the best arm, always the same, that is gained by
            the best arm of each phase, judged by seasons left out; below 0 if that loses.
    """

    period: float
    strength: float
    p_value: float
    autocorrelation: float
    gain: float = 0.0


@dataclass(frozen=True, eq=False)
class SeasonSearch:
    """The seasons found in a table, and their spectrum and autocorrelation.

    Attributes:
        found: Seasons, the best first; empty if there is none.
        frequencies: Frequencies in cycles per step, above 0.
        power: Power of the whitened values at each frequency, mean 1.
        autocorrelation: Autocorrelation at lags 0, 1, 2, ...
        longest: Longest season that could be found: three must fit into the data.
    """

    found: tuple[Season, ...]
    frequencies: Array
    power: Array
    autocorrelation: Array
    longest: int

    @property
    def best(self) -> Season | None:
        """The season, if there is one."""
        return self.found[0] if self.found else None


def find_seasons(
    values: Array, *, grid: TimeGrid | None = None, objective: str = "max"
) -> SeasonSearch:
    """Look for seasons, and rank them by what knowing them gains.

    Args:
        values: Shape (steps, arms), NaN where there is no value.
        grid: The times of the steps; with it, periods of the calendar (24 hours, 7 days, 365 days)
            are preferred to others that explain no more.
        objective: "max" if the largest value is the best, or "min".
    """
    levels = standardise(values)
    steps = len(levels)
    longest = steps // MIN_SEASONS
    similarity = autocorrelation(levels, longest + 1)
    white = whiten(levels)
    frequencies = np.arange(1, len(white) // 2 + 1) / len(white)
    power = spectrum(white)[1:]
    power /= max(power.mean(), 1e-300)
    tried = _candidates(frequencies, power, similarity, longest) if levels.shape[1] else []
    # There are steps / 2 frequencies to choose from, and as many again between them.
    independent = independent_arms(white) if tried else 1.0
    tested = [(period, min(1.0, steps * p_value(white, period, independent))) for period in tried]
    significant = [(period, p) for period, p in tested if p < MAX_P_VALUE]
    periods = _own(white, significant) if significant else []
    found = _measure(values, levels, similarity, periods, calendar_periods(grid))
    rewards = rewards_of(without_gaps(values[:, ~np.isnan(values).all(0)]), objective)
    return SeasonSearch(
        tuple(_rank([_worth(one, rewards, grid) for one in found])),
        frequencies,
        power,
        similarity,
        longest,
    )


def _worth(season: Season, rewards: Array, grid: TimeGrid | None) -> Season:
    """Add what knowing the season gains."""
    choices = slot_choices(grid, len(rewards), season.period)
    _, gain = best_slots(rewards, season.period, choices)
    return season if gain is None else replace(season, gain=gain.signed_share)


def _own(white: Array, significant: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep seasons that have something of their own beyond shorter ones that fit into them."""
    kept: dict[float, float] = {}
    for period, p in sorted(significant):
        within = [q for q in kept if _fits_into(q, period, len(white))]
        if any(period < 1.5 * q for q in within):
            # The same season again: the clearer of the two stays.
            if p < kept[max(within)]:
                del kept[max(within)]
                kept[period] = p
        elif not within or _chance(white, period, within) < MAX_P_VALUE:
            kept[period] = p
    return list(kept.items())


def _chance(white: Array, period: float, within: list[float]) -> float:
    """Return the p-value of what shorter ones leave, for all multiples of the shortest."""
    rest = white
    for shorter in within:
        rest = without_season(rest, shorter)
    return len(white) / min(within) * p_value(rest, period, independent_arms(rest))


def _fits_into(short: float, long: float, steps: int) -> bool:
    """Say whether the long period is a multiple of the short one, as far as the data can tell."""
    ratio = long / short
    return abs(ratio - max(1, round(ratio))) * short < long**2 / steps


def _measure(
    values: Array,
    levels: Array,
    similarity: Array,
    periods: list[tuple[float, float]],
    calendar: Sequence[float],
) -> list[Season]:
    """Refine each period, and measure how much it explains."""
    if not periods:
        return []
    drift = uniform_filter1d(levels, round(max(p for p, _ in periods)), axis=0, mode="reflect")
    measured = np.where(np.isnan(values[:, varying(values)]), np.nan, levels - drift)
    found: list[Season] = []
    rest = measured
    for period, p in sorted(periods):
        refined, strength = refine(measured, levels - drift, period)
        named = in_calendar(rest, refined, calendar)
        if named != refined:
            refined, strength = named, strength_of(measured, named)
        if any(one.period == refined for one in found):
            continue
        at = min(round(refined), len(similarity) - 1)
        found.append(Season(refined, strength, p, float(similarity[at])))
        rest = without_season(rest, refined)
    return found


def _candidates(frequencies: Array, power: Array, similarity: Array, longest: int) -> list[float]:
    """List the periods of the highest peaks of both, and the whole numbers beside them."""
    nearby = uniform_filter1d(power, 2 * neighbours(len(power)) + 1, mode="nearest")
    height = np.concatenate([[0.0], power / np.maximum(nearby, 1e-300), [0.0]])
    lines, _ = find_peaks(height)
    lines = lines[np.argsort(-height[lines])][:MAX_PEAKS] - 1
    lags, facts = find_peaks(similarity, prominence=1e-6)
    lags = lags[np.argsort(-facts["prominences"])][:MAX_PEAKS]
    raw = [*(1.0 / frequencies[lines]), *lags.astype(float)]
    both = {float(p) for period in raw for p in (round(period), period)}
    return sorted(period for period in both if 2.0 <= period <= longest)


def _rank(found: list[Season]) -> list[Season]:
    """Put first what gains most, then what is strongest; leave out mere harmonics of another."""
    ranked: list[Season] = []
    found = [one for one in found if not any(_is_fraction(one, other) for other in found)]
    for one in sorted(found, key=lambda c: -c.strength):
        if one.strength >= MIN_STRENGTH and not any(_is_harmonic(one, b) for b in ranked):
            ranked.append(one)
    # A hundredth more or less is luck.
    return sorted(ranked[:4], key=lambda c: (-round(c.gain, 2), -c.strength))


def _is_fraction(one: Season, other: Season) -> bool:
    """Say whether one is 3.5 steps where the other is 7 and explains nearly as much.

    Among so few phases one of the seven steps may have a phase of the 3.5 to itself.
    """
    ratio = other.period / one.period
    short = one.period < 8.0 and not one.period.is_integer() and other.period.is_integer()
    multiple = 1.5 < ratio < 4.5 and abs(ratio - round(ratio)) < 0.01
    return short and multiple and other.strength > 0.8 * one.strength


def _is_harmonic(one: Season, better: Season) -> bool:
    """Say whether one says nothing that a stronger one does not say, too."""
    short, long = sorted((one, better), key=lambda c: c.period)
    ratio = long.period / short.period
    multiple = round(ratio)
    if abs(ratio - multiple) > 0.05:
        return False
    if one is long:
        return one.gain <= better.gain + MIN_GAIN
    # A profile without any regularity still has 1/m of its variance at each m-th of its length.
    return one.strength * multiple <= 1.5 * better.strength
