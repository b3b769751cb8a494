"""Where local clocks are set forward and back: an hour that is not there, an hour that comes twice.

Local times are kept as they are, so that nine in the morning is the same phase in summer and in
winter: the hour that comes twice becomes one, the mean of the two, and the one that is skipped is a
gap of one hour.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from periodic_decisions.tables.grid import Clock, show
from periodic_envs.data.errors import DataError

_SUNDAY = 6
_SET_BACK_MONTHS = (4, 9, 10, 11)
_SET_FORWARD_MONTHS = (3, 4, 9, 10)
"""When clocks are changed, north and south of the equator, on a Sunday before four o'clock."""


def in_zone(moments: pd.DatetimeIndex, zone: str) -> tuple[pd.DatetimeIndex, str]:
    """The times as the clocks of the zone show them, and what was done in words.

    Raises:
        DataError: if there is no such zone.
    """
    try:
        if moments.tz is None:
            # Only to see whether there is such a zone: the times are its own already.
            pd.Timestamp("2000-01-01").tz_localize(zone)
            return moments, f"times are those of clocks in {zone}"
        return (
            moments.tz_convert(zone).tz_localize(None),
            f"times were converted to those of clocks in {zone}",
        )
    except (KeyError, ValueError, TypeError, OSError, AttributeError) as error:
        raise DataError(
            f"there is no time zone {zone!r}: give a name such as 'Europe/Madrid' or 'UTC'"
        ) from error


def set_back(clock: Clock, steps: NDArray[np.intp], zone: str | None) -> NDArray[np.bool_]:
    """Say of each step whether local clocks show it twice, when they are set back.

    Without a zone it is told by the calendar: before four o'clock on a Sunday in the months in
    which clocks are set back somewhere.
    """
    return _changes(clock, steps, zone, _SET_BACK_MONTHS, ambiguous=True)


def set_forward(clock: Clock, steps: NDArray[np.intp], zone: str | None) -> NDArray[np.bool_]:
    """Say of each step whether local clocks leave it out, when they are set forward."""
    return _changes(clock, steps, zone, _SET_FORWARD_MONTHS, ambiguous=False)


def _changes(
    clock: Clock, steps: NDArray[np.intp], zone: str | None, months: Any, *, ambiguous: bool
) -> NDArray[np.bool_]:
    local = isinstance(clock.first, pd.Timestamp) and clock.first.tzinfo is None
    if not local or clock.step > pd.Timedelta("1h") or not len(steps):
        return np.zeros(len(steps), dtype=np.bool_)
    times = pd.DatetimeIndex([clock.first + int(step) * clock.step for step in steps])
    if zone is not None:
        twice: Any = "NaT" if ambiguous else np.zeros(len(times), dtype=np.bool_)
        found = times.tz_localize(
            zone, ambiguous=twice, nonexistent="shift_forward" if ambiguous else "NaT"
        )
        return np.asarray(found.isna())
    sunday = (times.day_of_week == _SUNDAY) & (times.hour < 4) & times.month.isin(months)
    hours = times.floor("h")[sunday].unique()
    # More than one such hour in a month is no change of the clock.
    once = not pd.Index(zip(hours.year, hours.month, strict=True)).duplicated().any()
    return np.asarray(sunday) & once


def lines(clock: Clock, back: NDArray[np.intp], forward: NDArray[np.intp]) -> list[str]:
    """What was found, in words: steps that came twice, and steps that clocks left out."""
    said = []
    if len(back):
        said.append(
            f"clocks were set back at {_listed(clock, back)}: the hour that came twice is the mean "
            "of the two"
        )
    if len(forward):
        said.append(f"clocks were set forward at {_listed(clock, forward)}: that hour is a gap")
    return said


def _listed(clock: Clock, steps: NDArray[np.intp]) -> str:
    times = pd.DatetimeIndex([clock.first + int(step) * clock.step for step in steps])
    hours = times.floor("h").unique()
    more = f" and {len(hours) - 2} more times" if len(hours) > 2 else ""
    return ", ".join(show(hour) for hour in hours[:2]) + more
