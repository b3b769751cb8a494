"""Readings of several arms on a regular time grid, from a CSV file, Parquet file or DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from periodic_decisions.tables.cells import (
    clock_changes,
    count,
    listed,
    parse_numbers,
    parse_times,
)
from periodic_decisions.tables.raw import MAX_VALUES, check_size, read_table
from periodic_decisions.tables.roles import arms_of, check_known, find_roles
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError
from periodic_envs.data.recording import MAX_MISSING

DUPLICATES = ("error", "mean")
OFF_GRID = 1e-3  # largest distance from the grid, in steps, that counts as round-off
MIN_SHARE_OF_STEPS = 0.02  # minimum share of grid times with rows; fewer rows suggest a wrong time


@dataclass(frozen=True)
class TimeGrid:
    """Regular grid of times ``first + i * step``, as timestamps or as plain numbers."""

    first: Any
    step: Any

    def times(self, n: int) -> Any:
        """Return the first n times: a DatetimeIndex, or an array of numbers."""
        if isinstance(self.first, pd.Timestamp):
            return pd.date_range(self.first, periods=n, freq=self.step)
        return self.first + self.step * np.arange(n)

    def at(self, index: int) -> str:
        """Return one time as text."""
        return show(self.first + index * self.step)

    def index(self, moments: Any) -> Array:
        """Return the number of steps from the first time to each moment."""
        # Exact for timestamps, whose differences are whole numbers of nanoseconds.
        return np.asarray((moments - self.first) / self.step, dtype=np.float64)

    def step_text(self) -> str:
        """Return the step as text."""
        if not isinstance(self.step, pd.Timedelta):
            return f"{self.step:g}"
        for unit, name in (("D", "day"), ("h", "hour"), ("min", "minute"), ("s", "second")):
            number = self.step / pd.Timedelta(1, unit)
            if number >= 1:
                return f"{number:g} {name}{'s' if number != 1 else ''}"
        return str(self.step)


@dataclass(frozen=True)
class Report:
    """Report on reading a table.

    Attributes:
        detected: Roles of the columns and other detected properties, as text.
        missing_steps: Number of grid steps without any reading.
        missing: Share of the readings (steps times arms) that are missing.
        dropped: Number of repeated readings with the same value.
        averaged: Number of repeated readings with different values.
    """

    detected: tuple[str, ...]
    missing_steps: int
    missing: float
    dropped: int
    averaged: int


@dataclass(frozen=True, eq=False)
class Series:
    """Readings of arms at regular times.

    Attributes:
        grid: First time and sampling step.
        names: Names of the arms.
        values: Readings, shape (steps, arms), NaN where missing.
        report: Report on reading the table.
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

    def troubles(self) -> list[str]:
        """Return messages about gaps, duplicates, and arms that are the sum of all other arms."""
        report = self.report
        steps = count(report.missing_steps, "step")
        dropped = count(report.dropped, "repeated reading")
        counts = {
            f"{report.missing:.2%} of the readings are missing, including all readings of "
            f"{steps}": report.missing,
            f"dropped {dropped} with the same value": report.dropped,
            f"averaged {report.averaged:,} readings that share arm and time": report.averaged,
        }
        texts = [text for text, number in counts.items() if number]
        return [*texts, *self.scarce_arms(), *self._totals()]

    def scarce_arms(self) -> list[str]:
        """Return a list with one message if arms have too many gaps for a replay, else ``[]``."""
        missing = np.isnan(self.values).mean(0)
        scarce = [n for n, share in zip(self.names, missing, strict=True) if share > MAX_MISSING]
        return [
            f"more than {MAX_MISSING:.0%} of the readings of {listed(scarce)} are missing (is a "
            "name misspelled?): correct the table, or give "
            f"arms={[n for n in self.names if n not in scarce]}"
        ] * bool(scarce)

    def _totals(self) -> list[str]:
        values = self.values[~np.isnan(self.values).any(1)]
        rest = values.sum(1, keepdims=True) - values
        if values.shape[1] < 3 or not values.any():
            return []
        same = np.isclose(values, rest, rtol=1e-6, atol=1e-9 * np.abs(values).max()).all(0)
        return [
            f"{self.names[i]!r} is the sum of all other arms: if it is not a separate choice, "
            "give arms=[...] without it"
            for i in np.flatnonzero(same & values.any(0))
        ]


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
        source: Path (.csv, .tsv, .txt, .parquet) or DataFrame.
        time_column: Column of the times; required if it is ambiguous.
        arm_column: Column of the arms in a long table; required if it is ambiguous.
        reward_column: Column of the rewards in a long table; required if it is ambiguous.
        arms: Arms to use, in this order; None for all arms, in order of appearance.
        duplicates: Treatment of different values for the same arm and time: "error" raises an
            error, "mean" averages the values. Equal values are always dropped.
        time_format: Format of the times, such as "%d/%m/%Y %H:%M"; None for ISO 8601, numbers, and
            dates with an unambiguous order of day and month.
        separator: Separator of the fields of a CSV file; None to detect it.
        decimal: Decimal mark of a CSV file; None to detect it.
        encoding: Encoding of a CSV file, such as "utf-8" or "cp1252"; None to detect it.
        na_values: Words and numbers for missing values, in addition to common words such as "NaN".
        timezone: Time zone of the times, such as "Europe/Madrid". Times with an offset are
            converted to this zone. When clocks are set back, the values of the repeated hour are
            averaged; when clocks are set forward, the skipped hour is a gap. None keeps times
            without an offset, and converts times with an offset to UTC.

    Raises:
        DataError: If the table cannot be used or is ambiguous.
    """
    if duplicates not in DUPLICATES:
        raise DataError(
            "invalid-option",
            f"duplicates must be one of {', '.join(DUPLICATES)}, got {duplicates!r}",
        )
    chosen = None if arms is None else list(map(str, arms))
    if chosen is not None and len(set(chosen)) < max(2, len(chosen)):
        raise DataError("too-few-arms", f"arms must name at least two different arms, got {chosen}")
    table = read_table(source, separator=separator, encoding=encoding, na_values=na_values)
    roles = find_roles(
        table,
        time_column=time_column,
        arm_column=arm_column,
        reward_column=reward_column,
        arms=chosen,
    )
    moments, notes = parse_times(
        table, roles.time, time_format=time_format, decimal=decimal, timezone=timezone
    )
    grid = find_grid(moments, table.source)
    steps = positions(grid, moments, table.source)
    readings, number_notes = parse_numbers(table, roles.measured, decimal)
    if roles.arm is None:
        names, n = roles.arms, len(roles.arms)
        steps, codes = steps.repeat(n), np.tile(np.arange(n), len(steps))
    else:
        table_names, codes = arms_of(table, roles.arm)
        check_known(chosen or (), table_names, f"arm in {table.source}")
        names = tuple(chosen or table_names)
        places = {name: i for i, name in enumerate(names)}
        codes = np.array([places.get(name, -1) for name in table_names])[codes]
    rows = pd.DataFrame({"step": steps, "arm": codes, "value": readings.ravel()}).dropna()
    detected = (*roles.lines(table), *notes, *table.notes, *number_notes)
    empty = Series(grid, names, _gaps(steps, names, table.source), Report(detected, 0, 0.0, 0, 0))
    return _filled(empty, rows[rows["arm"] >= 0], duplicates, timezone, table.source)


def _gaps(steps: NDArray[np.intp], names: Sequence[str], source: str) -> Array:
    """Return an array of NaN, shape (steps, arms), for the grid that contains all steps.

    Raises:
        DataError: If the array would be too large.
    """
    n_steps = int(steps.max()) + 1
    check_size(f"the regular grid of {source}", len(names), n_steps * len(names))
    return np.full((n_steps, len(names)), np.nan)


def _filled(
    series: Series, rows: pd.DataFrame, duplicates: str, timezone: str | None, source: str
) -> Series:
    """Return the series with its readings and its report.

    Different readings for the same arm and time are averaged. With ``duplicates="error"``, they
    raise an error unless clocks were set back at this time.
    """
    grid, names, values = series.grid, series.names, series.values
    cells = rows.groupby(["step", "arm"])["value"].agg(["first", "min", "max", "mean", "size"])
    is_same = cells["min"] == cells["max"]
    step, arm = (cells.index.get_level_values(i).to_numpy(dtype=np.intp) for i in (0, 1))
    values[step, arm] = cells["first"].where(is_same, cells["mean"])
    times, repeated = grid.times(len(values)), step[~is_same]
    twice = clock_changes(times[repeated], timezone, back=True)
    if duplicates == "error" and not twice.all():
        at, of = repeated[~twice][0], arm[~is_same][~twice][0]
        raise DataError(
            "conflicting-values",
            f"{source} has different values for {names[of]!r} at {grid.at(at)}: keep one of them, "
            "average them with duplicates='mean', or give the timezone if clocks were set back at "
            "this time",
        )
    unseen = np.isnan(values).all(0)
    if unseen.any():
        raise DataError(
            "missing-values",
            f"{source} has no reading of {names[int(unseen.argmax())]!r}: remove this arm from the "
            "table, or select the other arms with arms=[...]",
        )
    gone = np.flatnonzero(np.isnan(values).all(1))
    skipped = gone[clock_changes(times[gone], timezone, back=False)]
    changes = {"back": repeated[twice], "forward": skipped}
    report = Report(
        detected=(
            *series.report.detected,
            *(f"clocks were set {to} at {grid.at(at[0])}" for to, at in changes.items() if len(at)),
        ),
        missing_steps=len(gone),
        missing=float(np.isnan(values).mean()),
        dropped=int((cells["size"][is_same] - 1).sum()),
        averaged=int(cells["size"][~is_same].sum()),
    )
    return Series(grid, names, values, report)


def show(moment: Any) -> str:
    """Return a time as text, with seconds only if they are not zero."""
    if not isinstance(moment, pd.Timestamp):
        return f"{moment:.12g}"
    text = str(moment)
    return text.replace(":00+", "+") if moment.tzinfo else text.removesuffix(":00")


def find_grid(moments: Any, source: str) -> TimeGrid:
    """Return the grid that begins at the first time, with the most common difference as step."""
    stamps = isinstance(moments, pd.DatetimeIndex)
    distinct: Any = moments.sort_values().unique() if stamps else np.unique(moments)
    if len(distinct) < 3:
        raise DataError(
            "too-few-steps",
            f"{source} has only {len(distinct)} different times; at least 3 are required",
        )
    if stamps:
        return TimeGrid(distinct[0], pd.Series(distinct).diff().mode()[0])
    differences = np.diff(distinct)
    # Round-off perturbs equal differences, so differences are grouped by their first nine digits.
    scale = 10.0 ** (np.floor(np.log10(differences)) - 8)
    rounded, counts = np.unique(np.round(differences / scale) * scale, return_counts=True)
    step = float(rounded[counts.argmax()])
    if not max(abs(distinct[0]), abs(distinct[-1])) < 2.0**53 * step:
        raise DataError(
            "time-out-of-range",
            f"the times of {source} are too large, or too close to each other, for float64 numbers",
        )
    return TimeGrid(float(distinct[0]), step)


def positions(grid: TimeGrid, moments: Any, source: str) -> NDArray[np.intp]:
    """Return the grid step of each time."""
    exact = grid.index(moments)
    nearest = np.rint(exact)
    off = np.abs(exact - nearest) > OFF_GRID
    if off.any():
        raise DataError(
            "irregular-times",
            f"the times of {source} are not regular: the most common step is {grid.step_text()}, "
            f"but {show(moments[int(off.argmax())])} is not a whole number of steps after "
            f"{show(grid.first)}: resample the table, or (for monthly data, or daily data across a "
            "daylight-saving change) replace the times by 0, 1, 2, ... and name the column 'step'",
        )
    if nearest.max() >= min(MAX_VALUES, len(nearest) / MIN_SHARE_OF_STEPS):
        raise DataError(
            "sparse-times",
            f"{source} has {len(nearest):,} times from {show(grid.first)} to "
            f"{show(moments.max())}, which are {nearest.max() + 1:,.0f} steps of "
            f"{grid.step_text()}: correct invalid times, or provide rows for more than "
            f"{MIN_SHARE_OF_STEPS:.0%} of the steps",
        )
    return nearest.astype(np.intp)
