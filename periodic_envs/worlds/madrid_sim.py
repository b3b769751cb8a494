"""Simulation of air-quality measurements at the stations of Madrid."""

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
"""Number of possible days of a random start."""


@register_world("PeriodicGP-MadridSim-v0", noise="none")
@dataclass(frozen=True, kw_only=True, eq=False)
class MadridSim(World):
    """Simulated nitric oxide at Madrid's 24 stations, with a different fortnight for each seed.

    ## Description
    The world needs no data. Its simulator is calibrated on the city's measurements of 2016 and
    2017. The simulator has three components: a daily profile for every station, which depends on
    the weekday and the month; a city-wide weather factor, which persists; and local deviations,
    which persist and are correlated between stations. The page docs/howto/madrid.md compares the
    simulator with the measurements.

    ## Action Space
    ``Discrete(24)``: the station. The stations' coordinates in km are public.

    ## Observation Space
    ``(t, cos 2 pi t / 24, sin 2 pi t / 24)``, or ``(t,)`` with ``reveal_period=False``.
    ``t`` is the number of hours since 00:00 of the first day.

    ## Rewards
    The reward is the nitric oxide at the chosen station in that hour, or its negative with
    ``objective="min"``. Values are whole numbers of ug/m3 and at least 1. No noise is added. The
    regret is the difference between the rewards of the best station of that hour and of the chosen
    station.

    ## Starting State
    By default, each episode starts at ``t = 48``, after a warm start of two days. The warm start
    contains the best action of each hour and its reward (``info["warm_start"]`` after ``reset``).
    Unless ``start`` is given, the first day is a random day of 2017.

    ## Episode End
    The episode is truncated after ``horizon`` steps, or at the end of the last day if ``horizon``
    is not given (by default after 288 steps, which are twelve days).

    ## Arguments
    - ``start`` (None): first day, such as "2018-03-03", which determines months and weekdays; None
      for a random day.
    - ``days`` (14): number of days, including the warm start.
    - ``warm_start_days`` (2): number of days of the warm start.
    - ``objective`` ("max"): "max" for the highest values, "min" for the cleanest air.
    - ``stations`` (None): list of the station numbers to choose from; None for all stations.
    - ``period_hours`` (24.0): period that agents know, in hours.

    The arguments common to all environments are also accepted: ``horizon``, ``noise``,
    ``noise_std``, ``noise_df``, ``reveal_period``, ``regret`` and ``render_mode``.

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
        """Origin of the rewards, with a fingerprint of the simulator and the arguments."""
        arguments = (str(self.start), self.days, self.objective, self._stations)
        text = f"{MadridSimulator.calibrated().fingerprint} {arguments}"
        return Origin(
            source="simulator",
            fingerprint=hashlib.sha256(text.encode()).hexdigest(),
            steps=24 * (self.days - self.warm_start_days),
            replay=False,
        )

    def draw_many(self, rngs: Sequence[np.random.Generator], horizon: int) -> Draws:
        """Draw the first day and the rewards of a window of days from each generator."""
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
