"""Windows of the imported measurements."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np

from periodic_envs.arrays import Array
from periodic_envs.data.days import check_arms, check_days, describe
from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid import cache
from periodic_envs.data.madrid.cache import hours_in
from periodic_envs.data.madrid.stations import STATIONS, coordinates_km, magnitude_name
from periodic_envs.process import PublicInfo

GET_DATA = "periodic-gp data download madrid --year {year}"


def load_window(
    start: datetime.date, days: int, *, magnitude: int, stations: Sequence[int] | None
) -> tuple[tuple[int, ...], Array]:
    """Whole days of one magnitude, by default of all stations that measured it in that year.

    Returns:
        The stations' numbers, and what they measured, shape (hours, stations): hour 0 is 00:00 of
        the first day, NaN where nothing valid was measured.

    Raises:
        DataError: the window reaches beyond what was imported, or a station is not in it.
    """
    end = start + datetime.timedelta(days=days)
    years = range(start.year, (end - datetime.timedelta(days=1)).year + 1)
    have = cache.years()
    absent = [str(year) for year in years if year not in have]
    if absent:
        there = ", ".join(map(str, have)) or "none"
        raise DataError(
            f"{describe(start, days)} needs the year {' and '.join(absent)}, which is not "
            f"imported (imported: {there}); get it with: {GET_DATA.format(year=absent[0])}"
        )
    tables = {year: cache.table(year, magnitude) for year in years}
    measured = _measured(tables, start, days)
    if not measured:
        raise DataError(f"nothing was measured of {magnitude_name(magnitude)} in that year")
    _check_coverage(measured, start, days)
    chosen = tuple(sorted(measured)) if stations is None else tuple(int(s) for s in stations)
    unknown = [str(station) for station in chosen if station not in measured]
    if unknown:
        raise DataError(
            f"station {', '.join(unknown)} did not measure {magnitude_name(magnitude)} in "
            f"{' or '.join(map(str, years))}; these did: {', '.join(map(str, sorted(measured)))}"
        )
    return chosen, np.stack([measured[station] for station in chosen], axis=1)


def _check_coverage(measured: dict[int, Array], start: datetime.date, days: int) -> None:
    """Days of which there is nothing at all were not imported."""
    anything = np.any([~np.isnan(hours) for hours in measured.values()], axis=0)
    empty = np.flatnonzero(~anything.reshape(days, 24).any(1))
    if len(empty):
        first = start + datetime.timedelta(days=int(empty[0]))
        covered = ", ".join(
            f"{e.days[0]} to {e.days[1]} ({e.days[2]} days)"
            for e in map(cache.entry, cache.years())
        )
        raise DataError(
            f"there is nothing of {first} in {describe(start, days)}; imported are {covered}: "
            "import the missing month, or choose another start"
        )


def _measured(tables: dict[int, Any], start: datetime.date, days: int) -> dict[int, Array]:
    """Hours of the window of every station whose place is known and that measured at all."""
    first = 24 * (start - datetime.date(start.year, 1, 1)).days
    columns = {}
    for station in STATIONS:
        parts = [
            table[:, stations.index(station)]
            if station in stations
            else np.full(hours_in(year), np.nan)
            for year, (stations, table) in sorted(tables.items())
        ]
        hours = np.concatenate(parts)
        if not np.isnan(hours).all():
            # Rounded: the portal has at most two decimals, the tables single precision.
            columns[station] = hours[first : first + 24 * days].astype(np.float64).round(3)
    return columns


def check_window(days: Any, warm_start_days: Any, stations: Any) -> None:
    """Whether the arguments that all Madrid worlds share make sense."""
    check_days(days, warm_start_days)
    kinds = (int, np.integer)
    check_arms("stations", stations, STATIONS, kinds=kinds, one="station", many="station numbers")


def public_stations(
    stations: Sequence[int], warm_start_days: int, period_hours: float
) -> PublicInfo:
    """What agents may know of a world whose actions are stations."""
    return PublicInfo(
        n_actions=len(stations),
        dim=2,
        periods=(float(period_hours),),
        action_features=coordinates_km(stations),
        action_names=tuple(STATIONS[n].name for n in stations),
        first_step=24 * warm_start_days,
    )
