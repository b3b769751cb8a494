"""Rewards of several arms on a regular grid of times, from a user's CSV, Parquet or DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from periodic_decisions.tables.columns import arms_of, check_known, find_roles, read_roles
from periodic_decisions.tables.files import check_size
from periodic_decisions.tables.grid import (
    OFF_GRID,
    Report,
    TimeGrid,
    find_grid,
    positions,
    show,
    tabulate,
)
from periodic_decisions.tables.times import change_lines, clock_changes, parse_times
from periodic_decisions.tables.values import find_marks, parse_all
from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError

DUPLICATES = ("error", "mean")


@dataclass(frozen=True, eq=False)
class Series:
    """Readings of arms at regular times.

    Attributes:
        grid: First time and sampling step.
        names: Names of the arms.
        values: Shape (steps, arms), NaN where a reading is missing.
        report: Findings while reading.
    """

    grid: TimeGrid
    names: tuple[str, ...]
    values: Array
    report: Report

    @cached_property
    def times(self) -> pd.DatetimeIndex | Array:
        """Time of each row."""
        return self.grid.times(len(self.values))

    @property
    def step(self) -> pd.Timedelta | float:
        """Sampling step."""
        return self.grid.step

    def span(self) -> str:
        """Return the first and the last time as text."""
        return f"{self.grid.at(0)} to {self.grid.at(len(self.values) - 1)}"


def read_series(
    source: Any,
    *,
    time_column: str | None = None,
    arm_column: str | None = None,
    reward_column: str | None = None,
    arms: Sequence[str] | None = None,
    duplicates: str = "error",
    time_format: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    na_values: str | float | Sequence[str | float] | None = None,
    timezone: str | None = None,
) -> Series:
    """Read a long (time, arm, reward) or wide (time x arms) table.

    Args:
        source: A path (.csv, .tsv, .txt, .parquet) or a DataFrame.
        time_column: Column of the times; needed where it is not obvious.
        arm_column: Column of the arms' names in a long table; needed where it is not obvious.
        reward_column: Column of the rewards in a long table; needed where it is not obvious.
        arms: The arms to use, in this order; None for all, in order of appearance.
        duplicates: Treatment of different values for one arm at one time: "error", or "mean".
            Equal ones are dropped. (The hour that local clocks show twice when daylight saving ends
            is always averaged, and the one that they skip when it begins is a gap.)
        time_format: Format of the times, such as "%d/%m/%Y %H:%M"; None for ISO 8601, numbers, and
            dates in which the day or the month obviously comes first.
        separator: Separator of the fields of a CSV file; None to find it.
        decimal: Decimal mark of a CSV file; None to find it.
        encoding: Encoding of a CSV file, such as "utf-8" or "cp1252"; None to find it.
        na_values: Words and numbers that stand for missing values, beside the usual ones.
        timezone: Time zone whose clocks give the times, such as "Europe/Madrid": times with an
            offset are converted to it. None keeps times without an offset, and converts others to
            UTC.

    Raises:
        DataError: If the table cannot be used, or can be read in more than one way.
    """
    if duplicates not in DUPLICATES:
        raise DataError(f"duplicates must be one of {', '.join(DUPLICATES)}, got {duplicates!r}")
    chosen = None if arms is None else [arms] if isinstance(arms, str) else list(map(str, arms))
    if chosen is not None and len(set(chosen)) < max(2, len(chosen)):
        raise DataError(f"arms must name at least two different arms, got {chosen}")
    find = partial(
        find_roles,
        time_column=time_column,
        arm_column=arm_column,
        reward_column=reward_column,
        arms=chosen,
        time_format=time_format,
    )
    table, roles, blanks = read_roles(
        source, find, na_values=na_values, separator=separator, encoding=encoding
    )
    marks = find_marks(table, roles.measured, decimal)
    moments, notes = parse_times(
        table, roles.time, time_format=time_format, marks=marks, timezone=timezone
    )
    grid = find_grid(moments, table.source)
    steps = positions(grid, moments, table.source)
    n_steps = int(steps.max()) + 1
    values = np.stack(parse_all(table, roles.measured, marks), axis=1).ravel()
    if roles.arm is None:
        names, n = roles.arms, len(roles.arms)
        steps, codes = steps.repeat(n), np.tile(np.arange(n), len(steps))
    else:
        found_names, codes = arms_of(table, roles.arm)
        check_known(chosen or (), found_names, f"arm in {table.source}")
        names = tuple(chosen or found_names)
        places = {name: i for i, name in enumerate(names)}
        codes = np.array([places.get(name, -1) for name in found_names])[codes]
    check_size(f"the regular grid of {table.source}", len(names), n_steps * len(names))
    found = tabulate(steps, codes, values, n_steps, len(names))
    repeated = np.unique(found.conflicts[:, 0])
    twice = clock_changes(grid, repeated, timezone, back=True)
    if not twice.all() and duplicates == "error":
        step, arm = found.conflicts[np.isin(found.conflicts[:, 0], repeated[~twice])][0]
        raise DataError(
            f"{table.source} has different values for {names[arm]!r} at {grid.at(int(step))}: keep"
            " one of them, or take their average with duplicates='mean'"
        )
    unseen = np.isnan(found.values).all(0)
    if unseen.any():
        raise DataError(
            f"{table.source} has no reading of {names[int(unseen.argmax())]!r}: leave it out, or "
            "name the others as arms=[...]"
        )
    gone = np.flatnonzero(np.isnan(found.values).all(1))
    skipped = gone[clock_changes(grid, gone, timezone, back=False)]
    if getattr(grid.first, "tzinfo", None) is not None:
        notes = (*notes, "give a timezone for the hours of local clocks")
    read_as = (*roles.lines(table), *notes, *table.notes, *marks.lines(), *blanks)
    report = Report.of(
        found.values,
        taken_for=(*read_as, *change_lines(grid, repeated[twice], skipped)),
        dropped=found.dropped,
        averaged=found.averaged,
    )
    return Series(grid, names, found.values, report)


def cut(series: Series, *, start: Any = None, steps: int | None = None) -> Series:
    """Return the stretch from a time on, of a number of steps; its report counts its own gaps.

    Raises:
        DataError: If the window is not in the data: the message gives their range.
    """
    n = len(series.values)
    first = 0 if start is None else _index(series, start)
    length = n - first if steps is None else checks.whole("steps", steps, 1)
    if first + length > n:
        raise DataError(
            f"steps must be at most {n - first:,} from {series.grid.at(first)} on, got {length:,}:"
            f" the data end at {series.grid.at(n - 1)}"
        )
    values = series.values[first : first + length]
    was = series.report
    report = Report.of(values, taken_for=was.taken_for, dropped=was.dropped, averaged=was.averaged)
    grid = replace(series.grid, first=series.grid.first + first * series.grid.step)
    return replace(series, grid=grid, values=values, report=report)


def _index(series: Series, start: Any) -> int:
    moment = _moment(series.grid, start)
    exact = float(series.grid.index(moment))
    if not -0.5 < exact < len(series.values) - 0.5 or abs(exact - round(exact)) > OFF_GRID:
        aware = getattr(moment, "tzinfo", None) is not None
        raise DataError(
            f"start must be a time of the data, got {start!r}: they reach from {series.span()} in "
            f"steps of {series.grid.step_text()}"
            + ("; all in UTC, and so is a start without an offset" if aware else "")
        )
    return round(exact)


def _moment(grid: TimeGrid, start: Any) -> Any:
    """Return the start in the same terms as the times of the data."""
    try:
        if not isinstance(grid.first, pd.Timestamp):
            return float(start)
        moment = None if isinstance(start, int | float) else pd.Timestamp(start)
        if moment is not None and moment.tzinfo is None and grid.first.tzinfo is not None:
            moment = moment.tz_localize("UTC")  # as the times of the data were converted
    except (TypeError, ValueError, OverflowError):
        moment = None
    if moment is None or (moment.tzinfo is None) != (grid.first.tzinfo is None):
        raise DataError(
            f"start must be written like the times of the data, such as {show(grid.first)!r}, got "
            f"{start!r}"
        )
    return moment
