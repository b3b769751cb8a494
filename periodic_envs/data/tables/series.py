"""Rewards of several arms on a regular grid of times, from anybody's CSV, Parquet or DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError
from periodic_envs.data.tables.columns import Roles, check_known, find_roles
from periodic_envs.data.tables.formats import Table, as_text, read_table
from periodic_envs.data.tables.grid import Clock, Readings, find_clock, positions, tabulate
from periodic_envs.data.tables.limits import check_name, check_size
from periodic_envs.data.tables.report import Report
from periodic_envs.data.tables.times import parse_times
from periodic_envs.data.tables.values import Marks, find_marks, parse_numbers

Index = NDArray[np.intp]
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
) -> Series:
    """Read a long (time, arm, reward) or wide (time x arms) table.

    Args:
        source: A path (.csv, .tsv, .txt, .parquet) or a DataFrame.
        time_column: Which column is the time; needed where that is not plain to see.
        arm_column: Which column of a long table names the arm; needed likewise.
        reward_column: Which column of a long table is the reward; needed likewise.
        arms: The arms to use, in this order; None for all, in order of appearance.
        duplicates: What to do with different values for one arm at one time: "error", or "mean".
            Equal ones are dropped. (Local times without a zone give an hour twice when daylight
            saving ends, and none when it begins, which is a gap.)
        time_format: How times are written, as in "%d/%m/%Y %H:%M"; None for ISO 8601, numbers, and
            dates of which it is plain whether the day or the month comes first.
        separator: What separates the fields of a CSV file; None to find out.
        decimal: The decimal mark of a CSV file; None to find out.

    Raises:
        DataError: if the table cannot be used, or can be read in more than one way.
    """
    checks.one_of("duplicates", duplicates, DUPLICATES)
    table = read_table(source, separator=separator)
    arms = None if arms is None else _checked_arms(arms)
    roles = find_roles(
        table,
        time_column=time_column,
        arm_column=arm_column,
        reward_column=reward_column,
        arms=arms,
        time_format=time_format,
    )
    marks = find_marks(table, list(roles.arms) or [str(roles.reward)], decimal)
    times = parse_times(table, roles.time, time_format=time_format, marks=marks)
    clock = find_clock(times.moments, table.source)
    steps = positions(clock, times.moments, table.source)
    n_steps = int(steps.max()) + 1
    if roles.arm is None:
        names, readings = roles.arms, _from_wide(table, roles, steps, marks)
    else:
        names, readings = _from_long(table, roles, steps, marks, arms)
    check_size(f"the regular grid of {table.source}", len(names), n_steps * len(names))
    found = tabulate(readings, n_steps, len(names))
    if found.conflict is not None and duplicates == "error":
        step, arm = found.conflict
        raise DataError(
            f"{table.source} has different values for {names[arm]!r} at {clock.at(step)}: keep one "
            "of them, or take their average with duplicates='mean' (where the clock is set back "
            "an hour comes twice)"
        )
    unseen = np.isnan(found.values).all(0)
    if unseen.any():
        raise DataError(
            f"{table.source} has no reading of {names[int(unseen.argmax())]!r}: leave it out, or "
            "name the others as arms=[...]"
        )
    report = Report.of(
        found.values,
        taken_for=(*roles.lines(), *times.notes, *table.notes, *marks.lines()),
        dropped=found.dropped,
        averaged=found.averaged,
    )
    return Series(clock, names, found.values, report)


def _checked_arms(arms: Sequence[str]) -> list[str]:
    chosen = [arms] if isinstance(arms, str) else [str(arm) for arm in arms]
    if len(set(chosen)) < max(2, len(chosen)):
        raise DataError(f"arms must name at least two different arms, got {chosen}")
    return chosen


def _from_wide(table: Table, roles: Roles, steps: Index, marks: Marks) -> Readings:
    values = np.stack([parse_numbers(table, name, marks) for name in roles.arms], axis=1)
    n = len(roles.arms)
    return Readings(steps.repeat(n), np.tile(np.arange(n), len(steps)), values.ravel())


def _from_long(
    table: Table, roles: Roles, steps: Index, marks: Marks, arms: list[str] | None
) -> tuple[tuple[str, ...], Readings]:
    assert roles.arm is not None
    assert roles.reward is not None
    labels = np.array(as_text(table.columns[roles.arm]), dtype=object)
    codes, found = pd.factorize(labels)
    names = list(found)
    for code, name in enumerate(names):
        check_name(name, f"the arm in {table.place(int((codes == code).argmax()))}")
    value = parse_numbers(table, roles.reward, marks)
    if arms is not None:
        for name in arms:
            check_known(name, names, f"arm in {table.source}")
        order = {name: i for i, name in enumerate(arms)}
        codes = np.array([order.get(name, -1) for name in names])[codes]
        names = arms
    if len(names) < 2:
        raise DataError(f"a choice needs at least two arms, {table.source} has only {names[0]!r}")
    kept = codes >= 0
    return tuple(names), Readings(steps[kept], codes[kept], value[kept])
