"""Fit the simulator of Madrid's NO to the measurements of 2016 and 2017.

Published values are rounded and never below 1, so moments of their logarithms would be wrong where
the value 1 is frequent. The parameters are therefore fitted by stochastic EM, which repeats two
steps: draw the latent Gaussian level of every value, given the parameters and the hours before and
after; then estimate the parameters as if the drawn levels were measurements.

    python -m studies.calibrate_madrid [FOLDER WITH Anio2016.zip AND Anio2017.zip]

Source of the data: Ayuntamiento de Madrid, datos abiertos. Only summary statistics are written.
"""

import argparse
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from periodic_envs.arrays import Array
from periodic_envs.data.madrid import cache
from periodic_envs.data.madrid.importing import import_paths
from periodic_envs.data.madrid.simulator import (
    HOURS_PER_DAY,
    MadridSimulator,
    part_autocorrelation,
)
from periodic_envs.data.madrid.stations import magnitude_number
from periodic_envs.files import DATA_VARIABLE, write_atomically

ROOT = Path(__file__).parents[1]
DEFAULT_FOLDER = ROOT.parent / "shared" / "data" / "madrid"
OUTPUT = ROOT / "periodic_envs" / "data" / "madrid" / "simulator.json"
YEARS = (2016, 2017)
ABOUT = (
    "Parameters of a simulator of hourly NO (ug/m3) at Madrid's 24 stations: summary statistics "
    "of the measurements of 2016 and 2017. Source of the data: Ayuntamiento de Madrid, datos "
    "abiertos. Made by studies/calibrate_madrid.py; the names are explained in "
    "periodic_envs/data/madrid/simulator.py."
)
# Saturation in units of a station's 99 % quantile, chosen from values between 0.05 and 2 with the
# data of 2016 and 2017. A larger saturation gives too many high values, a smaller one too many
# values of 1.
SATURATION = 0.4
SWEEPS = 60
LAGS_HOURS = 240
# Decay times of the parts of weather and residuals in hours, and their numbers of cycles per day.
MEMORY_HOURS = np.array([2.0, 6.0, 36.0, 480.0, 36.0, 480.0])
CYCLES_PER_DAY = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0])


def no_table(zip_path: Path) -> pd.DataFrame:
    """Return the hourly nitric oxide (NO) values of one year, shape (hours, stations).

    The index is the local time. Invalid values are NaN.
    """
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, {DATA_VARIABLE: folder}):
        (entry,) = import_paths([zip_path]).entries
        stations, measured = cache.table(entry.year, magnitude_number("NO"))
    table = measured.astype(float)
    times = pd.date_range(f"{entry.year}-01-01", periods=len(table), freq="h")
    return pd.DataFrame(table, index=times, columns=list(stations))


def level_of_no(no: Array, *, saturation: Array) -> Array:
    """Return the Gaussian level of NO, log NO + NO / saturation."""
    return np.log(no) + no / saturation


@dataclass(frozen=True)
class CalendarRows:
    """Hour of the day, month and weekday of every row, by which values can be averaged."""

    hour: NDArray[np.int_]
    month: NDArray[np.int_]
    weekday: NDArray[np.int_]

    @classmethod
    def of(cls, times: pd.DatetimeIndex) -> "CalendarRows":
        """Return the hour, month and weekday of every row of a table with these times."""
        weekday = times.day_of_week.to_numpy()
        return cls(times.hour.to_numpy(), times.month.to_numpy() - 1, weekday)

    def mean(self, values: Array, *keys: str) -> Array:
        """Return the means of rows with equal keys, such as "hour", shape ``(*keys, ...)``."""
        sizes = {"hour": HOURS_PER_DAY, "month": 12, "weekday": 7}
        shape = [sizes[key] for key in keys]
        group = np.ravel_multi_index([getattr(self, key) for key in keys], shape)
        columns = values.reshape(len(values), -1).T
        sums = [np.bincount(group, column, int(np.prod(shape))) for column in columns]
        means = np.stack(sums, axis=1) / np.bincount(group)[:, None]
        return means.reshape(*shape, *values.shape[1:])


@dataclass(frozen=True)
class LevelEstimate:
    """Parameters estimated from levels, and the division of the levels into components.

    Attributes:
        parameters: Estimated arguments of ``MadridSimulator``, by name.
        expected: Expected level, given the calendar and the city's weather, shape (hour, station).
        spread: Standard deviation of the level around ``expected``, shape (hour, station).
        weather: City's weather with variance 1, shape (hour,).
        residual: Residuals with variance 1, shape (hour, station).
    """

    parameters: dict[str, Array]
    expected: Array
    spread: Array
    weather: Array
    residual: Array


def calibrate(no: pd.DataFrame, *, sweeps: int = SWEEPS) -> MadridSimulator:
    """Fit all parameters to a table of whole numbers of at least 1; NaN marks missing values."""
    rng = np.random.default_rng(0)
    calendar = CalendarRows.of(no.index)
    values = no.to_numpy()
    # Bounds of the level follow from rounding and from the floor of 1, and are infinite where a
    # value is missing.
    saturation = SATURATION * np.nanquantile(values, 0.99, axis=0)
    at_least = np.where(values > 1.0, values - 0.5, 0.5)
    lower = np.where(values > 1.0, level_of_no(at_least, saturation=saturation), -np.inf)
    upper = level_of_no(np.where(np.isnan(values), np.inf, values + 0.5), saturation=saturation)
    level = level_of_no(np.where(values > 1.0, values, 0.7), saturation=saturation)
    for _ in range(sweeps):
        fit = estimate(level, calendar)
        level = draw_levels(rng, fit, lower, upper)
    fit = estimate(level, calendar)
    return MadridSimulator(
        stations=tuple(int(station) for station in no.columns),
        **fit.parameters,
        saturation=saturation,
        memory_hours=MEMORY_HOURS,
        cycles_per_day=CYCLES_PER_DAY,
        weather_share=weather_share(fit.weather, calendar.month),
        residual_covariance=residual_covariance(fit.residual),
    )


def estimate(level: Array, calendar: CalendarRows) -> LevelEstimate:
    """Estimate the parameters from levels, shape (hours, stations), without missing values."""
    hour, month, weekday = calendar.hour, calendar.month, calendar.weekday
    profile = calendar.mean(level, "hour")
    month_profile, weekday_profile = np.zeros((12, HOURS_PER_DAY)), np.zeros((7, HOURS_PER_DAY))
    station_month = np.zeros((12, level.shape[1]))
    for _ in range(3):  # backfitting: effects are nearly orthogonal, so three rounds are enough
        city = (level - profile[hour]).mean(axis=1)
        month_profile = calendar.mean(city - weekday_profile[weekday, hour], "month", "hour")
        weekday_profile = calendar.mean(city - month_profile[month, hour], "weekday", "hour")
        both = (month_profile[month, hour] + weekday_profile[weekday, hour])[:, None]
        station_month = calendar.mean(level - profile[hour] - both, "month")
        station_month -= station_month.mean(axis=1, keepdims=True)
        profile = calendar.mean(level - both - station_month[month], "hour")
    mean = profile[hour] + station_month[month] + both

    anomaly = level - mean
    city = anomaly.mean(axis=1)
    weather_amplitude = np.sqrt(calendar.mean(city**2, "month", "hour"))
    slope = calendar.mean(anomaly * city[:, None], "hour")
    weather_loading = slope / calendar.mean(city**2, "hour")[:, None]
    expected = mean + weather_loading[hour] * city[:, None]
    own = level - expected
    residual_spread = np.sqrt(calendar.mean(own**2, "hour"))
    squares = ((own / residual_spread[hour]) ** 2).mean(axis=1)
    residual_month = np.sqrt(calendar.mean(squares, "month", "hour"))
    spread = residual_spread[hour] * residual_month[month, hour, None]
    parameters = {
        "profile": profile,
        "month_profile": month_profile,
        "station_month": station_month,
        "weekday_profile": weekday_profile,
        "weather_amplitude": weather_amplitude,
        "weather_loading": weather_loading,
        "residual_spread": residual_spread,
        "residual_month": residual_month,
    }
    weather = city / weather_amplitude[month, hour]
    return LevelEstimate(parameters, expected, spread, weather, own / spread)


def draw_levels(rng: np.random.Generator, fit: LevelEstimate, lower: Array, upper: Array) -> Array:
    """Draw levels between their bounds, given the city's weather and the adjacent hours.

    Residuals are modelled as AR(1). All even hours are drawn in one operation given the odd hours,
    then all odd hours given the even hours.
    """
    residual = fit.residual.copy()
    keep = np.mean(residual[1:] * residual[:-1])
    towards, deviation = keep / (1.0 + keep**2), np.sqrt((1.0 - keep**2) / (1.0 + keep**2))
    low, high = (lower - fit.expected) / fit.spread, (upper - fit.expected) / fit.spread
    last = len(residual) - 1
    for parity in (0, 1):
        rows = np.arange(parity, last + 1, 2)
        before, after = residual[np.maximum(rows - 1, 0)], residual[np.minimum(rows + 1, last)]
        mean = towards * (before + after)
        least, most = ndtr((low[rows] - mean) / deviation), ndtr((high[rows] - mean) / deviation)
        quantile = least + (most - least) * rng.random(mean.shape)
        normal = ndtri(np.clip(quantile, 1e-9, 1.0 - 1e-9))
        residual[rows] = np.clip(mean + deviation * normal, low[rows], high[rows])
    return np.asarray(fit.expected + fit.spread * residual)


def weather_share(weather: Array, month: NDArray[np.int_]) -> Array:
    """Return the variance of each part of the weather in each month, shape (month, part).

    The estimate for a month also uses the two neighbouring months.
    """
    lags = np.arange(LAGS_HOURS + 1)
    # The weather of an hour is the mean of the weather at its beginning and its end.
    shapes = 2.0 * parts_after(lags) + parts_after(lags - 1) + parts_after(lags + 1)
    shares = []
    for centre in range(12):
        near = np.isin(month, [(centre - 1) % 12, centre, (centre + 1) % 12])
        measured = autocovariances(weather[:, None], near)
        shares.append(part_covariances(measured, shapes / shapes[0])[:, 0, 0])
    return np.array(shares)


def residual_covariance(residual: Array) -> Array:
    """Return the covariance of each part of the residuals, shape (part, station, station)."""
    measured = autocovariances(residual, np.full(len(residual), True))
    return part_covariances(measured, parts_after(np.arange(LAGS_HOURS + 1)))


def parts_after(lags: NDArray[np.int_]) -> Array:
    """Return the autocorrelations of the parts at whole lags, shape (lag, part)."""
    return part_autocorrelation(lags, memory_hours=MEMORY_HOURS, cycles_per_day=CYCLES_PER_DAY)


def autocovariances(series: Array, chosen: NDArray[np.bool_]) -> Array:
    """Return the symmetrised autocovariances of chosen rows, shape (lag, column, column)."""
    result = []
    for lag in range(LAGS_HOURS + 1):
        rows = np.flatnonzero(chosen[: len(chosen) - lag] & chosen[lag:])
        product = series[rows].T @ series[rows + lag] / len(rows)
        result.append(0.5 * (product + product.T))
    return np.array(result)


def part_covariances(measured: Array, shapes: Array, *, rounds: int = 200) -> Array:
    """Return the covariances of the parts that fit the measured autocovariances.

    The fit at a lag is the sum of the covariances of the parts, each times its autocorrelation at
    the lag. The parts are fitted by least squares over the lags, one part after the other, and each
    part is kept positive semi-definite.

    Args:
        measured: Autocovariances, ``(lag, column, column)``.
        shapes: Autocorrelations of the parts, ``(lag, part)``.
        rounds: Number of times that every part is fitted.

    Returns:
        Array of shape ``(part, column, column)``, scaled so that the diagonals sum to 1.
    """
    importance = 1.0 / (1.0 + np.arange(len(shapes)))  # far lags are many, so near lags weigh more
    parts = np.zeros((shapes.shape[1], *measured.shape[1:]))
    for _ in range(rounds):
        for part, shape in enumerate(shapes.T):
            parts[part] = 0.0
            missing = measured - np.tensordot(shapes, parts, 1)
            weight = importance * shape
            eigenvalues, vectors = np.linalg.eigh(
                np.tensordot(weight, missing, 1) / (weight @ shape)
            )
            parts[part] = (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T
    scale = 1.0 / np.sqrt(np.diagonal(parts.sum(axis=0)))
    return np.asarray(parts * scale * scale[:, None])


def main() -> None:
    """Calibrate the simulator and write its parameters."""
    parser = argparse.ArgumentParser(description="Calibrate the simulator of Madrid's NO.")
    parser.add_argument("folder", type=Path, nargs="?", default=DEFAULT_FOLDER)
    folder = parser.parse_args().folder
    no = pd.concat([no_table(folder / f"Anio{year}.zip") for year in YEARS])
    write_atomically(OUTPUT, calibrate(no).to_json(ABOUT).encode())
    print(f"{OUTPUT.relative_to(ROOT)}: {OUTPUT.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
