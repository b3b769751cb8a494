"""Hourly nitric oxide (NO) at Madrid's stations, simulated: calibrated on 2016 and 2017.

Each measurement is a transform of a Gaussian level, rounded to whole ug/m3, at least 1:

    log NO + NO / saturation = level
    level[t, s] = mean[t, s] + amplitude[t] loading[t, s] weather[t] + spread[t, s] residual[t, s]

The level is log NO, except for the highest values, which are proportional to it: a Gaussian log NO
with the right share of ones would have far too many values of 500 ug/m3 and above.

Mean, amplitude, loading and spread follow the calendar: hour of day, month, weekday. Weather (one
for the city) and residuals (one per station, correlated) have variance 1 and are sums of processes
that forget at different speeds: within hours, days or weeks. The autocorrelation of one of them
after d hours is exp(-d / memory) cos(2 pi cycles d / 24); with one cycle per day, deviations at an
hour recur on the next day.
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
"""Number of draws at once, to share the loop over the hours."""


def no_of_level(level: Array, saturation: Array) -> Array:
    """Return the NO of a level: the solution of ``log NO + NO / saturation = level``."""
    from scipy.special import wrightomega  # slow to import, and not always needed

    return np.asarray(saturation * wrightomega(level - np.log(saturation)))


def part_autocorrelation(
    lag_hours: NDArray[np.int_] | int, *, memory_hours: Array, cycles_per_day: Array
) -> Array:
    """Return the autocorrelation of the parts of weather and residuals, on the last axis."""
    lag = np.abs(np.asarray(lag_hours))[..., None]
    wave = np.cos(2.0 * np.pi * cycles_per_day * lag / HOURS_PER_DAY)
    return np.asarray(np.exp(-lag / memory_hours) * wave)


@dataclass(frozen=True, kw_only=True, eq=False)
class MadridSimulator:
    """The parameters of the simulator; axes: month (12), weekday (7), hour (24), stations, parts.

    Attributes:
        stations: Station numbers, ascending: the order of all station axes.
        saturation: (station,) NO in ug/m3 where the level changes from logarithm to proportion.
        profile: (hour, station) mean level.
        month_profile: (month, hour) offset of a month at all stations.
        station_month: (month, station) offset of a month at one station.
        weekday_profile: (weekday, hour) offset of a weekday, Monday first.
        weather_amplitude: (month, hour) standard deviation of the city's mean level.
        weather_loading: (hour, station) factor of the city's mean at a station.
        residual_spread: (hour, station) standard deviation of the station's residual.
        residual_month: (month, hour) factor on it.
        memory_hours: (part,) time after which a part of weather and residuals has faded to 1/e.
        cycles_per_day: (part,) 0 for a part that fades steadily.
        weather_share: (month, part) variance of the weather by part; sums to 1.
        residual_covariance: (part, station, station) of the residuals; diagonals sum to 1.
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
        """Return the simulator with the parameters in a text that ``to_json`` wrote."""
        fields: dict[str, Any] = json.loads(text)
        del fields["about"]
        stations = tuple(fields.pop("stations"))
        arrays = {name: np.array(value, dtype=np.float64) for name, value in fields.items()}
        for array in arrays.values():
            array.flags.writeable = False  # shared by all callers of ``calibrated``
        return MadridSimulator(stations=stations, **arrays)

    def to_json(self, about: str, *, decimals: int = 3) -> str:
        """Return the parameters as text, one per line."""
        fields = asdict(self)
        lines = [f'"about": {json.dumps(about)}', f'"stations": {list(fields.pop("stations"))}']
        for name, array in fields.items():
            rounded = (np.round(array, decimals) + 0.0).tolist()  # + 0.0: no negative zeros
            lines.append(f'"{name}": {json.dumps(rounded, separators=(",", ":"))}')
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the parameters."""
        return hashlib.sha256(self.to_json("", decimals=12).encode()).hexdigest()

    def simulate(self, rng: np.random.Generator, *, start: datetime.date, days: int) -> Array:
        """Draw NO in whole ug/m3, at least 1.

        Args:
            rng: The only source of randomness.
            start: First day; row 0 is the hour from 00:00 to 01:00 local time.
            days: Number of days, all of 24 hours.

        Returns:
            Array of shape ``(24 * days, stations)``.
        """
        checks.whole("days", days, 1)
        calendar = self.calendar(start, days)
        only: Array = self.simulate_many([rng], calendar, first_days=[0], days=days)[0]
        return only

    @functools.lru_cache(maxsize=2)  # noqa: B019 (draws share it, and there is one simulator)
    def calendar(self, start: datetime.date, days: int) -> Calendar:
        """Return means and spreads of the hours from a day on."""
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
        """Draw NO from each generator, for ``days`` from its first day of the calendar on.

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
        """Draw parts of the weather (n, hours, part), and residuals (n, hours, station)."""
        parts = self._unit_parts(rngs, hours)
        # An hour's weather is the mean of its two ends, smoother than the stations' residuals.
        ends = parts[:, 1:, :, 0] + parts[:, :-1, :, 0]
        after_an_hour = part_autocorrelation(
            1, memory_hours=self.memory_hours, cycles_per_day=self.cycles_per_day
        )
        weather = ends / np.sqrt(2.0 + 2.0 * after_an_hour)
        local = parts[:, 1:, :, 1:].reshape(len(rngs), hours, -1)
        return weather, local @ self._mixing.reshape(-1, len(self.stations))

    def _unit_parts(self, rngs: Sequence[np.random.Generator], hours: int) -> Array:
        """Draw independent processes (n, hours + 1, part, city and stations) of variance 1.

        A part with cycles is cos(wt) a[t] + sin(wt) b[t] with two fading processes a and b.
        """
        cyclic = self.cycles_per_day > 0.0
        memory = np.concatenate([self.memory_hours, self.memory_hours[cyclic]])[:, None]
        keep = np.exp(-1.0 / memory)
        states = np.empty((len(rngs), hours + 1, len(memory), 1 + len(self.stations)))
        for rng, room in zip(rngs, states, strict=True):
            rng.standard_normal(out=room)
        states[:, 1:] *= np.sqrt(1.0 - keep**2)  # row 0 is a draw from the stationary state
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
        """Symmetric square roots of the covariances: unique, unlike a set of eigenvectors."""
        values, vectors = np.linalg.eigh(self.residual_covariance)
        scaled = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        return np.asarray(scaled @ np.swapaxes(vectors, 1, 2))


@dataclass(frozen=True)
class Calendar:
    """Means and spreads given hour of day, month and weekday; the hour is the first axis.

    Attributes:
        mean: (hour, station) mean level.
        loading: (hour, station) how much the city's weather adds to it.
        spread: (hour, station) standard deviation of what is the station's own.
        weather_share: (hour, part) standard deviation of the weather by part.
    """

    mean: Array
    loading: Array
    spread: Array
    weather_share: Array

    def hours(self, start: int, count: int) -> Calendar:
        """Return some of the hours."""
        part = slice(start, start + count)
        return Calendar(
            self.mean[part], self.loading[part], self.spread[part], self.weather_share[part]
        )
