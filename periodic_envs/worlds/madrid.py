"""Replay of air-quality measurements at the stations of Madrid."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from periodic_envs import checks
from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid import cache
from periodic_envs.data.madrid.cache import GET_DATA, load_window
from periodic_envs.data.madrid.stations import (
    check_stations,
    magnitude_name,
    magnitude_number,
    public_stations,
)
from periodic_envs.data.recording import (
    MAX_MISSING,
    POLICIES,
    DataWorld,
    Recording,
    check_window,
    describe,
    fill_gaps,
    fingerprint,
    parse_day,
    rewards_of,
)
from periodic_envs.process import Origin
from periodic_envs.registration import register_world
from periodic_envs.worlds.madrid_sim import MadridSim


class SimulatedDataWarning(UserWarning):
    """Warning issued if Madrid is simulated, since no measurements are imported."""


@register_world("PeriodicGP-Madrid-v0", noise="none")
@dataclass(frozen=True, kw_only=True, eq=False)
class Madrid(DataWorld):
    """Hourly nitric oxide at Madrid's 24 stations: choose the station with the highest value.

    ## Description
    This is the paper's experiment. The world replays the city's hourly measurements: an action is a
    station, and the reward is the measurement of this station in that hour. Import the measurements
    once (``periodic-gp data download madrid --year 2018``, or ``periodic-gp data import`` for files
    that you have). If no measurements are imported, the rewards are simulated and a warning is
    issued. ``info["data_source"]`` is then "simulator" instead of "measurements", and the
    fingerprint differs.

    ## Action Space
    ``Discrete(24)``: the station. The stations' coordinates in km are public.

    ## Observation Space
    ``(t, cos 2 pi t / 24, sin 2 pi t / 24)``, or ``(t,)`` with ``reveal_period=False``.
    ``t`` is the number of hours since 00:00 of the first day, in local time.

    ## Rewards
    The reward is the measurement of the chosen station in ug/m3, or its negative with
    ``objective="min"``. No noise is added. The regret is the difference between the rewards of the
    best station of that hour and of the chosen station.

    ## Starting State
    By default, each episode starts at ``t = 48``, after a warm start of two days. The warm start
    contains the best action of each hour and its reward (``info["warm_start"]`` after ``reset``).
    Every seed gives the same window.

    ## Episode End
    The episode is truncated after ``horizon`` steps, or at the end of the last day if ``horizon``
    is not given (by default after 192 steps).

    ## Arguments
    - ``start`` ("2018-03-03"): first day.
    - ``days`` (10): number of days, including the warm start.
    - ``warm_start_days`` (2): number of days of the warm start.
    - ``magnitude`` ("NO"): measured quantity, as a name such as "NO2" or "O3", or as the number
      that the portal uses.
    - ``objective`` ("max"): "max" for the highest values, "min" for the cleanest air.
    - ``stations`` (None): list of the station numbers to choose from; None for all stations with
      measurements in that year.
    - ``missing`` ("interpolate"): treatment of gaps. With "interpolate", a gap is filled with a
      straight line between the values before and after it. With "hold", the last value is repeated.
      With "error", no gap is accepted.
    - ``period_hours`` (24.0): period that agents know, in hours.

    The arguments common to all environments are also accepted: ``horizon``, ``noise``,
    ``noise_std``, ``noise_df``, ``reveal_period``, ``regret`` and ``render_mode``.

    ## Version History
    v0: first version.
    """

    start: str | datetime.date = "2018-03-03"
    days: int = 10
    warm_start_days: int = 2
    magnitude: str | int = "NO"
    objective: str = "max"
    stations: Sequence[int] | None = None
    missing: str = "interpolate"
    period_hours: float = 24.0

    def __post_init__(self) -> None:
        check_window(
            parse_day("start", self.start),
            self.days,
            self.warm_start_days,
            objective=self.objective,
            period_hours=self.period_hours,
        )
        check_stations(self.stations)
        checks.one_of("missing", self.missing, POLICIES)
        _ = self._recording  # created now, so that a later import does not change it

    @cached_property
    def _recording(self) -> Recording | MadridSim:
        return self._measured() if cache.years() else self._simulated()

    def _measured(self) -> Recording:
        start = parse_day("start", self.start)
        number = magnitude_number(self.magnitude)
        stations, values = load_window(start, self.days, magnitude=number, stations=self.stations)
        names = [f"station {n}" for n in stations]
        try:
            when = describe(start, self.days)
            filled = fill_gaps(values, names, policy=self.missing, what=when)
        except DataError as error:
            most = 0.0 if self.missing == "error" else MAX_MISSING
            share = np.isnan(values).mean(0)
            good = [n for n, s in zip(stations, share, strict=True) if s <= most]
            raise DataError(
                error.code, f"{error}. Stations with enough data: stations={good}"
            ) from None
        rewards = rewards_of(filled, self.objective)
        public = public_stations(stations, self.warm_start_days, self.period_hours)
        gaps = int(np.isnan(values).sum())
        note = (
            f"{gaps} of {values.size:,} hourly values were missing and were filled by "
            f"missing={self.missing!r}"
        )
        origin = Origin(
            source="measurements",
            fingerprint=fingerprint(rewards, [magnitude_name(number), str(start), *names]),
            steps=len(rewards) - public.first_step,
            replay=True,
            notes=(note,) if gaps else (),
        )
        return Recording(rewards, public, origin)

    def _simulated(self) -> MadridSim:
        """Return the simulated world that is used if no measurements are imported."""
        command = GET_DATA.format(year=parse_day("start", self.start).year)
        if magnitude_number(self.magnitude) != magnitude_number("NO"):
            raise DataError(
                "not-imported",
                f"magnitude must be 'NO' unless measurements are imported, got {self.magnitude!r}: "
                f"the simulator has no other magnitudes; get the data with: {command}",
            )
        _warn_once(command)
        return MadridSim(**{field.name: getattr(self, field.name) for field in fields(MadridSim)})


_warned: list[str] = []


def _warn_once(command: str) -> None:
    """Warn once per process, since sweeps create thousands of worlds."""
    if not _warned:
        _warned.append(command)
        absence = f" ({cache.absence()})" if cache.absence() else ""
        warnings.warn(
            f"no measurements are imported{absence}: PeriodicGP-Madrid-v0 is simulated. "
            f"Get the measurements with: {command}",
            SimulatedDataWarning,
            stacklevel=2,
        )
