"""Is there a season in a table of rewards, and how long is it?

Candidates come from the periodogram and the autocorrelation. Each is then put to two tests:

* *Is it there at all?* With K whole seasons in the data, a season has power at every K-th frequency
  of the spectrum and nowhere else, while noise has it everywhere: the mean power there is compared
  with that of its neighbours (an F test, corrected for every period that could have been tried).
  Drifts and random walks are smooth in frequency and do not stand out against their neighbours.
* *What is it worth?* The share of the variance that the means by phase explain in a season that
  they were not computed from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.signal import find_peaks

from periodic_envs.arrays import Array
from periodic_envs.data.seasons.phases import by_phase, phase_index
from periodic_envs.data.seasons.spectrum import (
    autocorrelation,
    independent_arms,
    neighbours,
    p_value,
    spectrum,
    standardise,
    varying,
    whiten,
)

MIN_SEASONS = 3
"""How many times a season must fit into the data."""
MAX_P_VALUE = 0.005
"""How often the test may find a season where there is none; measured rates are in its tests."""
MIN_STRENGTH = 0.01
"""The share of the variance that a season must explain."""
MAX_PEAKS = 12
"""How many peaks of the periodogram, and of the autocorrelation, are tried."""


@dataclass(frozen=True)
class Candidate:
    """A possible season.

    Attributes:
        period: Its length in steps.
        strength: Share of the variance explained in seasons that were left out, at most 1.
        p_value: How likely so clear a season is by chance, all periods considered.
        autocorrelation: Similarity of values one period apart.
    """

    period: float
    strength: float
    p_value: float
    autocorrelation: float


@dataclass(frozen=True, eq=False)
class Seasons:
    """The seasons found in a table, and what they were read from.

    Attributes:
        found: Seasons, the best first; empty if there is none.
        frequencies: Frequencies in cycles per step, above 0.
        power: Power of the whitened values at each frequency, mean 1.
        autocorrelation: Autocorrelation at lags 0, 1, 2, ...
        longest: Longest season that could be found: three must fit into the data.
    """

    found: tuple[Candidate, ...]
    frequencies: Array
    power: Array
    autocorrelation: Array
    longest: int

    @property
    def best(self) -> Candidate | None:
        """The season, if there is one."""
        return self.found[0] if self.found else None


def find_seasons(values: Array) -> Seasons:
    """Look for seasons in values of shape (steps, arms), NaN where there is no value."""
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
    found = _measure(values, levels, similarity, periods)
    return Seasons(tuple(_rank(found)), frequencies, power, similarity, longest)


def _own(white: Array, significant: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep seasons that have something of their own beyond shorter ones that fit into them."""
    kept: list[tuple[float, float]] = []
    for period, p in sorted(significant):
        within = [q for q, _ in kept if _fits_into(q, period, len(white))]
        if any(period < 1.5 * q for q in within):
            # The same season again: the clearer of the two stays.
            (index,) = [i for i, (q, _) in enumerate(kept) if q == max(within)]
            kept[index] = min(kept[index], (period, p), key=lambda pair: pair[1])
        elif not within or _chance(white, period, within) < MAX_P_VALUE:
            kept.append((period, p))
    return kept


def _chance(white: Array, period: float, within: list[float]) -> float:
    """Return the p-value of what shorter ones leave, for all multiples of the shortest."""
    rest = white
    for shorter in within:
        sums, counts = by_phase(rest, shorter)
        _, phase, _ = phase_index(len(rest), shorter)
        rest = rest - (sums.sum(0) / np.maximum(counts.sum(0), 1.0))[phase]
    return len(white) / min(within) * p_value(rest, period, independent_arms(rest))


def _fits_into(short: float, long: float, steps: int) -> bool:
    """Say whether the long period is a multiple of the short one, as far as the data can tell."""
    ratio = long / short
    return abs(ratio - max(1, round(ratio))) * short < long**2 / steps


def _measure(
    values: Array, levels: Array, similarity: Array, periods: list[tuple[float, float]]
) -> list[Candidate]:
    """Refine each period, and measure how much it explains."""
    if not periods:
        return []
    drift = uniform_filter1d(levels, round(max(p for p, _ in periods)), axis=0, mode="reflect")
    measured = np.where(np.isnan(values[:, varying(values)]), np.nan, levels - drift)
    found = []
    for period, p in periods:
        refined, strength = _refine(measured, levels - drift, period)
        at = min(round(refined), len(similarity) - 1)
        found.append(Candidate(refined, strength, p, float(similarity[at])))
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


def strength_of(values: Array, period: float) -> float:
    """Measure the share of the variance that means by phase explain in seasons left out.

    Means of a few noisy seasons are shrunk towards zero by one common factor, the best one.
    """
    values = values - np.nanmean(values, axis=0)
    sums, counts = by_phase(values, period)
    others = counts.sum(0) - counts
    profile = np.divide(sums.sum(0) - sums, others, out=np.zeros_like(sums), where=others > 0)
    # The squared error of a prediction c m is  sum x^2 - 2 c sum m x + c^2 sum m^2,  least at
    # c = sum m x / sum m^2.
    agreement, size = (profile * sums).sum(), (counts * profile**2).sum()
    total = np.nansum(values**2)
    return float(max(agreement, 0.0) ** 2 / max(size * total, 1e-300))


def _refine(measured: Array, levels: Array, period: float) -> tuple[float, float]:
    """Find the length that fits best, whole unless another explains more, and its strength."""
    exact = _sharpest(levels, period)
    worth = {p: strength_of(measured, p) for p in (period, exact)}
    whole = {p: strength_of(measured, p) for p in (float(max(2, round(p))) for p in worth)}
    best, best_whole = (max(options, key=lambda p: options[p]) for options in (worth, whole))
    if worth[best] > whole[best_whole] + MIN_STRENGTH:
        return best, worth[best]
    return best_whole, whole[best_whole]


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


def _rank(found: list[Candidate]) -> list[Candidate]:
    """Put the strongest first, and leave out mere harmonics of a longer one."""
    ranked: list[Candidate] = []
    for one in sorted(found, key=lambda c: -c.strength):
        if one.strength >= MIN_STRENGTH and not any(_is_harmonic(one, b) for b in ranked):
            ranked.append(one)
    return ranked[:4]


def _is_harmonic(one: Candidate, better: Candidate) -> bool:
    """Say whether one says nothing that a better one does not say, too."""
    short, long = sorted((one, better), key=lambda c: c.period)
    ratio = long.period / short.period
    multiple = round(ratio)
    if abs(ratio - multiple) > 0.05:
        return False
    # A profile without any regularity still has 1/m of its variance at each m-th of its length.
    return one is long or one.strength * multiple <= 1.5 * better.strength
