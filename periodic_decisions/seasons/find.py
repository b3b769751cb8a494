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
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d
from scipy.signal import find_peaks
from scipy.special import fdtrc

from periodic_decisions.seasons.schedule import best_slots
from periodic_decisions.seasons.slots import (
    by_slot,
    calendar_periods,
    phase_index,
    slot_choices,
    without_gaps,
)
from periodic_decisions.tables.series import TimeGrid
from periodic_envs.arrays import Array
from periodic_envs.data.recording import rewards_of

MIN_SEASONS = 3  # least number of times that a season fits into the data
MIN_STRENGTH = 0.01  # least share of the variance that a season explains
MAX_PHASES = 64  # of a season whose length is compared: finer phases are mostly noise
CALENDAR_LEEWAY = 0.1  # share by which a period of the calendar may explain less
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


def standardise(values: Array) -> Array:
    """Return arms that vary, without gaps and trend, of mean 0 and variance 1: (steps, m)."""
    steps = np.arange(len(values), dtype=np.float64)
    used = values[:, varying(values)]
    if not used.shape[1]:
        return used
    lines = [np.polynomial.Polynomial.fit(steps, one, 1)(steps) for one in without_gaps(used).T]
    rests = [filled - line for filled, line in zip(without_gaps(used).T, lines, strict=True)]
    return np.stack([rest / max(rest.std(), 1e-300) for rest in rests], axis=1)


def varying(values: Array) -> NDArray[np.bool_]:
    """Find the arms of which at least half is known and which are more than a straight line."""
    steps = np.arange(len(values), dtype=np.float64)
    found = np.zeros(values.shape[1], dtype=np.bool_)
    for arm, column in enumerate(values.T):
        known = ~np.isnan(column)
        if known.mean() >= 0.5 and known.sum() > 3:
            line = np.polynomial.Polynomial.fit(steps[known], column[known], 1)
            rest = column[known] - line(steps[known])
            found[arm] = rest.std() > 1e-9 * max(np.abs(column[known]).max(), 1e-300)
    return found


def whiten(levels: Array) -> Array:
    """Keep what is new at each step: a random walk becomes noise, and a season stays one."""
    before, after = levels[:-1], levels[1:]
    memory = np.clip((before * after).sum(0) / np.maximum((before**2).sum(0), 1e-300), 0.0, 1.0)
    # The first step has no step before it: nothing new is put there, to keep whole seasons whole.
    white: Array = np.concatenate([np.zeros_like(levels[:1]), after - memory * before])
    white -= white.mean(0)
    white /= np.maximum(white.std(0), 1e-300)
    return white


def spectrum(white: Array) -> Array:
    """Return the power at frequencies 0, 1/n, 2/n, ..., the mean over the arms."""
    if not white.shape[1]:
        return np.zeros(len(white) // 2 + 1)
    return np.asarray((np.abs(np.fft.rfft(white, axis=0)) ** 2).mean(1) / len(white))


def autocorrelation(levels: Array, n_lags: int) -> Array:
    """Return the mean over the arms of the correlation at lags 0 .. n_lags - 1."""
    n = len(levels)
    size = 1 << (2 * n - 1).bit_length()
    power = np.abs(np.fft.rfft(levels, size, axis=0)) ** 2
    products = np.fft.irfft(power.sum(1), size)[:n_lags]
    # Divided by the pairs there are, so that a perfect season has correlation 1 at any lag.
    similarity: Array = products / np.arange(n, n - n_lags, -1) / max(products[0] / n, 1e-300)
    return np.clip(similarity, -1.0, 1.0)


def p_value(white: Array, period: float, independent: float) -> float:
    """Say how likely noise is to have so much power at the multiples of 1 / period.

    Args:
        white: Whitened values, shape (steps, arms).
        period: Length of the season in steps.
        independent: What ``independent_arms`` says of them: the same for all periods.
    """
    seasons = int(len(white) / period)
    length = round(seasons * period)
    power = spectrum(white[:length])[1:]
    on_line = np.arange(1, len(power) + 1) % seasons == 0
    window = 2 * neighbours(len(power)) + 1
    # Mean power of the neighbours that are no multiples themselves.
    level = uniform_filter1d(np.where(on_line, 0.0, power), window, mode="mirror")
    share = uniform_filter1d(np.where(on_line, 0.0, 1.0), window, mode="mirror")
    ratio = (power * share / np.maximum(level, 1e-200))[on_line]
    freedom = np.full(len(ratio), 2.0)
    if length % 2 == 0 and on_line[-1]:
        freedom[-1] = 1.0  # the highest frequency has a cosine, but no sine
    # A smooth season has few harmonics, a spiky one many: 1, 2, 4, ... and all are tried.
    sizes = [*(1 << i for i in range((len(ratio) - 1).bit_length())), len(ratio)]
    smallest = 1.0
    for used in sizes:
        compared = min(used * window, (used - 1) * seasons + window, len(power))
        total = freedom[:used].sum()
        mean = (ratio * freedom)[:used].sum() / total
        rest = 2.0 * compared * (1.0 - 1.0 / seasons) * independent
        # The upper tail of the F distribution.
        smallest = min(smallest, float(fdtrc(total * independent, rest, mean)))
    return min(1.0, smallest * len(sizes))


def neighbours(n_frequencies: int) -> int:
    """Say how many frequencies on each side are compared with: few where there are few."""
    return int(np.clip(n_frequencies // 16, 3, 12))


def independent_arms(white: Array) -> float:
    """Say how many arms there would be if they were independent: 1 if all are alike.

    The largest eigenvalue counts, which decides about the tail of a sum of dependent powers.
    """
    moments = white.T @ white
    largest = np.linalg.eigvalsh(moments)[-1]
    return float(np.trace(moments) / largest) if largest > 0 else 1.0


def refine(measured: Array, levels: Array, period: float) -> tuple[float, float]:
    """Find the length that fits best, whole unless another explains more, and its strength."""
    exact = _sharpest(levels, period)
    worth = {p: strength_of(measured, p) for p in (period, exact)}
    whole = {p: strength_of(measured, p) for p in (float(max(2, round(p))) for p in worth)}
    best, best_whole = (max(options, key=lambda p: options[p]) for options in (worth, whole))
    if worth[best] > whole[best_whole] + MIN_STRENGTH:
        return _rounded(best, len(levels)), worth[best]
    return best_whole, whole[best_whole]


def in_calendar(rest: Array, period: float, calendar: Sequence[float]) -> float:
    """Return the period of the calendar that the data cannot tell from this one, or else this one.

    What shorter seasons leave decides: 364 days hold whole weeks, and would explain these, too.
    """
    near = [p for p in calendar if p != period and abs(p - period) < 0.5 * period**2 / len(rest)]
    if not near or period in calendar:
        return period
    explained = strength_of(rest, period, MAX_PHASES)
    needed = explained - max(MIN_STRENGTH, CALENDAR_LEEWAY * explained)
    return next((p for p in near if strength_of(rest, p, MAX_PHASES) >= needed), period)


def without_season(values: Array, period: float) -> Array:
    """Take out the means by phase."""
    season, phase, n = phase_index(len(values), period)
    sums, counts = by_slot(values, season, phase, n)
    return np.asarray(values - (sums.sum(0) / np.maximum(counts.sum(0), 1.0))[phase])


def strength_of(values: Array, period: float, max_phases: int | None = None) -> float:
    """Measure the share of the variance that means by phase explain in seasons left out.

    Means of a few noisy seasons are shrunk towards zero by one common factor, the best one.
    """
    values = values - np.nanmean(values, axis=0)
    season, phase, n = phase_index(len(values), period)
    if max_phases is not None and n > max_phases:
        phase, n = phase * max_phases // n, max_phases
    sums, counts = by_slot(values, season, phase, n)
    others = counts.sum(0) - counts
    profile = np.divide(sums.sum(0) - sums, others, out=np.zeros_like(sums), where=others > 0)
    # The squared error of a prediction c m is  sum x^2 - 2 c sum m x + c^2 sum m^2,  least at
    # c = sum m x / sum m^2.
    agreement, size = (profile * sums).sum(), (counts * profile**2).sum()
    total = np.nansum(values**2)
    return float(max(agreement, 0.0) ** 2 / max(size * total, 1e-300))


def _rounded(period: float, steps: int) -> float:
    """Write no more digits than the data can tell: a hundredth of a season in the whole record."""
    return round(period, max(0, int(np.ceil(-np.log10(0.01 * period**2 / steps)))))


def _sharpest(levels: Array, period: float) -> float:
    """Find the period near by at which the first four harmonics have the most power."""
    steps = len(levels)
    width = 0.5 * period**2 / steps  # half a season more or less in the whole record
    near = np.linspace(period - width, period + width, 41)
    near = near[(near >= 2.0) & (near * MIN_SEASONS <= steps)]
    harmonics = np.arange(1, int(min(4, period / 2)) + 1)
    # One period and harmonic at a time: all at once would take gigabytes for a long record.
    rows = np.ascontiguousarray(levels.T)
    power = [sum(_power(rows, harmonic / p) for harmonic in harmonics) for p in near]
    return float(near[int(np.argmax(power))]) if len(near) else period


def _power(rows: Array, frequency: float) -> float:
    """Sum the power of all arms, shape (arms, steps), at one frequency in cycles per step."""
    angles = 2.0 * np.pi * frequency * np.arange(rows.shape[1])
    return float(((rows @ np.cos(angles)) ** 2 + (rows @ np.sin(angles)) ** 2).sum())
