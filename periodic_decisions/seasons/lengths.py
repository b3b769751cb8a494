"""How long a season is exactly, and how much it explains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from periodic_decisions.seasons.phases import by_phase, by_slot, phase_index
from periodic_envs.arrays import Array

MIN_SEASONS = 3
"""How many times a season must fit into the data."""
MIN_STRENGTH = 0.01
"""The share of the variance that a season must explain."""
MAX_PHASES = 64
"""Into how many phases a season is cut to see which of two lengths fits better: finer ones of a few
seasons are mostly noise."""
CALENDAR_LEEWAY = 0.1
"""The share of what a period explains that one of the calendar may explain less."""


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
    sums, counts = by_phase(values, period)
    _, phase, _ = phase_index(len(values), period)
    left: Array = values - (sums.sum(0) / np.maximum(counts.sum(0), 1.0))[phase]
    return left


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
