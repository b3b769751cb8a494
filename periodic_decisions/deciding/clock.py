"""Moments as people write them, and the steps that they belong to.

With a time zone, steps are counted on the clock on the wall, so that 09:00 has the same phase of
the day in summer and in winter. Where the clock is set forward a step is left out; where it is set
back, an hour comes twice and both belong to the same steps. Only if all seasons are of another
kind, as the tide's (shorter than a day, and no part of one), steps count the time that has passed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from periodic_decisions.deciding.errors import DeciderError

UTC = timezone.utc
DAY = timedelta(days=1)
LONGEST_CHANGE = timedelta(hours=3)
"""By which a clock is set forward or back."""
FIRST_YEAR, LAST_YEAR = 1700, 2200


@dataclass(frozen=True)
class Clock:
    """Counts steps.

    Attributes:
        step: Their length.
        zone: The time zone of times without an offset; None if there is none.
        on_the_wall: Whether steps follow the wall clock of the zone; else time that has passed.
    """

    step: timedelta
    zone: ZoneInfo | None
    on_the_wall: bool

    @classmethod
    def of(cls, step: timedelta, seasons: Iterable[timedelta], timezone_name: str | None) -> Clock:
        """The clock for some seasons."""
        kinds = [season >= DAY or not DAY % season for season in seasons]
        return cls(step, zone_named(timezone_name), any(kinds) or not kinds)

    def moment(self, value: Any) -> datetime:
        """A time as a datetime: in the zone if there is one, else without any.

        A time without an offset is one of the zone. One that comes twice, when clocks are set
        back, is the first of the two (or the second, where ``datetime.fold`` is 1); one that never
        comes, when clocks are set forward, is as much later as they are set: 02:30 is 03:30.

        Raises:
            DeciderError: If it is no time, or has an offset where the decider has no zone.
        """
        found = _parsed(value)
        if self.zone is None:
            if found.tzinfo is not None:
                raise DeciderError(
                    f"{value!s} has an offset, but the decider knows no time zone: make it with "
                    "timezone='Europe/Madrid', say, or give times without an offset"
                )
            return found
        aware = found if found.tzinfo is not None else found.replace(tzinfo=self.zone)
        return aware.astimezone(UTC).astimezone(self.zone)

    def now(self) -> datetime:
        """The present, to the second."""
        return datetime.now(self.zone).replace(microsecond=0)

    def origin(self, start: datetime) -> datetime:
        """Where steps are counted from: the midnight before the start; of a Monday for weeks."""
        first = datetime.combine(self._plain(start).date(), datetime.min.time())
        return first - first.weekday() * DAY if self.step > DAY else first

    def count(self, moment: datetime, origin: datetime) -> int:
        """The number of the step that a moment lies in."""
        return (self._plain(moment) - origin) // self.step

    def steps_from(self, moment: datetime, origin: datetime, steps: int) -> list[datetime]:
        """The beginnings of some steps in the order of time, the first that of the moment's."""
        first = self.count(moment, origin)
        spare = math.ceil(LONGEST_CHANGE / self.step)
        walls = [origin + k * self.step for k in range(first, first + steps + spare + 1)]
        found = sorted((m for wall in walls for m in self._beginnings(wall)), key=_instant)
        instant = _instant(moment)
        return [begin for begin in found if _instant(begin) + self.step > instant][:steps]

    def _plain(self, moment: datetime) -> datetime:
        """What is counted: the wall clock, or the time that has passed."""
        if self.zone is not None and not self.on_the_wall:
            moment = moment.astimezone(UTC)
        return moment.replace(tzinfo=None)

    def _beginnings(self, plain: datetime) -> list[datetime]:
        """When a step begins: once, never (it is left out), or twice."""
        if self.zone is None:
            return [plain]
        if not self.on_the_wall:
            return [plain.replace(tzinfo=UTC).astimezone(self.zone)]
        first = self.moment(plain)
        if first.replace(tzinfo=None, fold=0) >= plain + self.step:
            return []
        again = self.moment(plain.replace(fold=1))
        change = _instant(again) - _instant(first)
        return [first, again] if change >= self.step else [first]


def zone_named(name: str | None) -> ZoneInfo | None:
    """A time zone, or None.

    Raises:
        DeciderError: If there is no zone of that name.
    """
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except Exception as error:  # the names of folders, long names and odd types fail in many ways
        raise DeciderError(
            f"there is no time zone {name!r}: give one like 'Europe/Madrid' or 'UTC'"
        ) from error


def _instant(moment: datetime) -> datetime:
    """To be compared: datetimes of one zone are compared by their wall clock otherwise."""
    return moment if moment.tzinfo is None else moment.astimezone(UTC)


def _parsed(value: Any) -> datetime:
    if hasattr(value, "to_pydatetime"):  # a pandas Timestamp, whose nanoseconds do not matter
        value = value.to_pydatetime(warn=False) if value == value else None
    elif type(value).__module__ == "numpy" and hasattr(value, "astype"):
        value = value.astype("datetime64[us]").item()
    try:
        if isinstance(value, str):
            text = value.strip()
            found = datetime.fromisoformat(f"{text[:-1]}+00:00" if text[-1:] in "Zz" else text)
        elif isinstance(value, datetime):
            found = value
        elif isinstance(value, date):
            found = datetime.combine(value, datetime.min.time())
        else:
            raise ValueError
        if not FIRST_YEAR <= found.year <= LAST_YEAR:
            raise ValueError
    except ValueError:
        raise DeciderError(
            f"a time is written like '2026-11-16 09:00' (from {FIRST_YEAR} to {LAST_YEAR}), or is "
            f"a datetime, got {value!r}"
        ) from None
    return found
