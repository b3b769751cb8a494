"""Assignment of the steps of a table to seasons and to slots, the phases of a season.

If times are dates, slots follow the calendar: seasons begin at midnight, on Monday or in January,
not at the beginning of the data. Otherwise slots are the steps of the season, counted from the
beginning of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from periodic_decisions.tables.series import TimeGrid
from periodic_envs.arrays import Array

HOUR, DAY, WEEK = pd.Timedelta("1h"), pd.Timedelta("1D"), pd.Timedelta("7D")
YEARS = (pd.Timedelta("365D"), pd.Timedelta("365.25D"))  # common year, and mean length of a year
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
STEP = "step"  # group of all slots that do not follow the calendar

Index = NDArray[np.intp]


def phase_index(n_steps: int, period: float) -> tuple[Index, Index, int]:
    """Return the season and the bin of each step, and the number of bins in a season.

    A bin is a phase of about one step.
    """
    bins = max(2, round(period))
    # Round-off must not move a step into the previous season or phase.
    cycles = np.arange(n_steps) / period
    season = np.floor(cycles + 1e-9)
    phase = np.floor((cycles - season + 1e-9) * bins)
    return season.astype(np.intp), np.clip(phase, 0, bins - 1).astype(np.intp), bins


def by_slot(values: Array, season: Index, slot: Index, n_slots: int) -> tuple[Array, Array]:
    """Return sums and counts of the values that are not NaN, shape (seasons, slots, arms) each."""
    seasons, arms = int(season.max()) + 1, values.shape[1]
    place, size = season * n_slots + slot, seasons * n_slots
    sums, counts = np.zeros((2, arms, size))
    for arm, column in enumerate(np.ascontiguousarray(values.T)):
        known = ~np.isnan(column)
        sums[arm] = np.bincount(place[known], column[known], size)
        counts[arm] = np.bincount(place[known], minlength=size)
    shape = (seasons, n_slots, arms)
    return sums.T.copy().reshape(shape), counts.T.copy().reshape(shape)


def without_gaps(values: Array) -> Array:
    """Return the values with gaps filled by linear interpolation."""
    steps = np.arange(len(values))
    known = [np.flatnonzero(~np.isnan(column)) for column in values.T]
    pairs = zip(values.T, known, strict=True)
    return np.stack([np.interp(steps, k, column[k]) for column, k in pairs], axis=1)


@dataclass(frozen=True, eq=False)
class Slots:
    """Slot of every step, and names of the slots.

    Attributes:
        season: Season of each step, from 0.
        slot: Slot of each step within its season.
        groups: Weekday or month that contains each slot, ``STEP`` if slots do not follow the
            calendar, or "" if slots have no group.
        starts: Start of each slot within its group, such as "09:00" or "Mon".
        ends: End of each slot within its group: exclusive for times ("10:00" for a slot that begins
            at "09:00"), inclusive for days ("Mon" for the slot "Mon").
        what: Description of the slots, such as "hour of the day".
        pools: Number of the pool of each slot; None without pools. Slots of the same pool, such as
            nine o'clock on all working days, share an arm unless the data favour separate arms.
    """

    season: Index
    slot: Index
    groups: tuple[str, ...]
    starts: tuple[str, ...]
    ends: tuple[str, ...]
    what: str
    pools: Index | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def label(self, slot: int) -> str:
        """Return the group and the start of a slot, such as "Mon 09:00"."""
        return f"{self.groups[slot]} {self.starts[slot]}".strip()

    def span(self, first: int, last: int, groups: str | None = None) -> str:
        """Return the name of consecutive slots, such as "Mon 09:00-12:00".

        Args:
            first: First slot.
            last: Last slot, in the same group.
            groups: Text to use instead of the name of the group, such as "Mon-Fri".
        """
        group = self.groups[first] if groups is None else groups
        start, end = self.starts[first], self.ends[last]
        return f"{group} {start if start == end else f'{start}-{end}'}".strip()


def calendar_periods(grid: TimeGrid | None) -> tuple[float, ...]:
    """Return the calendar periods in steps, whole numbers first.

    The result is () if times are not dates.
    """
    if grid is None or not isinstance(grid.step, pd.Timedelta):
        return ()
    lengths = [length / grid.step for length in (HOUR, DAY, WEEK)]
    whole = [length for length in lengths if length.is_integer()]
    lengths_in_steps = [*whole, float(round(YEARS[0] / grid.step)), YEARS[1] / grid.step]
    return tuple(length for length in dict.fromkeys(lengths_in_steps) if length >= 2.0)


def slot_choices(
    grid: TimeGrid | None, n_steps: int, period: float, *, joint: bool = False
) -> list[Slots]:
    """Return one or more ways to divide a season into slots.

    Args:
        grid: Times of the data; None if the times are unknown.
        n_steps: Number of steps.
        period: Length of the season in steps.
        joint: True to also divide the months of a year by weekday and by hour.
    """
    if grid is not None and isinstance(grid.step, pd.Timedelta) and grid.step <= WEEK:
        times, step = grid.times(n_steps), grid.step
        if abs(period * (step / DAY) - YEARS[1] / DAY) <= max(0.3, step / DAY / 2):
            return _years(times, step, joint=joint)
        whole = not DAY % step if step < DAY else step == DAY
        days = period * (step / DAY)
        if whole and days in (1.0, 7.0):
            units = [step, HOUR] if step < HOUR else [step]
            return [_days(times, unit, weekly=days == 7.0) for unit in units]
    season, phase, bins = phase_index(n_steps, period)
    names = tuple(map(str, range(bins)))
    return [Slots(season, phase, (STEP,) * bins, names, names, "step of the season")]


def _days(times: Any, unit: Any, *, weekly: bool) -> Slots:
    """Return the division of a day into units of time or, if ``weekly``, of a week."""
    names, within = _times_of_day(times, unit)
    day = np.asarray((times.normalize() - times[0].normalize()) // DAY, dtype=np.intp)
    if not weekly:
        return _slots(day, within, [("", names)], "time of the day")
    monday = day - times.day_of_week.to_numpy()
    week = (monday - monday[0]) // 7
    if unit == DAY:
        return _slots(week, _weekday(times), [("", _names(WEEKDAYS))], "day of the week")
    slot = _weekday(times) * len(names) + within
    slots = _slots(week, slot, [(day, names) for day in WEEKDAYS], "time of the week")
    weekend = np.repeat([0, 0, 0, 0, 0, 1, 1], len(names)) * len(names)
    return replace(slots, pools=weekend + np.tile(np.arange(len(names)), 7))


def _years(times: Any, step: Any, *, joint: bool) -> list[Slots]:
    """Return divisions of a year into slots.

    The first division is by month. If ``joint``, and if steps are short enough, the others are by
    month and weekday, and by month and hour of the day.
    """
    year, month = times.year.to_numpy(), times.month.to_numpy() - 1
    choices = [_slots(year, month, [("", _names(MONTHS))], "month")]
    if joint and step <= DAY:
        slot = month * 7 + _weekday(times)
        named = [(name, _names(WEEKDAYS)) for name in MONTHS]
        choices.append(_slots(year, slot, named, "weekday of the month"))
    if joint and step <= HOUR and not HOUR % step:
        slot = month * 24 + times.hour.to_numpy()
        hours = [(f"{h:02}:00", f"{h + 1:02}:00") for h in range(24)]
        named = [(name, hours) for name in MONTHS]
        choices.append(_slots(year, slot, named, "hour of the day in each month"))
    return choices


def _slots(
    season: Any, slot: Any, named: Sequence[tuple[str, list[tuple[str, str]]]], what: str
) -> Slots:
    rows = [(group, start, end) for group, names in named for start, end in names]
    groups, starts, ends = zip(*rows, strict=True)
    dense = np.asarray(season - np.min(season), dtype=np.intp)
    return Slots(dense, np.asarray(slot, dtype=np.intp), groups, starts, ends, what)


def _times_of_day(times: Any, unit: Any) -> tuple[list[tuple[str, str]], Index]:
    """Return the start and end of each unit of a day as text, and the unit of each time."""
    of_day = times - times.normalize()
    rests = (of_day % unit).unique()
    first = rests[0] if len(rests) == 1 else pd.Timedelta(0)  # 0 if a unit has several steps
    edges = [first + i * unit for i in range(round(DAY / unit) + 1)]
    names = [_clock_text(edge) for edge in edges]
    names[-1] = "24:00" if first == pd.Timedelta(0) else names[-1]
    within = np.asarray((of_day - first) // unit, dtype=np.intp)
    return list(pairwise(names)), within


def _clock_text(of_day: pd.Timedelta) -> str:
    seconds = round(of_day / pd.Timedelta("1s")) % 86_400
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}"
    return text + (f":{seconds % 60:02}" if seconds % 60 else "")


def _names(words: Sequence[str]) -> list[tuple[str, str]]:
    return [(word, word) for word in words]


def _weekday(times: Any) -> Index:
    return np.asarray(times.day_of_week, dtype=np.intp)
