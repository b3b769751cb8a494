"""What measurements of some arms teach about the arms: the content of a prior's file.

On a transformed scale: the mean by phase of the season and arm, and the covariance of what is left,
as a sum of a level, two decays and a season, by least squares over the covariances at some lags;
each is then cut to a few factors and a variance of its own for every arm. Only such summary
statistics are written; what their names mean is said in ``agents/auto/learned_prior.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.auto.transform import TRANSFORMS, RewardTransform
from periodic_envs.arrays import Array

MIN_SEASONS = 3
"""Fewer say nothing about how seasons differ."""
STEPS = (0, 1, 2, 3, 4, 6, 8, 12)
SEASONS = (1 / 8, 1 / 6, 1 / 4, 1 / 3, 1 / 2, 1, 2, 3, 4, 6, 8)
"""Lags at which covariances are compared: in steps, and in seasons."""
FAST, SLOW = (0.3, 0.5, 0.7, 0.85, 0.93), (0.96, 0.98, 0.99, 0.996)
"""Correlations from step to step of the two decays, of which those that fit best are taken."""
# The following were chosen on Madrid 2016 and 2017, learning from the one and judging on the other.
SEASON_LENGTH_SCALE, HARMONICS, SEASON_WEIGHT = 0.7, 4, 0.3
RANKS = {"level": 3, "fast": 8, "slow": 6, "season": 3}
NOISE_SHARE = 0.15
"""Least share of the noise in the variance around the profile."""
LEAST_SPREAD = 1e-3
"""Least standard deviation around the profile, as a share of that of all measurements."""
OWN_SHARE = 1e-3
"""Least share of a variance of an arm's own."""


@dataclass(frozen=True)
class Tuning:
    """What is else taken from the data, given by hand.

    Attributes:
        unit: The unit of the transformed scale; None for the standard deviation around the profile.
        noise_variance: In squared units; None for what no other part explains.
        decays: The correlations from step to step of a fast and a slow decay.
    """

    unit: float | None = None
    noise_variance: float | None = None
    decays: tuple[float, float] | None = None


def learn(
    values: Sequence[Array],
    *,
    period: float,
    transform: str = "auto",
    places: Array | None = None,
    about: str = "",
    extra: Mapping[str, Any] | None = None,
    tuning: Tuning | None = None,
) -> dict[str, Any]:
    """The content of the file.

    Args:
        values: Stretches of measurements, each of shape (steps, arms), NaN where there is none. All
            of them begin at the phase 0, as the problems must for which the prior is.
        period: Steps of a season; rows of the profile are as many, rounded up.
        transform: "identity", "sqrt", "log1p", or "auto" for the most likely of them.
        places: Coordinates of the arms; without them the prior is for these arms in this order.
        about: What the prior is about, in a sentence; what stands before a colon is its name.
        extra: What else to write down, such as the names of the arms.
        tuning: What is not to be taken from the data.

    Raises:
        ValueError: If there is too little to learn from, in a sentence.
    """
    tuning = tuning or Tuning()
    _check(values, period)
    if transform == "auto":
        transform = likeliest_transform(values, period)
    y = [RewardTransform(transform).forward(stretch) for stretch in values]
    profile = profile_of(y, period)
    rest = residuals_of(y, profile, period)
    spread = _spread(y, rest)
    unit = tuning.unit or float(f"{spread:.3g}")
    rest, variance = [r / unit for r in rest], (spread / unit) ** 2
    lags = lags_for(period, max(map(len, values)))
    C = np.stack([lagged(rest, int(lag)) for lag in lags])
    decays = tuning.decays or likeliest_decays(lags, C, period)
    parts = parts_of(lags, C, period, decays)
    noise = max(float(np.diagonal(parts["noise"]).mean()), NOISE_SHARE * variance)
    harmonics = min(HARMONICS, max(1, len(profile) // 2))
    clocks: dict[str, dict[str, Any]] = {
        "level": {"part": "level"},
        "fast": {"part": "decay", "eps": round(1.0 - decays[0] ** 2, 4)},
        "slow": {"part": "decay", "eps": round(1.0 - decays[1] ** 2, 4)},
        "season": {"part": "season", "length_scale": SEASON_LENGTH_SCALE, "harmonics": harmonics},
    }
    floors = dict.fromkeys(clocks, OWN_SHARE * variance)
    # A mean over few seasons is itself uncertain.
    floors["season"] = max(floors["season"], variance / seasons_in(values, period))
    return {
        "format": "periodic-gp prior",
        "version": 2,
        "about": about,
        "period": float(period),
        "transform": transform,
        "unit": unit,
        **(extra or {}),
        **({} if places is None else {"places": np.round(places, 6).tolist()}),
        "profile": np.round(profile / unit, 2).tolist(),
        "noise_variance": tuning.noise_variance or round(noise, 3),
        "terms": [clocks[name] | cut(parts[name], RANKS[name], floors[name]) for name in clocks],
    }


def seasons_in(values: Sequence[Array], period: float) -> float:
    """How many seasons there are in all stretches."""
    return sum(map(len, values)) / period


def _check(values: Sequence[Array], period: float) -> None:
    if not 2 <= period < math.inf:
        raise ValueError(f"period must be a number of steps of at least 2, got {period:g}")
    steps, seasons = sum(map(len, values)), seasons_in(values, period)
    if seasons < MIN_SEASONS:
        raise ValueError(
            f"a prior needs at least {MIN_SEASONS} seasons: the data have {steps:,} steps, "
            f"{seasons:.1f} seasons of {period:g}"
        )
    unseen = np.flatnonzero(np.isnan(np.concatenate(values)).all(axis=0))
    if len(unseen):
        raise ValueError(f"there is no measurement of arm {unseen[0]}: leave it out")


def _spread(y: Sequence[Array], rest: Sequence[Array]) -> float:
    """The standard deviation around the profile, above zero where seasons are all alike."""
    whole = float(np.nanstd(np.concatenate(y)))
    spread = max(float(np.sqrt(np.nanmean(np.concatenate(rest) ** 2))), LEAST_SPREAD * whole)
    if not 0 < spread < math.inf:
        raise ValueError("the measurements are all the same: there is nothing to learn")
    return spread


def phases(steps: int, period: float) -> NDArray[np.int64]:
    """The row of the profile of each step, as ``Knowledge`` finds it."""
    rows = math.ceil(period)
    return (np.arange(steps) / period % 1.0 * rows + 1e-9).astype(np.int64) % rows


def profile_of(y: Sequence[Array], period: float) -> Array:
    """Mean by phase and arm; where there is no measurement, that of the arm."""
    whole = np.concatenate(y)
    rows = np.concatenate([phases(len(stretch), period) for stretch in y])
    seen = ~np.isnan(whole)
    total = np.zeros((math.ceil(period), whole.shape[1]))
    count = np.zeros_like(total)
    np.add.at(total, rows, np.where(seen, whole, 0.0))
    np.add.at(count, rows, seen)
    return np.where(count > 0, total / np.maximum(count, 1), np.nanmean(whole, axis=0))


def residuals_of(y: Sequence[Array], profile: Array, period: float) -> list[Array]:
    """What is left of each stretch around the profile."""
    return [stretch - profile[phases(len(stretch), period)] for stretch in y]


def likeliest_transform(values: Sequence[Array], period: float) -> str:
    """The scale on which measurements are most likely Gaussian around the profile."""
    whole = np.concatenate(values)
    found = {}
    for name in TRANSFORMS:
        scale = RewardTransform(name)
        y = [scale.forward(stretch) for stretch in values]
        rest = np.concatenate(residuals_of(y, profile_of(y, period), period))
        spread = np.maximum(
            np.nanmean(rest**2, axis=0), LEAST_SPREAD**2 * np.nanvar(np.concatenate(y))
        )
        count = (~np.isnan(rest)).sum(axis=0)
        with np.errstate(divide="ignore"):  # all the same: refused later
            fit = -0.5 * float((count * np.log(spread)).sum())
        found[name] = fit + scale.log_slope(whole[~np.isnan(whole)])
    return max(found, key=lambda name: found[name])


def lags_for(period: float, steps: int) -> NDArray[np.int64]:
    """Lags of at most half of the longest stretch."""
    lags = {*STEPS, *(round(part * period) for part in SEASONS)}
    return np.array(sorted(lag for lag in lags if lag <= steps // 2))


def lagged(residuals: Sequence[Array], lag: int) -> Array:
    """Covariance of all arms with all arms ``lag`` steps later, made symmetric."""
    total = np.zeros((residuals[0].shape[1],) * 2)
    pairs = np.zeros_like(total)
    for r in residuals:
        a, b = r[: max(len(r) - lag, 0)], r[lag:]
        total += np.nan_to_num(a).T @ np.nan_to_num(b)
        pairs += (~np.isnan(a)).T.astype(float) @ (~np.isnan(b)).astype(float)
    C = total / np.maximum(pairs, 1.0)
    return np.asarray((C + C.T) / 2)


def _basis(lags: NDArray[np.int64], period: float, decays: tuple[float, float]) -> Array:
    season = np.exp(-2.0 * np.sin(np.pi * lags / period) ** 2 / SEASON_LENGTH_SCALE**2)
    fast, slow = decays
    return np.stack([np.ones(len(lags)), fast**lags, slow**lags, season, lags == 0], axis=1)


def likeliest_decays(lags: NDArray[np.int64], C: Array, period: float) -> tuple[float, float]:
    """The two whose parts, none of them negative, come next to the mean of the arms' variances."""
    mean = np.trace(C, axis1=1, axis2=2) / C.shape[1]

    def error(decays: tuple[float, float]) -> float:
        basis = _basis(lags, period, decays)
        found = np.maximum(np.linalg.lstsq(basis, mean, rcond=None)[0], 0.0)
        return float(((basis @ found - mean) ** 2).sum())

    return min(product(FAST, SLOW), key=error)


def parts_of(
    lags: NDArray[np.int64], C: Array, period: float, decays: tuple[float, float]
) -> dict[str, Array]:
    """Level, fast and slow decay, season and noise whose sum fits the covariances at all lags."""
    basis = _basis(lags, period, decays)
    found = np.linalg.lstsq(basis, C.reshape(len(lags), -1), rcond=None)[0]
    level, fast, slow, season, noise = found.reshape(5, *C.shape[1:])
    season = SEASON_WEIGHT * season
    return {"level": level, "fast": fast, "slow": slow, "season": season, "noise": noise}


def cut(C: Array, rank: int, floor: float) -> dict[str, Any]:
    """A covariance as a few factors and the variances that they leave."""
    value, vector = np.linalg.eigh(C)
    F = vector[:, -rank:] * np.sqrt(np.maximum(value[-rank:], 0.0))
    own = np.maximum(np.diagonal(C) - (F**2).sum(axis=1), floor)
    return {"factor": np.round(F, 3).tolist(), "own": np.round(own, 3).tolist()}
