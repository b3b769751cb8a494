"""Search for seasons in a table of rewards.

Candidates come from the periodogram and the autocorrelation. Each candidate is then tested:

* *Significance.* With K whole seasons in the data, a season has power only at every K-th frequency
of the spectrum, while noise has power at all frequencies. The mean power at these frequencies is
compared with the power at neighbouring frequencies by an F test, corrected for all periods that
could have been tested. The power of drifts and random walks is smooth in frequency, so it does not
exceed the power at neighbouring frequencies.
* *Strength.* The share of the variance that the means by phase explain in held-out seasons.

Seasons are ranked by the gain from knowing them: the reward of the arm that was best at the same
phase in other seasons, minus the reward of the best fixed arm. A yearly season that explains much
variance, but affects all arms equally, therefore ranks below a daily season that changes which arm
is best.
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

MIN_SEASONS = 3  # minimum number of repetitions of a season in the data
MIN_STRENGTH = 0.01  # minimum share of the variance that a season explains
MAX_PHASES = 64  # maximum number of phases in comparisons with the calendar; more phases add noise
CALENDAR_LEEWAY = 0.1  # relative loss of strength that is accepted for a calendar period
MAX_P_VALUE = 0.005  # significance level; the test suite measures the rate of false detections
MIN_GAIN = 0.05  # minimum additional gain of a longer, weaker season over a season that divides it
MAX_PEAKS = 12  # maximum number of candidates from the periodogram, and from the autocorrelation


@dataclass(frozen=True)
class Season:
    """Season in a table.

    Attributes:
        period: Length in steps.
        strength: Share of the variance explained in held-out seasons, at most 1.
        p_value: p-value of the F test, corrected for all periods that could have been tested.
        autocorrelation: Autocorrelation at a lag of one period.
        gain: Gain of the best arm of each phase over the best fixed arm in held-out seasons, as a
            share of the oracle's gain; negative for a loss.
    """

    period: float
    strength: float
    p_value: float
    autocorrelation: float
    gain: float = 0.0


@dataclass(frozen=True, eq=False)
class SeasonSearch:
    """Seasons detected in a table, with the spectrum and the autocorrelation.

    Attributes:
        seasons: Detected seasons, the best first.
        frequencies: Frequencies in cycles per step, above 0.
        power: Power of the whitened values at each frequency, mean 1.
        autocorrelation: Autocorrelation at lags 0, 1, 2, ...
        longest: Longest season in steps that can be detected: three repetitions must fit into the
            data.
    """

    seasons: tuple[Season, ...]
    frequencies: Array
    power: Array
    autocorrelation: Array
    longest: int

    @property
    def best(self) -> Season | None:
        """The best season, or None."""
        return self.seasons[0] if self.seasons else None


def find_seasons(
    values: Array, *, grid: TimeGrid | None = None, objective: str = "max"
) -> SeasonSearch:
    """Search for seasons and rank them by the gain from knowing them.

    Args:
        values: Values of shape (steps, arms), NaN where missing.
        grid: Times of the steps. If they are given, calendar periods (24 hours, 7 days, 365 days)
            are preferred to other periods of similar strength.
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
    # Bonferroni: steps / 2 Fourier frequencies, and the same number of periods between them.
    independent = independent_arms(white) if tried else 1.0
    tested = [(period, min(1.0, steps * p_value(white, period, independent))) for period in tried]
    significant = [(period, p) for period, p in tested if p < MAX_P_VALUE]
    periods = _distinct(white, significant) if significant else []
    measured = _measure(values, levels, similarity, periods, calendar_periods(grid))
    rewards = rewards_of(without_gaps(values[:, ~np.isnan(values).all(0)]), objective)
    return SeasonSearch(
        tuple(_rank([_with_gain(season, rewards, grid) for season in measured])),
        frequencies,
        power,
        similarity,
        longest,
    )


def _with_gain(season: Season, rewards: Array, grid: TimeGrid | None) -> Season:
    """Return a copy of the season whose ``gain`` is the gain from knowing the season."""
    choices = slot_choices(grid, len(rewards), season.period)
    _, gain = best_slots(rewards, season.period, choices)
    return season if gain is None else replace(season, gain=gain.signed_share)


def _distinct(white: Array, significant: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the seasons that do not merely repeat a shorter season.

    A season is returned if it remains significant after the shorter seasons that divide its period
    are removed from the data. Seasons are pairs of a period and its p-value.
    """
    distinct: dict[float, float] = {}
    for period, p in sorted(significant):
        within = [q for q in distinct if _fits_into(q, period, len(white))]
        if any(period < 1.5 * q for q in within):
            # Both are estimates of the same season: keep the more significant one.
            if p < distinct[max(within)]:
                del distinct[max(within)]
                distinct[period] = p
        elif not within or _rest_p_value(white, period, within) < MAX_P_VALUE:
            distinct[period] = p
    return list(distinct.items())


def _rest_p_value(white: Array, period: float, within: list[float]) -> float:
    """Return the p-value of a period after the shorter seasons ``within`` are removed.

    The p-value is corrected for the number of multiples of the shortest season that could have been
    tested.
    """
    rest = white
    for shorter in within:
        rest = without_season(rest, shorter)
    return len(white) / min(within) * p_value(rest, period, independent_arms(rest))


def _fits_into(short: float, long: float, steps: int) -> bool:
    """Return whether the long period is a multiple of the short one, at the data's resolution."""
    ratio = long / short
    # A record of n steps resolves a period P up to about P^2 / n.
    return abs(ratio - max(1, round(ratio))) * short < long**2 / steps


def _measure(
    values: Array,
    levels: Array,
    similarity: Array,
    periods: list[tuple[float, float]],
    calendar: Sequence[float],
) -> list[Season]:
    """Return the seasons with refined periods, and with their strengths and autocorrelations.

    Args:
        values: Values, shape (steps, arms), NaN where missing.
        levels: Standardised values of the varying arms.
        similarity: Autocorrelation at lags 0, 1, 2, ...
        periods: Pairs of a period and its p-value.
        calendar: Calendar periods in steps, to which periods are moved if the data permit.
    """
    if not periods:
        return []
    drift = uniform_filter1d(levels, round(max(p for p, _ in periods)), axis=0, mode="reflect")
    measured = np.where(np.isnan(values[:, varying(values)]), np.nan, levels - drift)
    seasons: list[Season] = []
    rest = measured
    for period, p in sorted(periods):
        refined, strength = refine(measured, levels - drift, period)
        named = in_calendar(rest, refined, calendar)
        if named != refined:
            refined, strength = named, strength_of(measured, named)
        if any(season.period == refined for season in seasons):
            continue
        at = min(round(refined), len(similarity) - 1)
        seasons.append(Season(refined, strength, p, float(similarity[at])))
        rest = without_season(rest, refined)
    return seasons


def _candidates(frequencies: Array, power: Array, similarity: Array, longest: int) -> list[float]:
    """Return the periods of the highest peaks of the power and of the autocorrelation.

    The result also contains each of these periods rounded to a whole number of steps.
    """
    nearby = uniform_filter1d(power, 2 * neighbours(len(power)) + 1, mode="nearest")
    height = np.concatenate([[0.0], power / np.maximum(nearby, 1e-300), [0.0]])
    lines, _ = find_peaks(height)
    lines = lines[np.argsort(-height[lines])][:MAX_PEAKS] - 1
    lags, facts = find_peaks(similarity, prominence=1e-6)
    lags = lags[np.argsort(-facts["prominences"])][:MAX_PEAKS]
    raw = [*(1.0 / frequencies[lines]), *lags.astype(float)]
    both = {float(p) for period in raw for p in (round(period), period)}
    return sorted(period for period in both if 2.0 <= period <= longest)


def _rank(seasons: list[Season]) -> list[Season]:
    """Return at most four seasons by decreasing gain, without weak and redundant seasons."""
    ranked: list[Season] = []
    seasons = [s for s in seasons if not any(_is_fraction(s, other) for other in seasons)]
    for one in sorted(seasons, key=lambda c: -c.strength):
        if one.strength >= MIN_STRENGTH and not any(_is_harmonic(one, b) for b in ranked):
            ranked.append(one)
    # Gains are rounded, since differences below a hundredth are noise.
    return sorted(ranked[:4], key=lambda c: (-round(c.gain, 2), -c.strength))


def _is_fraction(one: Season, other: Season) -> bool:
    """Return whether a season, such as 3.5 steps, is only a fraction of another, such as 7 steps.

    A season with few phases can fit a peak of the longer season. For example, one of the four
    phases of a season of 3.5 steps contains a single step of a season of 7 steps. If the season of
    7 steps has a peak at this step, both seasons explain the peak.
    """
    ratio = other.period / one.period
    short = one.period < 8.0 and not one.period.is_integer() and other.period.is_integer()
    multiple = 1.5 < ratio < 4.5 and abs(ratio - round(ratio)) < 0.01
    return short and multiple and other.strength > 0.8 * one.strength


def _is_harmonic(one: Season, better: Season) -> bool:
    """Return whether a season is redundant, because a stronger season explains it.

    One of the two periods must be a multiple of the other. A longer season is redundant unless its
    gain is larger by more than ``MIN_GAIN``. A shorter season is redundant unless it is clearly
    stronger than the harmonic of a random profile.
    """
    short, long = sorted((one, better), key=lambda c: c.period)
    ratio = long.period / short.period
    multiple = round(ratio)
    if abs(ratio - multiple) > 0.05:
        return False
    if one is long:
        return one.gain <= better.gain + MIN_GAIN
    # A random profile of length L has 1/m of its variance at the period L / m.
    return one.strength * multiple <= 1.5 * better.strength


def standardise(values: Array) -> Array:
    """Return the values of the varying arms, scaled to mean 0 and variance 1.

    Gaps are filled and linear trends are removed.
    """
    steps = np.arange(len(values), dtype=np.float64)
    used = values[:, varying(values)]
    if not used.shape[1]:
        return used
    lines = [np.polynomial.Polynomial.fit(steps, y, 1)(steps) for y in without_gaps(used).T]
    rests = [filled - line for filled, line in zip(without_gaps(used).T, lines, strict=True)]
    return np.stack([rest / max(rest.std(), 1e-300) for rest in rests], axis=1)


def varying(values: Array) -> NDArray[np.bool_]:
    """Return a mask of the arms that can have a season.

    At least half of the values of these arms are known, and the known values do not lie on a
    straight line.
    """
    steps = np.arange(len(values), dtype=np.float64)
    mask = np.zeros(values.shape[1], dtype=np.bool_)
    for arm, column in enumerate(values.T):
        known = ~np.isnan(column)
        if known.mean() >= 0.5 and known.sum() > 3:
            line = np.polynomial.Polynomial.fit(steps[known], column[known], 1)
            rest = column[known] - line(steps[known])
            mask[arm] = rest.std() > 1e-9 * max(np.abs(column[known]).max(), 1e-300)
    return mask


def whiten(levels: Array) -> Array:
    """Return the innovations of a first-order autoregression, scaled to mean 0 and variance 1.

    The autoregression is fitted to each arm. The innovations have the same seasons as the levels.
    """
    before, after = levels[:-1], levels[1:]
    memory = np.clip((before * after).sum(0) / np.maximum((before**2).sum(0), 1e-300), 0.0, 1.0)
    # The first step has no predecessor; a zero keeps the number of steps.
    white: Array = np.concatenate([np.zeros_like(levels[:1]), after - memory * before])
    white -= white.mean(0)
    white /= np.maximum(white.std(0), 1e-300)
    return white


def spectrum(white: Array) -> Array:
    """Return the power at frequencies 0, 1/n, 2/n, ..., averaged over the arms."""
    if not white.shape[1]:
        return np.zeros(len(white) // 2 + 1)
    return np.asarray((np.abs(np.fft.rfft(white, axis=0)) ** 2).mean(1) / len(white))


def autocorrelation(levels: Array, n_lags: int) -> Array:
    """Return the autocorrelation at lags 0 .. n_lags - 1, averaged over the arms."""
    n = len(levels)
    size = 1 << (2 * n - 1).bit_length()  # padded with zeros, so that lags do not wrap around
    power = np.abs(np.fft.rfft(levels, size, axis=0)) ** 2
    products = np.fft.irfft(power.sum(1), size)[:n_lags]
    # Sums are divided by the number of pairs, so that a perfect season has correlation 1.
    similarity: Array = products / np.arange(n, n - n_lags, -1) / max(products[0] / n, 1e-300)
    return np.clip(similarity, -1.0, 1.0)


def p_value(white: Array, period: float, independent: float) -> float:
    """Return the p-value of the power at the multiples of 1 / period.

    Args:
        white: Whitened values, shape (steps, arms).
        period: Length of the season in steps.
        independent: Effective number of arms, see ``independent_arms``.
    """
    seasons = int(len(white) / period)
    length = round(seasons * period)
    power = spectrum(white[:length])[1:]
    on_line = np.arange(1, len(power) + 1) % seasons == 0
    window = 2 * neighbours(len(power)) + 1
    # Mean power of the neighbouring frequencies that are not multiples of 1 / period.
    level = uniform_filter1d(np.where(on_line, 0.0, power), window, mode="mirror")
    share = uniform_filter1d(np.where(on_line, 0.0, 1.0), window, mode="mirror")
    ratio = (power * share / np.maximum(level, 1e-200))[on_line]
    freedom = np.full(len(ratio), 2.0)
    if length % 2 == 0 and on_line[-1]:
        freedom[-1] = 1.0  # the highest frequency has a cosine, but no sine
    # Smooth seasons have few harmonics, peaked seasons many: test 1, 2, 4, ... and all of them.
    sizes = [*(1 << i for i in range((len(ratio) - 1).bit_length())), len(ratio)]
    smallest = 1.0
    for used in sizes:
        compared = min(used * window, (used - 1) * seasons + window, len(power))
        total = freedom[:used].sum()
        mean = (ratio * freedom)[:used].sum() / total
        rest = 2.0 * compared * (1.0 - 1.0 / seasons) * independent
        # Upper tail of the F distribution.
        smallest = min(smallest, float(fdtrc(total * independent, rest, mean)))
    return min(1.0, smallest * len(sizes))


def neighbours(n_frequencies: int) -> int:
    """Return the number of neighbours, on each side, with which a frequency's power is compared."""
    return int(np.clip(n_frequencies // 16, 3, 12))


def independent_arms(white: Array) -> float:
    """Return the effective number of independent arms: trace / largest eigenvalue.

    The largest eigenvalue determines the tail of a sum of dependent powers.
    """
    moments = white.T @ white
    largest = np.linalg.eigvalsh(moments)[-1]
    return float(np.trace(moments) / largest) if largest > 0 else 1.0


def refine(measured: Array, levels: Array, period: float) -> tuple[float, float]:
    """Return the best length of a season near a period, and the strength of this season.

    The length is a whole number unless a fractional length is clearly stronger.
    """
    exact = _sharpest(levels, period)
    worth = {p: strength_of(measured, p) for p in (period, exact)}
    whole = {p: strength_of(measured, p) for p in (float(max(2, round(p))) for p in worth)}
    best, best_whole = (max(options, key=lambda p: options[p]) for options in (worth, whole))
    if worth[best] > whole[best_whole] + MIN_STRENGTH:
        return _rounded(best, len(levels)), worth[best]
    return best_whole, whole[best_whole]


def in_calendar(rest: Array, period: float, calendar: Sequence[float]) -> float:
    """Return a calendar period that the data hardly distinguish from the given period.

    If no calendar period is near the given period and of similar strength, the given period is
    returned. Strengths are compared after shorter seasons have been removed. Otherwise a period of
    364 days, which contains whole weeks, would include the variance of the weekly season.
    """
    near = [p for p in calendar if p != period and abs(p - period) < 0.5 * period**2 / len(rest)]
    if not near or period in calendar:
        return period
    explained = strength_of(rest, period, MAX_PHASES)
    needed = explained - max(MIN_STRENGTH, CALENDAR_LEEWAY * explained)
    return next((p for p in near if strength_of(rest, p, MAX_PHASES) >= needed), period)


def without_season(values: Array, period: float) -> Array:
    """Return the values minus their means by phase."""
    season, phase, n = phase_index(len(values), period)
    sums, counts = by_slot(values, season, phase, n)
    return np.asarray(values - (sums.sum(0) / np.maximum(counts.sum(0), 1.0))[phase])


def strength_of(values: Array, period: float, max_phases: int | None = None) -> float:
    """Return the share of the variance that means by phase explain in held-out seasons.

    The means are shrunk towards zero by the best common factor.
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
    """Round a period to the number of decimal places that the data resolve.

    A change in the last place changes the number of seasons in the data by at most 0.01.
    """
    return round(period, max(0, int(np.ceil(-np.log10(0.01 * period**2 / steps)))))


def _sharpest(levels: Array, period: float) -> float:
    """Return the nearby period at which the first four harmonics have the most power."""
    steps = len(levels)
    width = 0.5 * period**2 / steps  # changes the number of seasons in the data by one half
    near = np.linspace(period - width, period + width, 41)
    near = near[(near >= 2.0) & (near * MIN_SEASONS <= steps)]
    harmonics = np.arange(1, int(min(4, period / 2)) + 1)
    # One period and one harmonic at a time: a matrix for all of them could take gigabytes.
    rows = np.ascontiguousarray(levels.T)
    power = [sum(_power(rows, harmonic / p) for harmonic in harmonics) for p in near]
    return float(near[int(np.argmax(power))]) if len(near) else period


def _power(rows: Array, frequency: float) -> float:
    """Return the power at a frequency in cycles per step, summed over the arms.

    ``rows`` contains the values, shape (arms, steps).
    """
    angles = 2.0 * np.pi * frequency * np.arange(rows.shape[1])
    return float(((rows @ np.cos(angles)) ** 2 + (rows @ np.sin(angles)) ** 2).sum())
