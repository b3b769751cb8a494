"""Times and lengths of time as people write them, and the steps that times belong to.

With a time zone, steps follow the wall clock, so that 09:00 has the same phase of the day in summer
and in winter. Where the clock is set forward a step is skipped; where it is set back, an hour comes
twice and both belong to the same steps. Only if all seasons are of another kind, as the tide's
(shorter than a day, and no part of one), steps follow the elapsed time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from evaluation.errors import UserError

UTC = timezone.utc
DAY = timedelta(days=1)
LONGEST_CHANGE = timedelta(hours=3)  # of a clock that is set forward or back
FIRST_YEAR, LAST_YEAR = 1700, 2200
MAX_DURATION = timedelta(days=36525)
UNITS = {  # months and years have no fixed length in days
    timedelta(seconds=1): ("s", "sec", "secs", "second", "seconds"),
    timedelta(minutes=1): ("m", "min", "mins", "minute", "minutes"),
    timedelta(hours=1): ("h", "hr", "hrs", "hour", "hours"),
    timedelta(days=1): ("d", "day", "days"),
    timedelta(weeks=1): ("w", "week", "weeks"),
}
_DURATION = re.compile(r"(\d{1,10}(?:\.\d{1,9})?)?\s*([a-z]+)", re.ASCII | re.I)


class DeciderError(UserError, ValueError):
    """Input of a decider that the user can correct; nothing has been changed."""


def parse_duration(name: str, value: Any) -> timedelta:
    """Return a length of time from text, or a ``timedelta`` as it is.

    >>> parse_duration("step", "15 min")
    datetime.timedelta(seconds=900)

    Args:
        name: Of the argument, for the message.
        value: As ``"15 min"``, ``"1h"``, ``"1 day"``, ``"week"``, or a ``timedelta``.

    Raises:
        DeciderError: If it is not a length of time, not positive, or more than a century.
    """
    found = value if isinstance(value, timedelta) else None
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is not None:
        units = [unit for unit, words in UNITS.items() if match[2].lower() in words]
        found = float(match[1] or 1) * units[0] if units else None
    if found is None or found != found or not timedelta(0) < found <= MAX_DURATION:
        raise DeciderError(
            f"{name} must be a length of time of at most a century, such as '15 min', '1 hour', "
            f"'1 day', '1 week' or '365 days', got {value!r}"
        )
    return timedelta(seconds=found.total_seconds())  # a pandas Timedelta becomes a plain one


def written(length: timedelta) -> str:
    """Return a length of time in the largest unit that it is a whole number of."""
    for unit, words in reversed(UNITS.items()):
        if not length % unit:
            count = length // unit
            return f"{count} {words[-1] if count > 1 else words[-2]}"
    return f"{length.total_seconds():.6f}".rstrip("0") + " seconds"


@dataclass(frozen=True)
class StepClock:
    """Counter of steps.

    Attributes:
        step: Length of a step.
        zone: Time zone of times without an offset; None for none.
        on_the_wall: Whether steps follow the wall clock of the zone; else the elapsed time.
    """

    step: timedelta
    zone: ZoneInfo | None
    on_the_wall: bool

    @classmethod
    def of(
        cls, step: timedelta, seasons: Iterable[timedelta], timezone_name: str | None
    ) -> StepClock:
        """Return the clock for some seasons."""
        kinds = [season >= DAY or not DAY % season for season in seasons]
        try:
            zone = None if timezone_name is None else ZoneInfo(timezone_name)
        except Exception as error:  # names of folders, long names and odd types fail in many ways
            raise DeciderError(
                f"there is no time zone {timezone_name!r}: give one like 'Europe/Madrid' or 'UTC'"
            ) from error
        return cls(step, zone, any(kinds) or not kinds)

    def moment(self, value: Any) -> datetime:
        """Return a time as a datetime: in the zone if there is one, else without any.

        A time without an offset is one of the zone. One that comes twice, when clocks are set
        back, is the first of the two (or the second, where ``datetime.fold`` is 1); one that never
        comes, when clocks are set forward, is as much later as they are set: 02:30 is 03:30.

        Raises:
            DeciderError: If it is not a time, or has an offset where the decider has no zone.
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
        """Return the present, to the second."""
        return datetime.now(self.zone).replace(microsecond=0)

    def origin(self, start: datetime) -> datetime:
        """Return the start of counting: the midnight before, of a Monday for weeks."""
        first = datetime.combine(self._plain(start).date(), datetime.min.time())
        return first - first.weekday() * DAY if self.step > DAY else first

    def count(self, moment: datetime, origin: datetime) -> int:
        """Return the number of the step that a moment lies in."""
        return (self._plain(moment) - origin) // self.step

    def steps_from(self, moment: datetime, origin: datetime, steps: int) -> list[datetime]:
        """Return the beginnings of some steps in the order of time, from the moment's on."""
        first = self.count(moment, origin)
        spare = math.ceil(LONGEST_CHANGE / self.step)
        walls = [origin + k * self.step for k in range(first, first + steps + spare + 1)]
        found = sorted((m for wall in walls for m in self._beginnings(wall)), key=_instant)
        instant = _instant(moment)
        return [begin for begin in found if _instant(begin) + self.step > instant][:steps]

    def _plain(self, moment: datetime) -> datetime:
        """Return the wall clock, or the elapsed time, without a zone."""
        if self.zone is not None and not self.on_the_wall:
            moment = moment.astimezone(UTC)
        return moment.replace(tzinfo=None)

    def _beginnings(self, plain: datetime) -> list[datetime]:
        """Return the beginnings of a step: one, none (it is skipped), or two."""
        if self.zone is None:
            return [plain]
        if not self.on_the_wall:
            return [plain.replace(tzinfo=UTC).astimezone(self.zone)]
        first = self.moment(plain)
        if first.replace(tzinfo=None, fold=0) >= plain + self.step:
            return []
        again = self.moment(plain.replace(fold=1))
        return [first, again] if _instant(again) - _instant(first) >= self.step else [first]


def _instant(moment: datetime) -> datetime:
    """Return the moment in UTC: datetimes of one zone would compare by their wall clock."""
    return moment if moment.tzinfo is None else moment.astimezone(UTC)


def _parsed(value: Any) -> datetime:
    found = value
    if hasattr(value, "to_pydatetime"):  # a pandas Timestamp, whose nanoseconds do not matter
        found = value.to_pydatetime(warn=False) if value == value else None
    elif type(value).__module__ == "numpy" and hasattr(value, "astype"):
        found = value.astype("datetime64[us]").item()
    try:
        if isinstance(found, str):
            text = found.strip()
            found = datetime.fromisoformat(f"{text[:-1]}+00:00" if text[-1:] in "Zz" else text)
        elif isinstance(found, date) and not isinstance(found, datetime):
            found = datetime.combine(found, datetime.min.time())
        if isinstance(found, datetime) and FIRST_YEAR <= found.year <= LAST_YEAR:
            return found
    except ValueError:
        pass
    raise DeciderError(
        f"a time is written like '2026-11-16 09:00' (from {FIRST_YEAR} to {LAST_YEAR}), or is "
        f"a datetime, got {value!r}"
    )
