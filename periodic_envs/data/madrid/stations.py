"""Stations and magnitudes of Madrid's air-quality network.

The source of the data is the city's open-data portal (Ayuntamiento de Madrid, datos abiertos). A
*magnitude* is the portal's term for a measured quantity, such as NO2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError
from periodic_envs.data.recording import check_arms
from periodic_envs.process import PublicInfo

_KM_PER_DEGREE = 111.195  # of latitude


@dataclass(frozen=True)
class Station:
    """Measuring station; ``kind`` is "traffic", "background" or "suburban"."""

    number: int
    name: str
    longitude: float
    latitude: float
    altitude_m: int
    kind: str


STATIONS: dict[int, Station] = {
    station.number: station
    for station in (
        Station(4, "Pza. de España", -3.712247, 40.423853, 637, "traffic"),
        Station(8, "Escuelas Aguirre", -3.682319, 40.421564, 672, "traffic"),
        Station(11, "Avda. Ramón y Cajal", -3.677356, 40.451475, 708, "traffic"),
        Station(16, "Arturo Soria", -3.639233, 40.440047, 695, "background"),
        Station(17, "Villaverde", -3.713322, 40.347139, 601, "background"),
        Station(18, "Farolillo", -3.731853, 40.394781, 632, "background"),
        Station(24, "Casa de Campo", -3.747347, 40.419356, 646, "suburban"),
        Station(27, "Barajas Pueblo", -3.580031, 40.476928, 620, "background"),
        Station(35, "Pza. del Carmen", -3.703172, 40.419208, 660, "background"),
        Station(36, "Moratalaz", -3.645306, 40.407947, 671, "traffic"),
        Station(38, "Cuatro Caminos", -3.707128, 40.445544, 699, "traffic"),
        Station(39, "Barrio del Pilar", -3.711542, 40.478228, 676, "traffic"),
        Station(40, "Vallecas", -3.651522, 40.388153, 677, "background"),
        Station(47, "Mendez Alvaro", -3.686825, 40.398114, 600, "background"),
        Station(48, "Castellana", -3.690367, 40.439897, 680, "traffic"),
        Station(49, "Parque del Retiro", -3.682583, 40.414444, 662, "background"),
        Station(50, "Plaza Castilla", -3.688769, 40.465572, 728, "traffic"),
        Station(54, "Ensanche de Vallecas", -3.612117, 40.372933, 629, "background"),
        Station(55, "Urb. Embajada", -3.580747, 40.462531, 619, "background"),
        Station(56, "Pza. Fernández Ladreda", -3.718728, 40.384964, 605, "traffic"),
        Station(57, "Sanchinarro", -3.660503, 40.494208, 700, "background"),
        Station(58, "El Pardo", -3.774611, 40.518058, 612, "suburban"),
        Station(59, "Juan Carlos I", -3.609072, 40.46525, 660, "suburban"),
        Station(60, "Tres Olivos", -3.689761, 40.500589, 715, "background"),
    )
}

# Names of the magnitudes; the keys are the numbers of the portal. The unit is mg/m3 for CO and for
# the hydrocarbons (42 to 44), and ug/m3 for all others.
MAGNITUDES: dict[int, str] = {
    1: "SO2",
    6: "CO",
    7: "NO",
    8: "NO2",
    9: "PM2.5",
    10: "PM10",
    12: "NOx",
    14: "O3",
    20: "toluene",
    30: "benzene",
    35: "ethylbenzene",
    37: "metaxylene",
    38: "paraxylene",
    39: "orthoxylene",
    42: "THC",
    43: "CH4",
    44: "NMHC",
}


def magnitude_name(number: int) -> str:
    """Return the name of a magnitude, or its number as text if ``MAGNITUDES`` has no name."""
    return MAGNITUDES.get(number, str(number))


def magnitude_number(magnitude: Any) -> int:
    """Return the portal's number of a magnitude that is given by name or number."""
    if isinstance(magnitude, int) and not isinstance(magnitude, bool) and magnitude > 0:
        return magnitude
    for number, name in MAGNITUDES.items():
        if str(magnitude).casefold() in (name.casefold(), str(number)):
            return number
    raise DataError(
        "unknown-magnitude",
        f"unknown magnitude {magnitude!r}: expected one of {', '.join(MAGNITUDES.values())}"
        ", or the portal's number",
    )


def coordinates_km(numbers: Sequence[int]) -> Array:
    """Return coordinates (n, 2) of stations, in km east and north of the mean of all stations."""
    degrees = np.array([(s.longitude, s.latitude) for s in STATIONS.values()])
    centre = degrees.mean(0)
    # A degree of longitude is shorter by the cosine of the latitude.
    scale = _KM_PER_DEGREE * np.array([math.cos(math.radians(centre[1])), 1.0])
    chosen = np.array([(STATIONS[n].longitude, STATIONS[n].latitude) for n in numbers])
    return np.asarray((chosen - centre) * scale)


def check_stations(chosen: Any) -> None:
    """Raise a DataError unless ``chosen`` is None or a list of at least two different stations."""
    kinds = (int, np.integer)
    check_arms("stations", chosen, STATIONS, kinds=kinds, one="station", many="station numbers")


def public_stations(
    stations: Sequence[int], warm_start_days: int, period_hours: float
) -> PublicInfo:
    """Return the public description of a world whose actions are stations."""
    return PublicInfo(
        n_actions=len(stations),
        dim=2,
        periods=(float(period_hours),),
        action_features=coordinates_km(stations),
        action_names=tuple(STATIONS[n].name for n in stations),
        first_step=24 * warm_start_days,
    )
