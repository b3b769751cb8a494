"""A stretch of a series."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from periodic_envs import checks
from periodic_envs.data.errors import DataError
from periodic_envs.data.tables.grid import OFF_GRID, Clock, show
from periodic_envs.data.tables.report import Report
from periodic_envs.data.tables.series import Series


def cut(series: Series, *, start: Any = None, steps: int | None = None) -> Series:
    """The stretch from a time on, of a number of steps; its report counts its own gaps.

    Raises:
        DataError: if the window is not in the data: the message tells what there is.
    """
    n = len(series.values)
    first = 0 if start is None else _index(series, start)
    length = n - first if steps is None else checks.whole("steps", steps, 1)
    if first + length > n:
        raise DataError(
            f"steps must be at most {n - first:,} from {series.clock.at(first)} on, got {length:,}:"
            f" the data end at {series.clock.at(n - 1)}"
        )
    values = series.values[first : first + length]
    was = series.report
    report = Report.of(values, taken_for=was.taken_for, dropped=was.dropped, averaged=was.averaged)
    clock = Clock(series.clock.first + first * series.clock.step, series.clock.step)
    return replace(series, clock=clock, values=values, report=report)


def _index(series: Series, start: Any) -> int:
    moment = _moment(series.clock, start)
    exact = float(series.clock.index(moment))
    index = round(exact)
    n = len(series.values)
    if not 0 <= index < n or abs(exact - index) > OFF_GRID:
        raise DataError(
            f"start must be a time of the data, got {start!r}: they reach from "
            f"{series.clock.at(0)} to {series.clock.at(n - 1)} in steps of "
            f"{series.clock.step_text()}" + _zone(moment)
        )
    return index


def _zone(moment: Any) -> str:
    aware = isinstance(moment, pd.Timestamp) and moment.tzinfo is not None
    return "; all in UTC, and so is a start without an offset" if aware else ""


def _moment(clock: Clock, start: Any) -> Any:
    """The start in the same terms as the times of the data."""
    first = clock.first
    try:
        if not isinstance(first, pd.Timestamp):
            number = float(start)
            return number if np.isfinite(number) else float("-1e300")
        if isinstance(start, int | float):
            raise ValueError
        moment = pd.Timestamp(start)
        if moment.tzinfo is None and first.tzinfo is not None:
            moment = moment.tz_localize("UTC")  # as the times of the data were converted
        if moment.tzinfo is not None and first.tzinfo is None:
            raise ValueError
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"start must be written like the times of the data, such as {show(first)!r}, got "
            f"{start!r}"
        ) from error
    return moment
