"""Regular grids of times, readings put on them, and a report of gaps and duplicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from periodic_decisions.tables.files import MAX_VALUES
from periodic_decisions.tables.values import count
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError

OFF_GRID = 1e-3  # largest distance from the grid, as a share of the step: room for round-off only
MIN_SHARE_OF_STEPS = 0.02  # least share of the grid that is present: below, a time is a misprint


@dataclass(frozen=True)
class TimeGrid:
    """A regular grid of times: ``first + i * step``, as timestamps or as plain numbers."""

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
        """Return the number of steps from the first time to each: whole numbers on the grid."""
        # Exact for timestamps: the difference is a whole number of nanoseconds.
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


def show(moment: Any) -> str:
    """Return a time as text, with seconds only where they matter."""
    if not isinstance(moment, pd.Timestamp):
        return f"{moment:.12g}"
    text = str(moment)
    return text.replace(":00+", "+") if moment.tzinfo else text.removesuffix(":00")


def find_grid(moments: Any, source: str) -> TimeGrid:
    """Return the grid from the first time on, in steps of the most common difference."""
    stamps = isinstance(moments, pd.DatetimeIndex)
    distinct: Any = moments.sort_values().unique() if stamps else np.unique(moments)
    if len(distinct) < 3:
        raise DataError(f"{source} has only {len(distinct)} different times: at least 3 are needed")
    if stamps:
        steps, counts = np.unique(np.diff(distinct.asi8), return_counts=True)
        return TimeGrid(distinct[0], pd.Timedelta(int(steps[counts.argmax()]), "ns"))
    differences = np.diff(distinct)
    # Round-off makes equal differences differ: group them by their first nine digits.
    scale = 10.0 ** (np.floor(np.log10(differences)) - 8)
    rounded, counts = np.unique(np.round(differences / scale) * scale, return_counts=True)
    step = float(rounded[counts.argmax()])
    if not max(abs(distinct[0]), abs(distinct[-1])) < 2.0**53 * step:
        raise DataError(f"the times of {source} are too large, or too close, to tell them apart")
    return TimeGrid(float(distinct[0]), step)


def positions(grid: TimeGrid, moments: Any, source: str) -> NDArray[np.intp]:
    """Return the grid step of each time."""
    exact = grid.index(moments)
    nearest = np.rint(exact)
    off = np.abs(exact - nearest) > OFF_GRID
    if off.any():
        raise DataError(
            f"the times of {source} are not regular: the most common step is {grid.step_text()}, "
            f"but {show(moments[int(off.argmax())])} is no whole number of steps after "
            f"{show(grid.first)}; resample them, or (months, days across a change of the clock) "
            "write 0, 1, 2, ... instead of the times and call the column 'step'"
        )
    if nearest.max() >= min(MAX_VALUES, len(nearest) / MIN_SHARE_OF_STEPS):
        raise DataError(
            f"{source} has {len(nearest):,} times from {show(grid.first)} to "
            f"{show(moments.max())}, which are {nearest.max() + 1:,.0f} steps of "
            f"{grid.step_text()}: is one of them wrong?"
        )
    return nearest.astype(np.intp)


@dataclass(frozen=True)
class Tabulated:
    """Readings as a table, shape (steps, arms), NaN where a reading is missing.

    ``dropped`` counts repeated readings of equal value, ``averaged`` those that differ from an
    earlier one, and ``conflicts`` are the (step, arm) with different readings.
    """

    values: Array
    dropped: int
    averaged: int
    conflicts: NDArray[np.intp]


def tabulate(
    step: NDArray[np.intp], arm: NDArray[np.intp], value: Array, n_steps: int, n_arms: int
) -> Tabulated:
    """Put readings into a table, the mean of different readings; arm -1 is left out."""
    known = ~np.isnan(value) & (arm >= 0)
    entries = pd.Series(value[known]).groupby((step * n_arms + arm)[known])
    cells = entries.agg(["first", "min", "max", "mean", "size"])
    differ = (cells["min"] != cells["max"]).to_numpy()
    sizes = cells["size"].to_numpy()
    places = cells.index.to_numpy(dtype=np.intp)
    table: Array = np.full(n_steps * n_arms, np.nan)
    table[places] = np.where(differ, cells["mean"], cells["first"])
    return Tabulated(
        table.reshape(n_steps, n_arms),
        dropped=int((sizes[~differ] - 1).sum()),
        averaged=int(sizes[differ].sum()),
        conflicts=np.stack(np.divmod(places[differ], n_arms), axis=1),
    )


@dataclass(frozen=True)
class Report:
    """Findings while reading a table.

    Attributes:
        taken_for: Roles of the columns and guesses, as text.
        missing_steps: Steps of the grid without any reading.
        missing: Share of the readings (steps times arms) that are missing.
        dropped: Repeated readings of the same value.
        averaged: Repeated readings of different values.
    """

    taken_for: tuple[str, ...]
    missing_steps: int
    missing: float
    dropped: int
    averaged: int

    @classmethod
    def of(
        cls, values: Array, *, taken_for: tuple[str, ...], dropped: int, averaged: int
    ) -> Report:
        """Return the report on values (steps, arms), NaN where a reading is missing."""
        gone = np.asarray(np.isnan(values).all(axis=1))
        missing = float(np.isnan(values).mean())
        return cls(taken_for, int(gone.sum()), missing, dropped, averaged)

    def troubles(self) -> list[str]:
        """Describe gaps and duplicates; empty without any."""
        found = []
        if self.missing:
            steps = count(self.missing_steps, "whole step")
            among = f", {steps} among them" if self.missing_steps else ""
            found.append(f"{self.missing:.2%} of the readings are missing{among}")
        if self.dropped:
            were = "was" if self.dropped == 1 else "were"
            repeated = count(self.dropped, "repeated reading")
            found.append(f"{repeated} with the same value {were} dropped")
        if self.averaged:
            found.append(f"{self.averaged:,} readings were averaged with others of the same time")
        return found
