"""Rewards of several arms on a regular grid of times, from anybody's CSV, Parquet or DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from periodic_decisions.tables.absent import checked_words, kept, note, without
from periodic_decisions.tables.columns import check_known, find_roles
from periodic_decisions.tables.daylight import lines, set_back, set_forward
from periodic_decisions.tables.formats import Table, as_text, read_table
from periodic_decisions.tables.grid import (
    OFF_GRID,
    Clock,
    Tabulated,
    find_clock,
    positions,
    show,
    tabulate,
)
from periodic_decisions.tables.limits import check_name, check_size
from periodic_decisions.tables.report import Report
from periodic_decisions.tables.times import parse_times
from periodic_decisions.tables.values import find_marks, parse_all
from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError

DUPLICATES = ("error", "mean")


@dataclass(frozen=True, eq=False)
class Series:
    """Readings of arms at regular times.

    Attributes:
        clock: first time and sampling step.
        names: what the arms are called.
        values: shape (steps, arms), NaN where nothing was measured.
        report: what was found while reading.
    """

    clock: Clock
    names: tuple[str, ...]
    values: Array
    report: Report

    @cached_property
    def times(self) -> pd.DatetimeIndex | Array:
        """The time of each row."""
        return self.clock.times(len(self.values))

    @property
    def step(self) -> pd.Timedelta | float:
        """The sampling step."""
        return self.clock.step

    def span(self) -> str:
        """From when to when, in words."""
        return f"{self.clock.at(0)} to {self.clock.at(len(self.values) - 1)}"


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
        time_column: Which column is the time; needed where that is not plain to see.
        arm_column: Which column of a long table names the arm; needed where that is not plain.
        reward_column: Which column of a long table is the reward; needed where that is not plain.
        arms: The arms to use, in this order; None for all, in order of appearance.
        duplicates: What to do with different values for one arm at one time: "error", or "mean".
            Equal ones are dropped. (The hour that local clocks show twice when daylight saving ends
            is always averaged, and the one that they leave out when it begins is a gap.)
        time_format: How times are written, as in "%d/%m/%Y %H:%M"; None for ISO 8601, numbers, and
            dates of which it is plain whether the day or the month comes first.
        separator: What separates the fields of a CSV file; None to find out.
        decimal: The decimal mark of a CSV file; None to find out.
        encoding: How the letters of a CSV file are written, as in "utf-8" or "cp1252"; None to
            find out.
        na_values: Words and numbers that say that nothing was measured, beside the usual ones.
        timezone: The zone whose clocks give the times, as in "Europe/Madrid": times with an offset
            are converted to it. None keeps times without an offset, and converts others to UTC.

    Raises:
        DataError: if the table cannot be used, or can be read in more than one way.
    """
    if duplicates not in DUPLICATES:
        raise DataError(f"duplicates must be one of {', '.join(DUPLICATES)}, got {duplicates!r}")
    given = read_table(source, separator=separator, encoding=encoding)
    arms = None if arms is None else _checked_arms(arms)
    absent = checked_words(na_values)
    table = without(given, absent)
    roles = find_roles(
        table,
        time_column=time_column,
        arm_column=arm_column,
        reward_column=reward_column,
        arms=arms,
        time_format=time_format,
    )
    table = kept(table, given, [roles.time, roles.arm])
    measured = list(roles.arms) or [str(roles.reward)]
    marks = find_marks(table, measured, decimal)
    moments, notes = parse_times(
        table, roles.time, time_format=time_format, marks=marks, timezone=timezone
    )
    clock = find_clock(moments, table.source)
    steps = positions(clock, moments, table.source)
    n_steps = int(steps.max()) + 1
    columns = parse_all(table, measured, marks)
    if roles.arm is None:
        names, n = roles.arms, len(roles.arms)
        values = np.stack(columns, axis=1).ravel()
        steps, codes = steps.repeat(n), np.tile(np.arange(n), len(steps))
    else:
        names, codes = _arms_of(table, roles.arm, arms)
        values = columns[0]
    check_size(f"the regular grid of {table.source}", len(names), n_steps * len(names))
    found = tabulate(steps, codes, values, n_steps, len(names))
    twice = _set_back(table, clock, names, found, duplicates=duplicates, zone=timezone)
    unseen = np.isnan(found.values).all(0)
    if unseen.any():
        raise DataError(
            f"{table.source} has no reading of {names[int(unseen.argmax())]!r}: leave it out, or "
            "name the others as arms=[...]"
        )
    gone = np.flatnonzero(np.isnan(found.values).all(1))
    skipped = gone[set_forward(clock, gone, timezone)]
    if getattr(clock.first, "tzinfo", None) is not None:
        notes = (*notes, "give a timezone for the hours of local clocks")
    read_as = (*notes, *table.notes, *marks.lines(), *note(table, given, measured, absent))
    report = Report.of(
        found.values,
        taken_for=(*roles.lines(table), *read_as, *lines(clock, twice, skipped)),
        dropped=found.dropped,
        averaged=found.averaged,
    )
    return Series(clock, names, found.values, report)


def _set_back(
    table: Table,
    clock: Clock,
    names: Sequence[str],
    found: Tabulated,
    *,
    duplicates: str,
    zone: str | None,
) -> NDArray[np.intp]:
    """The steps that came twice because clocks were set back; others are refused if asked."""
    steps = np.unique(found.conflicts[:, 0])
    twice = set_back(clock, steps, zone)
    if not twice.all() and duplicates == "error":
        step, arm = found.conflicts[np.isin(found.conflicts[:, 0], steps[~twice])][0]
        raise DataError(
            f"{table.source} has different values for {names[arm]!r} at {clock.at(int(step))}: keep"
            " one of them, or take their average with duplicates='mean'"
        )
    return steps[twice]


def _checked_arms(arms: Sequence[str]) -> list[str]:
    chosen = [arms] if isinstance(arms, str) else [str(arm) for arm in arms]
    if len(set(chosen)) < max(2, len(chosen)):
        raise DataError(f"arms must name at least two different arms, got {chosen}")
    return chosen


def _arms_of(
    table: Table, column: str, arms: list[str] | None
) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """The arms of a long table, and which of them each row is of: -1 for none of those named."""
    codes, found = pd.factorize(np.array(as_text(table.columns[column]), dtype=object))
    names = list(found)
    for code, name in enumerate(names):
        check_name(name, f"the arm in {table.place(int((codes == code).argmax()))}")
    if arms is not None:
        check_known(arms, names, f"arm in {table.source}")
        order = {name: i for i, name in enumerate(arms)}
        codes = np.array([order.get(name, -1) for name in names])[codes]
        names = arms
    if len(names) < 2:
        raise DataError(f"a choice needs at least two arms, {table.source} has only {names[0]!r}")
    return tuple(names), codes


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
        aware = getattr(moment, "tzinfo", None) is not None
        raise DataError(
            f"start must be a time of the data, got {start!r}: they reach from "
            f"{series.clock.at(0)} to {series.clock.at(n - 1)} in steps of "
            f"{series.clock.step_text()}"
            + ("; all in UTC, and so is a start without an offset" if aware else "")
        )
    return index


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
