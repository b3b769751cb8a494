"""Power and similarity over time, and whether a season stands out from noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d
from scipy.special import fdtrc

from periodic_decisions.seasons.phases import without_gaps
from periodic_envs.arrays import Array


def standardise(values: Array) -> Array:
    """Return arms that vary, without gaps and trend, of mean 0 and variance 1: (steps, m)."""
    steps = np.arange(len(values), dtype=np.float64)
    used = values[:, varying(values)]
    if not used.shape[1]:
        return used
    columns = []
    for filled in without_gaps(used).T:
        filled = filled - np.polynomial.Polynomial.fit(steps, filled, 1)(steps)
        columns.append(filled / max(filled.std(), 1e-300))
    return np.stack(columns, axis=1)


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
    smallest, sets = 1.0, 0
    for used in _doublings(len(ratio)):  # a smooth season has few harmonics, a spiky one many
        compared = min(used * window, (used - 1) * seasons + window, len(power))
        total = freedom[:used].sum()
        mean = (ratio * freedom)[:used].sum() / total
        # The upper tail of the F distribution.
        rest = 2.0 * compared * (1.0 - 1.0 / seasons) * independent
        p = fdtrc(total * independent, rest, mean)
        smallest, sets = min(smallest, float(p)), sets + 1
    return min(1.0, smallest * sets)


def neighbours(n_frequencies: int) -> int:
    """Say how many frequencies on each side are compared with: few where there are few."""
    return int(np.clip(n_frequencies // 16, 3, 12))


def _doublings(n: int) -> list[int]:
    """List 1, 2, 4, ... and n."""
    return [*(1 << i for i in range((n - 1).bit_length())), n]


def independent_arms(white: Array) -> float:
    """Say how many arms there would be if they were independent: 1 if all are alike.

    The largest eigenvalue counts, which decides about the tail of a sum of dependent powers.
    """
    moments = white.T @ white
    largest = np.linalg.eigvalsh(moments)[-1]
    return float(np.trace(moments) / largest) if largest > 0 else 1.0
