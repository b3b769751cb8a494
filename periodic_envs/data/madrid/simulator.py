"""Simulator of hourly nitric oxide (NO) at Madrid's stations, calibrated on 2016 and 2017.

Each measurement is rounded to whole ug/m3 and is at least 1. It is a transform of a Gaussian level:

    log NO + NO / saturation = level
    level[t, s] = mean[t, s] + amplitude[t] loading[t, s] weather[t] + spread[t, s] residual[t, s]

For low values the level is close to log NO, and for the highest values it is proportional to NO. If
log NO were Gaussian with the correct share of values of 1, there would be far too many values of
500 ug/m3 and above.

Mean, amplitude, loading and spread depend on the hour of the day, the month and the weekday. The
weather (one series for the city) and the residuals (one series for each station, correlated between
stations) have variance 1. Each of these series is a sum of parts whose memory lasts hours, days or
weeks. The autocorrelation of a part after d hours is exp(-d / memory) cos(2 pi cycles d / 24). In a
part with one cycle per day, a deviation recurs at the same hour of the next day.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from periodic_envs import checks
from periodic_envs.arrays import Array

HOURS_PER_DAY = 24
_COPIES = 16
"""Number of draws that share one loop over the hours."""


def no_of_level(level: Array, saturation: Array) -> Array:
    """Return the NO value of a level: the solution of ``log NO + NO / saturation = level``."""
    from scipy.special import wrightomega  # slow to import, and not always needed

    return np.asarray(saturation * wrightomega(level - np.log(saturation)))


def part_autocorrelation(
    lag_hours: NDArray[np.int_] | int, *, memory_hours: Array, cycles_per_day: Array
) -> Array:
    """Return the autocorrelation of each part of weather and residuals, shape (..., part)."""
    lag = np.abs(np.asarray(lag_hours))[..., None]
    wave = np.cos(2.0 * np.pi * cycles_per_day * lag / HOURS_PER_DAY)
    return np.asarray(np.exp(-lag / memory_hours) * wave)


@dataclass(frozen=True, kw_only=True, eq=False)
class MadridSimulator:
    """Simulator of hourly nitric oxide (NO) concentrations, defined by its parameters.

    The weather and the residuals are sums of parts with different memories. The axes of the arrays
    have the lengths 12 (month), 7 (weekday), 24 (hour), and the numbers of stations and parts.

    Attributes:
        stations: Station numbers, ascending, in the order of all station axes.
        saturation: NO in ug/m3 at which the level changes from logarithmic to proportional, shape
            (station,).
        profile: Mean level, shape (hour, station).
        month_profile: Offset of a month at all stations, shape (month, hour).
        station_month: Offset of a month at one station, shape (month, station).
        weekday_profile: Offset of a weekday, Monday first, shape (weekday, hour).
        weather_amplitude: Standard deviation of the stations' average level around its expected
            value, shape (month, hour).
        weather_loading: Factor by which the city's weather is multiplied in the level of a station,
            shape (hour, station).
        residual_spread: Standard deviation of the residual of a station, shape (hour, station).
        residual_month: Factor by which ``residual_spread`` is multiplied, shape (month, hour).
        memory_hours: Time in hours after which the envelope of a part's autocorrelation has decayed
            to 1/e, shape (part,).
        cycles_per_day: Number of cycles per day of a part, shape (part,); 0 for a part that decays
            without cycles.
        weather_share: Variance of each part of the weather, shape (month, part); sums to 1 over the
            parts.
        residual_covariance: Covariance of each part of the residuals, shape (part, station,
            station); the diagonals sum to 1 over the parts.
    """

    stations: tuple[int, ...]
    saturation: Array
    profile: Array
    month_profile: Array
    station_month: Array
    weekday_profile: Array
    weather_amplitude: Array
    weather_loading: Array
    residual_spread: Array
    residual_month: Array
    memory_hours: Array
    cycles_per_day: Array
    weather_share: Array
    residual_covariance: Array

    @staticmethod
    @functools.cache
    def calibrated() -> MadridSimulator:
        """Return the simulator with the parameters published with the package."""
        file = resources.files("periodic_envs.data.madrid").joinpath("simulator.json")
        return MadridSimulator.from_json(file.read_text(encoding="utf-8"))

    @staticmethod
    def from_json(text: str) -> MadridSimulator:
        """Return the simulator with the parameters in the JSON text of ``to_json``."""
        fields: dict[str, Any] = json.loads(text)
        del fields["about"]
        stations = tuple(fields.pop("stations"))
        arrays = {name: np.array(value, dtype=np.float64) for name, value in fields.items()}
        for array in arrays.values():
            array.flags.writeable = False  # shared by all callers of ``calibrated``
        return MadridSimulator(stations=stations, **arrays)

    def to_json(self, about: str, *, decimals: int = 3) -> str:
        """Return the parameters as JSON text, with one parameter per line."""
        fields = asdict(self)
        lines = [f'"about": {json.dumps(about)}', f'"stations": {list(fields.pop("stations"))}']
        for name, array in fields.items():
            rounded = (np.round(array, decimals) + 0.0).tolist()  # + 0.0: no negative zeros
            lines.append(f'"{name}": {json.dumps(rounded, separators=(",", ":"))}')
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 hash of the parameters."""
        return hashlib.sha256(self.to_json("", decimals=12).encode()).hexdigest()

    def simulate(self, rng: np.random.Generator, *, start: datetime.date, days: int) -> Array:
        """Draw nitric-oxide (NO) values at all stations: whole numbers of ug/m3, at least 1.

        Args:
            rng: Generator of all random numbers.
            start: First day; row 0 is the hour from 00:00 to 01:00 in local time.
            days: Number of days, each of which has 24 hours.

        Returns:
            Array of shape ``(24 * days, stations)``.
        """
        checks.whole("days", days, 1)
        calendar = self.calendar(start, days)
        only: Array = self.simulate_many([rng], calendar, first_days=[0], days=days)[0]
        return only

    @functools.lru_cache(maxsize=2)  # noqa: B019 (draws share the result of the only simulator)
    def calendar(self, start: datetime.date, days: int) -> Calendar:
        """Return the calendar of ``days`` days, beginning with the day ``start``."""
        dates = [start + datetime.timedelta(days=day) for day in range(days)]
        month = np.repeat([date.month - 1 for date in dates], HOURS_PER_DAY)
        weekday = np.repeat([date.weekday() for date in dates], HOURS_PER_DAY)
        hour = np.tile(np.arange(HOURS_PER_DAY), days)
        city = self.month_profile[month, hour] + self.weekday_profile[weekday, hour]
        return Calendar(
            mean=self.profile[hour] + self.station_month[month] + city[:, None],
            loading=self.weather_amplitude[month, hour, None] * self.weather_loading[hour],
            spread=self.residual_month[month, hour, None] * self.residual_spread[hour],
            weather_share=np.sqrt(self.weather_share[month]),
        )

    def simulate_many(
        self,
        rngs: Sequence[np.random.Generator],
        calendar: Calendar,
        *,
        first_days: Sequence[int],
        days: int,
    ) -> Array:
        """Draw NO values for ``days`` days of the calendar, from each generator.

        Args:
            rngs: Generators of all random numbers, one for each draw.
            calendar: Means and standard deviations of consecutive hours.
            first_days: First day of each draw, as a number of days since the calendar begins.
            days: Number of days in each draw.

        Returns:
            Array of shape ``(generators, 24 * days, stations)``.
        """
        hours = HOURS_PER_DAY * days
        no = np.empty((len(rngs), hours, len(self.stations)))
        for start in range(0, len(rngs), _COPIES):
            part = slice(start, start + _COPIES)
            weather, residual = self._unit_weather(rngs[part], hours)
            for i, day in enumerate(first_days[part]):
                fixed = calendar.hours(HOURS_PER_DAY * day, hours)
                city = np.sum(fixed.weather_share * weather[i], axis=1)
                level = fixed.mean + fixed.loading * city[:, None] + fixed.spread * residual[i]
                no[start + i] = no_of_level(level, self.saturation)
        return np.maximum(np.rint(no, out=no), 1.0, out=no)

    def _unit_weather(self, rngs: Sequence[np.random.Generator], hours: int) -> tuple[Array, Array]:
        """Draw the parts of the weather (n, hours, part) and the residuals (n, hours, station)."""
        parts = self._unit_parts(rngs, hours)
        # The weather of an hour averages the beginning and the end of the hour, so it is smoother
        # than the residuals.
        ends = parts[:, 1:, :, 0] + parts[:, :-1, :, 0]
        after_an_hour = part_autocorrelation(
            1, memory_hours=self.memory_hours, cycles_per_day=self.cycles_per_day
        )
        weather = ends / np.sqrt(2.0 + 2.0 * after_an_hour)
        local = parts[:, 1:, :, 1:].reshape(len(rngs), hours, -1)
        return weather, local @ self._mixing.reshape(-1, len(self.stations))

    def _unit_parts(self, rngs: Sequence[np.random.Generator], hours: int) -> Array:
        """Draw independent processes of variance 1, shape (n, hours + 1, part, 1 + stations).

        The first entry of the last axis is the city. A part with cycles is cos(wt) a[t] + sin(wt)
        b[t] with two independent autoregressive processes a and b.
        """
        cyclic = self.cycles_per_day > 0.0
        memory = np.concatenate([self.memory_hours, self.memory_hours[cyclic]])[:, None]
        keep = np.exp(-1.0 / memory)
        states = np.empty((len(rngs), hours + 1, len(memory), 1 + len(self.stations)))
        for rng, room in zip(rngs, states, strict=True):
            rng.standard_normal(out=room)
        states[:, 1:] *= np.sqrt(1.0 - keep**2)  # row 0 has the stationary distribution
        persisting = np.empty_like(states[:, 0])
        for before, now in itertools.pairwise(np.moveaxis(states, 1, 0)):
            now += np.multiply(keep, before, out=persisting)
        parts, quadrature = np.split(states, [len(cyclic)], axis=2)
        angle = 2.0 * np.pi / HOURS_PER_DAY * np.arange(hours + 1)[:, None, None]
        angle = angle * self.cycles_per_day[cyclic, None]
        waves = np.cos(angle) * parts[:, :, cyclic] + np.sin(angle) * quadrature
        parts[:, :, cyclic] = waves
        return parts

    @functools.cached_property
    def _mixing(self) -> Array:
        """Symmetric square root of each ``residual_covariance``, shape (part, station, station).

        Symmetric square roots are unique, unlike eigenvectors.
        """
        values, vectors = np.linalg.eigh(self.residual_covariance)
        scaled = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        return np.asarray(scaled @ np.swapaxes(vectors, 1, 2))


@dataclass(frozen=True)
class Calendar:
    """Means and standard deviations of the levels in consecutive hours.

    These values depend on the hour of the day, the month and the weekday.

    Attributes:
        mean: Mean level, shape (hour, station).
        loading: Factor by which the city's weather is multiplied in the level, shape
            (hour, station).
        spread: Standard deviation of the residual of a station, shape (hour, station).
        weather_share: Standard deviation of each part of the weather, shape (hour, part).
    """

    mean: Array
    loading: Array
    spread: Array
    weather_share: Array

    def hours(self, start: int, count: int) -> Calendar:
        """Return ``count`` hours, beginning with the hour ``start``."""
        part = slice(start, start + count)
        return Calendar(
            self.mean[part], self.loading[part], self.spread[part], self.weather_share[part]
        )
