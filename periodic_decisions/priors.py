"""Priors for ``auto-gp-ucb:prior=FILE``, learned from measurements of the arms.

A prior describes measurements on a transformed scale by two statistics: the *profile*, which is the
mean by phase and arm, and the covariance of the *residuals*, which are the measurements minus the
profile. The covariance is a sum of four terms and noise. Each term is a covariance of the arms,
multiplied by a function of the lag:

* ``level``: a constant;
* ``fast`` and ``slow``: exponential decays;
* ``season``: a periodic function.

The covariances of the arms are fitted by least squares to the covariances of the residuals at
several lags. Each of them is then reduced to a few factors and an independent variance per arm.
Only these summary statistics are written; ``agents/auto/learned_prior.py`` documents their names.

The shipped prior is made by ``periodic-gp learn-prior madrid --years 2016:2017 --out
agents/auto/madrid.json``. Source of the data: Ayuntamiento de Madrid, datos abiertos.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.auto.transform import TRANSFORMS, RewardTransform
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid import cache
from periodic_envs.data.madrid.stations import coordinates_km, magnitude_number

MIN_SEASONS = 3  # fewer seasons do not show how seasons differ
# Lags at which covariances are fitted, in steps and in seasons.
STEPS = (0, 1, 2, 3, 4, 6, 8, 12)
SEASONS = (1 / 8, 1 / 6, 1 / 4, 1 / 3, 1 / 2, 1, 2, 3, 4, 6, 8)
# Candidates for the step-to-step correlations of the two decays; the best pair is used.
FAST, SLOW = (0.3, 0.5, 0.7, 0.85, 0.93), (0.96, 0.98, 0.99, 0.996)
# Parameters of the season term, chosen on the Madrid data of 2016 and 2017, by fitting to one year
# and evaluating on the other.
SEASON_LENGTH_SCALE, HARMONICS, SEASON_WEIGHT = 0.7, 4, 0.3
# Number of factors of each term.
RANKS = {"level": 3, "fast": 8, "slow": 6, "season": 3}
# Minimum noise variance, as a share of the variance of the residuals.
NOISE_SHARE = 0.15
# Minimum standard deviation of the residuals, as a share of the standard deviation of all values.
LEAST_SPREAD = 1e-3
# Minimum independent variance of an arm, as a share of the variance of the residuals.
OWN_SHARE = 1e-3
MADRID_HOURS = 24
ABOUT_MADRID = (
    "Prior for hourly NO (ug/m3) at Madrid's {stations} stations: summary statistics of the "
    "measurements of {years}. Source of the data: Ayuntamiento de Madrid, datos abiertos. Made by "
    "periodic-gp learn-prior madrid; the names are documented in agents/auto/learned_prior.py."
)


def learn(
    values: Sequence[Array],
    *,
    period: float,
    transform: str = "auto",
    places: Array | None = None,
    about: str = "",
    extra: Mapping[str, Any] | None = None,
    unit: float | None = None,
    noise_variance: float | None = None,
    decays: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """Learn a prior and return the content of its file.

    Args:
        values: Series of measurements, each of shape (steps, arms), NaN where missing. All series
            begin at phase 0, like the problems for which the prior is made.
        period: Length of a season in steps; the profile has this number of rows, rounded up.
        transform: "identity", "sqrt", "log1p", or "auto" for the most likely of these transforms.
        places: Coordinates of the arms, shape (arms, dimensions). None if they are unknown: the
            prior then applies only to these arms in this order.
        about: Description of the prior in one sentence. The part before the colon is the name of
            the prior.
        extra: Additional entries of the file, such as the names of the arms.
        unit: Unit of the transformed scale; None for the standard deviation of the residuals.
        noise_variance: Noise variance in squared units; None to estimate it from the residuals.
        decays: Step-to-step correlations of the fast and the slow decay; None to select them.

    Raises:
        DataError: If there are too few measurements, or all measurements are equal.
    """
    _check(values, period)
    if transform == "auto":
        transform = likeliest_transform(values, period)
    y = [RewardTransform(transform).forward(stretch) for stretch in values]
    profile = profile_of(y, period)
    rest = residuals_of(y, profile, period)
    spread = _spread(y, rest)
    unit = unit or float(f"{spread:.3g}")
    rest, variance = [r / unit for r in rest], (spread / unit) ** 2
    lags = {*STEPS, *(round(part * period) for part in SEASONS)}
    half = max(map(len, values)) // 2
    known = np.array(sorted(lag for lag in lags if lag <= half))
    C = np.stack([lagged(rest, int(lag)) for lag in known])
    decays = decays or _likeliest_decays(known, C, period)
    parts = _parts(known, C, period, decays)
    noise = max(float(np.diagonal(parts["noise"]).mean()), NOISE_SHARE * variance)
    harmonics = min(HARMONICS, max(1, len(profile) // 2))
    clocks: dict[str, dict[str, Any]] = {
        "level": {"part": "level"},
        "fast": {"part": "decay", "eps": round(1.0 - decays[0] ** 2, 4)},
        "slow": {"part": "decay", "eps": round(1.0 - decays[1] ** 2, 4)},
        "season": {"part": "season", "length_scale": SEASON_LENGTH_SCALE, "harmonics": harmonics},
    }
    floors = dict.fromkeys(clocks, OWN_SHARE * variance)
    # The mean residual of a phase over S seasons has a variance of about variance / S.
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
        "noise_variance": noise_variance or round(noise, 3),
        "terms": [clocks[name] | _cut(parts[name], RANKS[name], floors[name]) for name in clocks],
    }


def seasons_in(values: Sequence[Array], period: float) -> float:
    """Return the total number of seasons in all series."""
    return sum(map(len, values)) / period


def _check(values: Sequence[Array], period: float) -> None:
    if not 2 <= period < math.inf:
        raise DataError(
            "out-of-range", f"period must be finite and at least 2 steps, got {period:g}"
        )
    steps, seasons = sum(map(len, values)), seasons_in(values, period)
    if seasons < MIN_SEASONS:
        raise DataError(
            "too-few-seasons",
            f"a prior needs at least {MIN_SEASONS} seasons, but the data have {steps:,} steps, "
            f"which are {seasons:.1f} seasons of {period:g} steps",
        )
    unseen = np.flatnonzero(np.isnan(np.concatenate(values)).all(axis=0))
    if len(unseen):
        raise DataError(
            "missing-values",
            f"arm {unseen[0]} (counted from 0) has no measurement: remove it from the data",
        )


def _spread(y: Sequence[Array], rest: Sequence[Array]) -> float:
    """Return the standard deviation of the residuals ``rest`` of the values ``y``.

    The result is at least ``LEAST_SPREAD`` times the standard deviation of ``y``, so that it is
    positive if all seasons are equal.
    """
    whole = float(np.nanstd(np.concatenate(y)))
    spread = max(float(np.sqrt(np.nanmean(np.concatenate(rest) ** 2))), LEAST_SPREAD * whole)
    if not 0 < spread < math.inf:
        raise DataError(
            "equal-values", "all measurements are equal: a prior cannot be learned from them"
        )
    return spread


def phases(steps: int, period: float) -> NDArray[np.int64]:
    """Return the row of the profile for each of the first ``steps`` steps, shape (steps,).

    ``LearnedPrior`` computes the rows in the same way.
    """
    rows = math.ceil(period)
    # Round-off must not move a step to the previous row.
    return (np.arange(steps) / period % 1.0 * rows + 1e-9).astype(np.int64) % rows


def profile_of(y: Sequence[Array], period: float) -> Array:
    """Return the mean of all series by phase and arm, shape (phases, arms).

    If an arm has no measurement at a phase, the mean of the arm over all phases is used.
    """
    whole = np.concatenate(y)
    rows = np.concatenate([phases(len(stretch), period) for stretch in y])
    seen = ~np.isnan(whole)
    total, count = np.zeros((2, math.ceil(period), whole.shape[1]))
    np.add.at(total, rows, np.where(seen, whole, 0.0))
    np.add.at(count, rows, seen)
    return np.where(count > 0, total / np.maximum(count, 1), np.nanmean(whole, axis=0))


def residuals_of(y: Sequence[Array], profile: Array, period: float) -> list[Array]:
    """Return each series of measurements minus the profile."""
    return [stretch - profile[phases(len(stretch), period)] for stretch in y]


def likeliest_transform(values: Sequence[Array], period: float) -> str:
    """Return the transform for which Gaussian residuals have the highest likelihood."""
    whole = np.concatenate(values)

    def likelihood(name: str) -> float:
        scale = RewardTransform(name)
        y = [scale.forward(stretch) for stretch in values]
        rest = np.concatenate(residuals_of(y, profile_of(y, period), period))
        least = LEAST_SPREAD**2 * np.nanvar(np.concatenate(y))
        spread = np.maximum(np.nanmean(rest**2, axis=0), least)
        count = (~np.isnan(rest)).sum(axis=0)
        with np.errstate(divide="ignore"):  # equal measurements raise an error later
            fit = -0.5 * float((count * np.log(spread)).sum())
        # By change of variables, the log derivatives of the transform are added.
        return fit + scale.log_slope(whole[~np.isnan(whole)])

    return max(TRANSFORMS, key=likelihood)


def lagged(residuals: Sequence[Array], lag: int) -> Array:
    """Return the covariance of the residuals of all arms with those ``lag`` steps later.

    The result is symmetrised, shape (arms, arms).
    """
    total, pairs = np.zeros((2, *(residuals[0].shape[1],) * 2))
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


def _likeliest_decays(lags: NDArray[np.int64], C: Array, period: float) -> tuple[float, float]:
    """Return the pair of decays that best fits the autocovariance, averaged over the arms.

    The weights of the terms are fitted by least squares, and negative weights are set to 0.
    """
    mean = np.trace(C, axis1=1, axis2=2) / C.shape[1]

    def error(decays: tuple[float, float]) -> float:
        basis = _basis(lags, period, decays)
        weights = np.maximum(np.linalg.lstsq(basis, mean, rcond=None)[0], 0.0)
        return float(((basis @ weights - mean) ** 2).sum())

    return min(product(FAST, SLOW), key=error)


def _parts(
    lags: NDArray[np.int64], C: Array, period: float, decays: tuple[float, float]
) -> dict[str, Array]:
    """Return the covariance of the arms, shape (arms, arms), for each term and for the noise.

    The covariances are fitted by least squares to the covariances ``C`` at all lags.
    """
    basis = _basis(lags, period, decays)
    coefficients = np.linalg.lstsq(basis, C.reshape(len(lags), -1), rcond=None)[0]
    names = ("level", "fast", "slow", "season", "noise")
    parts = dict(zip(names, coefficients.reshape(5, *C.shape[1:]), strict=True))
    return parts | {"season": SEASON_WEIGHT * parts["season"]}


def _cut(C: Array, rank: int, floor: float) -> dict[str, Any]:
    """Approximate a covariance by F F' + diag(own), and return F and ``own`` as entries of a term.

    F has ``rank`` columns. ``own`` contains the independent variances of the arms, each of which is
    at least ``floor``.
    """
    value, vector = np.linalg.eigh(C)
    F = vector[:, -rank:] * np.sqrt(np.maximum(value[-rank:], 0.0))
    own = np.maximum(np.diagonal(C) - (F**2).sum(axis=1), floor)
    return {"factor": np.round(F, 3).tolist(), "own": np.round(own, 3).tolist()}


def learn_madrid(years: Sequence[int]) -> tuple[dict[str, Any], float]:
    """Return a prior for nitric oxide (NO) in Madrid, and the number of seasons in its data.

    The measurements of all years must have been imported.
    """
    imported = cache.years()
    missing = [str(year) for year in years if year not in imported]
    if missing:
        available = ", ".join(map(str, imported)) or "none"
        raise DataError(
            "not-imported",
            f"the measurements of {', '.join(missing)} are not imported (imported years: "
            f"{available}): import them first (see periodic-gp data import --help)",
        )
    tables = [cache.table(year, magnitude_number("NO")) for year in years]
    # Only stations that measured NO in all years are used.
    stations = sorted(set(tables[0][0]).intersection(*(t[0] for t in tables)))
    columns = [[list(own).index(station) for station in stations] for own, _ in tables]
    values = [t[1][:, c].astype(float) for t, c in zip(tables, columns, strict=True)]
    about = ABOUT_MADRID.format(stations=len(stations), years=" and ".join(map(str, years)))
    content = learn(
        values,
        period=MADRID_HOURS,
        transform="log1p",
        places=coordinates_km(stations).round(3),
        about=about,
        extra={"stations": [int(station) for station in stations]},
        # These values were chosen on the data of 2016 and 2017, by fitting to one year and
        # evaluating on the other.
        unit=1.0,
        noise_variance=0.15,
        decays=(0.85, 0.98),
    )
    return content, seasons_in(values, MADRID_HOURS)
