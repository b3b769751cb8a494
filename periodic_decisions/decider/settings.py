"""Settings of a decider, and checks of its times, lengths of time, arms and rewards.

With a time zone, steps follow the wall clock, so that 09:00 has the same phase of the day in summer
and in winter. Steps are skipped when the clock is set forward, and repeated when it is set back.
If all seasons are shorter than a day and none of them divides a day (for example, a tidal cycle of
12.4 hours), steps are measured in elapsed time instead.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from agents.base import MAX_REWARD
from evaluation.errors import UserError

OBJECTIVES = {"max": 1.0, "min": -1.0}
MAX_ARMS = 1_000
MAX_NAME_LETTERS = 200
MAX_REMEMBERED = 1_000_000
DEFAULT_REMEMBERED = 20_000
UTC = timezone.utc
DAY = timedelta(days=1)
LONGEST_CHANGE = timedelta(hours=3)  # upper bound on the size of a clock change
FIRST_YEAR, LAST_YEAR = 1700, 2200
MAX_DURATION = timedelta(days=36525)  # a century
UNITS = {  # without months and years, whose lengths in days vary
    timedelta(seconds=1): ("s", "sec", "secs", "second", "seconds"),
    timedelta(minutes=1): ("m", "min", "mins", "minute", "minutes"),
    timedelta(hours=1): ("h", "hr", "hrs", "hour", "hours"),
    timedelta(days=1): ("d", "day", "days"),
    timedelta(weeks=1): ("w", "week", "weeks"),
}
_DURATION = re.compile(r"(\d{1,10}(?:\.\d{1,9})?)?\s*([a-z]+)", re.ASCII | re.I)


class DeciderError(UserError, ValueError):
    """Raised if a decider cannot do what was requested; its state is then unchanged."""


def parse_duration(name: str, value: Any) -> timedelta:
    """Return a length of time as a ``timedelta``.

    >>> parse_duration("step", "15 min")
    datetime.timedelta(seconds=900)

    Args:
        name: Name of the argument, for error messages.
        value: Length of time: a ``timedelta``, or text such as ``"15 min"``, ``"1h"``, ``"1 day"``
            or ``"week"``.

    Raises:
        DeciderError: If the value is not a length of time, is not positive, or exceeds a century.
    """
    length = value if isinstance(value, timedelta) else None
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is not None:
        units = [unit for unit, words in UNITS.items() if match[2].lower() in words]
        length = float(match[1] or 1) * units[0] if units else None
    if length is None or length != length or not timedelta(0) < length <= MAX_DURATION:
        raise DeciderError(
            "invalid-duration",
            f"{name} must be a length of time of at most a century, such as '15 min', '1 hour', "
            f"'1 day', '1 week' or '365 days', got {value!r}",
        )
    return timedelta(seconds=length.total_seconds())  # converts a pandas Timedelta


def duration_text(length: timedelta) -> str:
    """Return a length of time as text, in the largest unit of which it is a multiple."""
    for unit, words in reversed(UNITS.items()):
        if not length % unit:
            count = length // unit
            return f"{count} {words[-1] if count > 1 else words[-2]}"
    return f"{length.total_seconds():.6f}".rstrip("0") + " seconds"


@dataclass(frozen=True)
class StepClock:
    """Clock that counts steps.

    Attributes:
        step: Length of a step.
        zone: Time zone of times without an offset, or None.
        on_the_wall: True if steps follow the wall clock of the zone, false if steps are measured in
            elapsed time.
    """

    step: timedelta
    zone: ZoneInfo | None
    on_the_wall: bool

    @classmethod
    def of(
        cls, step: timedelta, seasons: Iterable[timedelta], timezone_name: str | None
    ) -> StepClock:
        """Return the clock for the length of a step, the seasons, and the name of a time zone."""
        kinds = [season >= DAY or not DAY % season for season in seasons]
        try:
            zone = None if timezone_name is None else ZoneInfo(timezone_name)
        except Exception as error:  # folders, long names and unexpected types raise various errors
            raise DeciderError(
                "unknown-timezone",
                f"unknown timezone {timezone_name!r}: expected a name such as 'Europe/Madrid' or "
                "'UTC'",
            ) from error
        return cls(step, zone, any(kinds) or not kinds)

    def moment(self, value: Any) -> datetime:
        """Return a time as a datetime in the zone of the clock.

        If the zone is None, the datetime has no zone. A time without an offset is interpreted in
        the zone. If a time occurs twice because clocks are set back, the result is the first of the
        two moments (the second if ``datetime.fold`` is 1). If a time does not occur because clocks
        are set forward, the result is shifted by the change: 02:30 becomes 03:30.

        Raises:
            DeciderError: If the value is not a time, or has an offset although the zone is None.
        """
        time = _parsed(value)
        if self.zone is None:
            if time.tzinfo is not None:
                raise DeciderError(
                    "missing-timezone",
                    f"{value!s} has an offset, but the decider has no time zone: create it with "
                    "timezone=..., such as 'Europe/Madrid', or use times without an offset",
                )
            return time
        aware = time if time.tzinfo is not None else time.replace(tzinfo=self.zone)
        return aware.astimezone(UTC).astimezone(self.zone)

    def origin(self, start: datetime) -> datetime:
        """Return the origin of the steps: the midnight before the start.

        If a step is longer than a day, the origin is the midnight at which the week begins.
        """
        first = datetime.combine(self._plain(start).date(), datetime.min.time())
        return first - first.weekday() * DAY if self.step > DAY else first

    def count(self, moment: datetime, origin: datetime) -> int:
        """Return the number of the step that contains a moment."""
        return (self._plain(moment) - origin) // self.step

    def steps_from(self, moment: datetime, origin: datetime, steps: int) -> list[datetime]:
        """Return the start times of ``steps`` consecutive steps.

        The first step is the step that contains ``moment``.
        """
        first = self.count(moment, origin)
        spare = math.ceil(LONGEST_CHANGE / self.step)
        walls = [origin + k * self.step for k in range(first, first + steps + spare + 1)]
        begins = sorted((m for wall in walls for m in self._beginnings(wall)), key=_instant)
        instant = _instant(moment)
        return [begin for begin in begins if _instant(begin) + self.step > instant][:steps]

    def _plain(self, moment: datetime) -> datetime:
        """Return a datetime without its time zone.

        The result is in UTC if steps are measured in elapsed time, otherwise a wall-clock time.
        """
        if self.zone is not None and not self.on_the_wall:
            moment = moment.astimezone(UTC)
        return moment.replace(tzinfo=None)

    def _beginnings(self, plain: datetime) -> list[datetime]:
        """Return the moments at which a step begins, given its start time without a zone.

        The list is empty if a clock change skips the step, and has two moments if a clock change
        repeats the step.
        """
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
    """Return a moment in UTC, since Python compares times in the same zone by the wall clock."""
    return moment if moment.tzinfo is None else moment.astimezone(UTC)


def _parsed(value: Any) -> datetime:
    time = value
    if hasattr(value, "to_pydatetime"):  # a pandas Timestamp; nanoseconds are dropped
        time = value.to_pydatetime(warn=False) if value == value else None
    elif type(value).__module__ == "numpy" and hasattr(value, "astype"):
        time = value.astype("datetime64[us]").item()
    try:
        if isinstance(time, str):
            text = time.strip()
            time = datetime.fromisoformat(f"{text[:-1]}+00:00" if text[-1:] in "Zz" else text)
        elif isinstance(time, date) and not isinstance(time, datetime):
            time = datetime.combine(time, datetime.min.time())
        if isinstance(time, datetime) and FIRST_YEAR <= time.year <= LAST_YEAR:
            return time
    except ValueError:
        pass
    raise DeciderError(
        "invalid-time",
        f"a time must be a datetime or text such as '2026-11-16 09:00', in the years {FIRST_YEAR} "
        f"to {LAST_YEAR}, got {value!r}",
    )


@dataclass(frozen=True)
class Settings:
    """Fixed settings of a decider, as plain values.

    Attributes:
        step: Length of a step, as text.
        seasons: Lengths of the seasons, as text, the main season first.
        agent: Name of the agent, with its settings.
        timezone: Time zone of times without an offset, or None.
        objective: "max" or "min".
        explore: Share of choices that are made at random.
        remember: Maximum number of stored choices, and of stored rewards.
        seed: Seed of all random numbers.
    """

    step: str
    seasons: tuple[str, ...]
    agent: str
    timezone: str | None
    objective: str
    explore: float
    remember: int
    seed: int

    @classmethod
    def checked(cls, *, step: Any, seasons: Any, **others: Any) -> Settings:
        """Return validated settings from a user's values, or raise a ``DeciderError``."""
        if isinstance(seasons, str | timedelta) or not isinstance(seasons, Iterable):
            raise DeciderError(
                "not-a-list", f"seasons must be a list such as ['1 day', '1 week'], got {seasons}"
            )
        length = parse_duration("step", step)
        lengths = [parse_duration("a season", season) for season in seasons]
        for season in lengths:
            if season <= length:
                raise DeciderError(
                    "season-too-short",
                    "a season must be longer than the step, got a season of "
                    f"{duration_text(season)} and a step of {duration_text(length)}",
                )
        made = cls(duration_text(length), tuple(map(duration_text, lengths)), **others)
        if made.objective not in OBJECTIVES:
            raise DeciderError(
                "invalid-option", f"objective must be 'max' or 'min', got {made.objective!r}"
            )
        if not (isinstance(made.explore, int | float) and 0 <= made.explore <= 1):
            raise DeciderError(
                "out-of-range", f"explore must be a number in [0, 1], got {made.explore!r}"
            )
        check_whole("remember", made.remember, 1, MAX_REMEMBERED)
        check_whole("seed", made.seed, 0, 2**63 - 1)
        _ = made.clock  # raises an error for an unknown zone
        return made

    @cached_property
    def clock(self) -> StepClock:
        """Clock that counts the steps."""
        seasons = [parse_duration("a season", season) for season in self.seasons]
        return StepClock.of(parse_duration("step", self.step), seasons, self.timezone)

    @property
    def periods(self) -> tuple[float, ...]:
        """Lengths of the seasons in steps."""
        return tuple(parse_duration("a season", s) / self.clock.step for s in self.seasons)

    @property
    def sign(self) -> float:
        """Factor that converts the user's rewards to values to maximise: -1 for costs."""
        return OBJECTIVES[self.objective]


def check_whole(name: str, value: Any, least: int, most: int) -> None:
    """Raise an error unless the value is a whole number in a range."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise DeciderError(
            "out-of-range",
            f"{name} must be a whole number from {least:,} to {most:,}, got {value!r}",
        )


def checked_arms(arms: Any) -> list[str]:
    """Return the names of the arms, or raise a ``DeciderError`` if they are invalid."""
    if isinstance(arms, str) or not isinstance(arms, Iterable):
        raise DeciderError("invalid-arms", f"arms must be a list of names, got {arms!r}")
    names = [checked_arm(arm) for arm in arms]
    if len(set(names)) < len(names) or not 2 <= len(names) <= MAX_ARMS:
        raise DeciderError(
            "invalid-arms",
            f"arms must be 2 to {MAX_ARMS:,} different names, got {len(names)} "
            f"({len(set(names))} different)",
        )
    return names


def checked_arm(name: Any) -> str:
    """Return the name of an arm, or raise a ``DeciderError`` if it is invalid."""
    if not isinstance(name, str) or name != " ".join(name.split()) or not name.isprintable():
        raise DeciderError(
            "invalid-name",
            "the name of an arm must be printable text without leading, trailing or repeated "
            f"spaces, got {name!r}",
        )
    if not 1 <= len(name) <= MAX_NAME_LETTERS:
        raise DeciderError(
            "invalid-name",
            f"the name of an arm must have 1 to {MAX_NAME_LETTERS} characters, got {len(name)}",
        )
    return name


def checked_reward(reward: Any) -> float:
    """Return a reward as a number, or raise a ``DeciderError`` if it is invalid."""
    try:
        value = math.nan if isinstance(reward, str | bytes | bool) else float(reward)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not abs(value) <= MAX_REWARD:
        raise DeciderError(
            "invalid-reward",
            f"a reward must be a finite number of at most {MAX_REWARD:g} in magnitude, got "
            f"{reward!r}",
        )
    return value
