"""The prior of ``auto-gp-ucb:prior=madrid``, from Madrid's NO of some imported years.

The shipped file is made by ``periodic-gp learn-prior madrid --years 2016:2017 --out
agents/auto/madrid.json``. The data: Ayuntamiento de Madrid, datos abiertos.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from periodic_decisions.priors.learning import Tuning, learn
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid import cache
from periodic_envs.data.madrid.stations import coordinates_km, magnitude_number

HOURS = 24
TUNING = Tuning(unit=1.0, noise_variance=0.15, decays=(0.85, 0.98))
"""Chosen on 2016 and 2017, learning from the one and judging on the other (docs/auto-gp.md)."""
ABOUT = (
    "Prior for hourly NO (ug/m3) at Madrid's {stations} stations: summary statistics of the "
    "measurements of {years}. Source of the data: Ayuntamiento de Madrid, datos abiertos. Made by "
    "periodic-gp learn-prior madrid; what the names mean is said in agents/auto/learned_prior.py."
)


def check_imported(years: Sequence[int]) -> None:
    """Refuse years of which there are no measurements: they would be simulated."""
    imported = cache.years()
    missing = [str(year) for year in years if year not in imported]
    if missing:
        there = ", ".join(map(str, imported)) or "none"
        raise DataError(
            f"the measurements of {', '.join(missing)} are not imported (imported years: {there});"
            " see: periodic-gp data import --help"
        )


def measured(years: Sequence[int]) -> tuple[list[int], list[Array]]:
    """Stations that measured in all years, and NO of each year, hours x stations."""
    tables = [cache.table(year, magnitude_number("NO")) for year in years]
    stations = sorted(set(tables[0][0]).intersection(*(t[0] for t in tables)))
    columns = [[list(own).index(station) for station in stations] for own, _ in tables]
    return stations, [t[1][:, c].astype(float) for t, c in zip(tables, columns, strict=True)]


def learn_madrid(years: Sequence[int]) -> dict[str, Any]:
    """The content of the file.

    Raises:
        DataError: If a year was not imported.
    """
    check_imported(years)
    stations, values = measured(years)
    return learn(
        values,
        period=HOURS,
        transform="log1p",
        places=coordinates_km(stations).round(3),
        about=ABOUT.format(stations=len(stations), years=" and ".join(map(str, years))),
        extra={"stations": [int(station) for station in stations]},
        tuning=TUNING,
    )
