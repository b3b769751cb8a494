"""Regular grids of times, and readings put on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from periodic_decisions.tables.limits import MAX_VALUES
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError

Moments = Any
"""A DatetimeIndex, or an array of plain numbers."""
OFF_GRID = 1e-3
"""How far from the grid a time may lie, as a share of the step: room for round-off only."""

MIN_SHARE_OF_STEPS = 0.02
"""The least share of the grid's steps that must be there: with fewer, a time is a slip of the pen.
"""


@dataclass(frozen=True)
class Clock:
    """A regular grid of times: ``first + i * step``, as timestamps or as plain numbers."""

    first: Any
    step: Any

    def times(self, n: int) -> Moments:
        """The first n times."""
        if isinstance(self.first, pd.Timestamp):
            return pd.date_range(self.first, periods=n, freq=self.step)
        return self.first + self.step * np.arange(n)

    def at(self, index: int) -> str:
        """One time in words."""
        return show(self.first + index * self.step)

    def index(self, moments: Any) -> Array:
        """How many steps after the first each time is: whole numbers on the grid."""
        # Exact for timestamps: the difference is a whole number of nanoseconds.
        return np.asarray((moments - self.first) / self.step, dtype=np.float64)

    def step_text(self) -> str:
        """The step in words."""
        if not isinstance(self.step, pd.Timedelta):
            return f"{self.step:g}"
        for unit, name in (("D", "day"), ("h", "hour"), ("min", "minute"), ("s", "second")):
            number = self.step / pd.Timedelta(1, unit)
            if number >= 1:
                return f"{number:g} {name}{'s' if number != 1 else ''}"
        return str(self.step)


def show(moment: Any) -> str:
    """A time in words, seconds only where there are any."""
    if not isinstance(moment, pd.Timestamp):
        return f"{moment:.12g}"
    text = str(moment)
    return text.replace(":00+", "+") if moment.tzinfo else text.removesuffix(":00")


def find_clock(moments: Moments, source: str) -> Clock:
    """The grid: from the first time on, in steps of the most common difference."""
    stamps = isinstance(moments, pd.DatetimeIndex)
    distinct: Any = moments.sort_values().unique() if stamps else np.unique(moments)
    if len(distinct) < 3:
        raise DataError(f"{source} has only {len(distinct)} different times: at least 3 are needed")
    if stamps:
        steps, counts = np.unique(np.diff(distinct.asi8), return_counts=True)
        return Clock(distinct[0], pd.Timedelta(int(steps[counts.argmax()]), "ns"))
    differences = np.diff(distinct)
    # Round-off makes equal differences differ: group them by their first nine digits.
    scale = 10.0 ** (np.floor(np.log10(differences)) - 8)
    rounded, counts = np.unique(np.round(differences / scale) * scale, return_counts=True)
    step = float(rounded[counts.argmax()])
    if not max(abs(distinct[0]), abs(distinct[-1])) < 2.0**53 * step:
        raise DataError(f"the times of {source} are too large, or too close, to tell them apart")
    return Clock(float(distinct[0]), step)


def positions(clock: Clock, moments: Moments, source: str) -> NDArray[np.intp]:
    """The grid step of each time."""
    exact = clock.index(moments)
    nearest = np.rint(exact)
    off = np.abs(exact - nearest) > OFF_GRID
    if off.any():
        first = moments[int(np.flatnonzero(off)[0])]
        raise DataError(
            f"the times of {source} are not regular: the most common step is {clock.step_text()}, "
            f"but {show(first)} is no whole number of steps after {show(clock.first)}; resample "
            "them, or (months, days across a change of the clock) write 0, 1, 2, ... in place of "
            "the times and call the column 'step'"
        )
    if nearest.max() >= min(MAX_VALUES, len(nearest) / MIN_SHARE_OF_STEPS):
        raise DataError(
            f"{source} has {len(nearest):,} times from {show(clock.first)} to "
            f"{show(moments.max())}, which are {nearest.max() + 1:,.0f} steps of "
            f"{clock.step_text()}: is one of them wrong?"
        )
    return nearest.astype(np.intp)


@dataclass(frozen=True)
class Tabulated:
    """Readings as a table, shape (steps, arms), NaN where there is none.

    ``dropped`` counts repeated readings of equal value, ``averaged`` those that differ from an
    earlier one, and ``conflicts`` are the (step, arm) of which there are different readings.
    """

    values: Array
    dropped: int
    averaged: int
    conflicts: NDArray[np.intp]


def tabulate(
    step: NDArray[np.intp], arm: NDArray[np.intp], value: Array, n_steps: int, n_arms: int
) -> Tabulated:
    """Put readings into a table; different readings of one entry give their mean.

    Readings of arm -1 are left out.
    """
    known = ~np.isnan(value) & (arm >= 0)
    entry = (step * n_arms + arm)[known]
    order = np.argsort(entry, kind="stable")
    entry, value = entry[order], value[known][order]
    table: Array = np.full(n_steps * n_arms, np.nan)
    if not len(entry):
        return Tabulated(table.reshape(n_steps, n_arms), 0, 0, np.zeros((0, 2), dtype=np.intp))
    starts = np.flatnonzero(np.diff(entry, prepend=-1))
    sizes = np.diff(starts, append=len(entry))
    differ = np.maximum.reduceat(value, starts) != np.minimum.reduceat(value, starts)
    # The mean of equal values is the value itself, to the last bit.
    table[entry[starts]] = np.where(
        differ, np.add.reduceat(value / sizes.repeat(sizes), starts), value[starts]
    )
    return Tabulated(
        table.reshape(n_steps, n_arms),
        dropped=int((sizes[~differ] - 1).sum()),
        averaged=int(sizes[differ].sum()),
        conflicts=np.stack(np.divmod(entry[starts][differ], n_arms), axis=1),
    )
