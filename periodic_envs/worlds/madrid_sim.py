"""Simulation of air quality at the stations of Madrid."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from periodic_envs.data.madrid.simulator import MadridSimulator
from periodic_envs.data.madrid.stations import check_stations, public_stations
from periodic_envs.data.recording import check_window, parse_day, replay, rewards_of
from periodic_envs.draws import Draws
from periodic_envs.process import Origin, PublicInfo
from periodic_envs.registration import register_world
from periodic_envs.world import World

FIRST_DAY = datetime.date(2017, 1, 1)
"""First possible day of a random start."""
DAYS_TO_START_ON = 365


@register_world("PeriodicGP-MadridSim-v0", noise="none")
@dataclass(frozen=True, kw_only=True, eq=False)
class MadridSim(World):
    """Nitric oxide at Madrid's 24 stations, simulated: a new fortnight for every seed.

    ## Description
    Needs no data. A simulator, calibrated on the city's measurements of 2016 and 2017: a daily
    profile for every station, weekdays and months, a city-wide weather factor that persists, and
    local deviations that persist and are correlated between stations. How it compares with the
    measurements is in docs/howto/madrid.md.

    ## Action Space
    ``Discrete(24)``: the station. The stations' coordinates in km are public.

    ## Observation Space
    ``(t, cos 2 pi t / 24, sin 2 pi t / 24)``; only ``(t,)`` with ``reveal_period=False``.
    ``t`` counts hours from 00:00 of the first day.

    ## Rewards
    Nitric oxide at the station in that hour: a whole number of ug/m3, at least 1 (or its negative,
    for the cleanest air). Regret is the distance to the best station of that hour.

    ## Starting State
    ``t = 48``, after two days whose best action-reward pair of each hour is prior information
    (``info["warm_start"]`` of ``reset``). Every seed starts on another day of the year.

    ## Episode End
    Truncated after the last of the ``days``, or after ``horizon`` steps if that is given: 288 steps
    by default, the 24 hours of twelve days.

    ## Arguments
    ``start`` (None: the first day, which sets month and weekday, is drawn; or a day like
    "2018-03-03"), ``days`` (14, those of the warm start included), ``warm_start_days`` (2),
    ``objective`` ("max", or "min" for the cleanest air), ``stations`` (numbers of the stations to
    choose from; None for all), ``period_hours`` (24.0: the period that agents know), and those of
    every environment (``horizon``, ``noise``, ``noise_std``, ``reveal_period``, ``render_mode``).

    ## Version History
    v0: first version.
    """

    start: str | datetime.date | None = None
    days: int = 14
    warm_start_days: int = 2
    objective: str = "max"
    stations: Sequence[int] | None = None
    period_hours: float = 24.0

    def __post_init__(self) -> None:
        check_window(
            self.start,
            self.days,
            self.warm_start_days,
            objective=self.objective,
            period_hours=self.period_hours,
        )
        check_stations(self.stations)

    @property
    def _stations(self) -> tuple[int, ...]:
        everywhere = MadridSimulator.calibrated().stations
        return everywhere if self.stations is None else tuple(self.stations)

    @cached_property
    def public(self) -> PublicInfo:
        """Public description of the world."""
        return public_stations(self._stations, self.warm_start_days, self.period_hours)

    @property
    def origin(self) -> Origin:
        """Fingerprint of the simulator and the arguments."""
        arguments = (str(self.start), self.days, self.objective, self._stations)
        text = f"{MadridSimulator.calibrated().fingerprint} {arguments}"
        return Origin(
            source="simulator",
            fingerprint=hashlib.sha256(text.encode()).hexdigest(),
            steps=24 * (self.days - self.warm_start_days),
            replay=False,
        )

    def draw_many(self, rngs: Sequence[np.random.Generator], horizon: int) -> Draws:
        """Draw a stretch of days from each generator."""
        drawn = [int(rng.integers(DAYS_TO_START_ON)) for rng in rngs]
        simulator = MadridSimulator.calibrated()
        if self.start is None:
            calendar = simulator.calendar(FIRST_DAY, DAYS_TO_START_ON + self.days)
        else:
            calendar = simulator.calendar(parse_day("start", self.start), self.days)
            drawn = [0] * len(rngs)
        values = simulator.simulate_many(rngs, calendar, first_days=drawn, days=self.days)
        if self.stations is not None:
            values = values[:, :, [simulator.stations.index(s) for s in self._stations]]
        return replay(rewards_of(values, self.objective), self.public, horizon)
