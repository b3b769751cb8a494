"""Lengths of time as people write them: 15 min, 1h, 1 day, 2 weeks."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from periodic_decisions.deciding.errors import DeciderError

UNITS = {
    timedelta(seconds=1): ("s", "sec", "secs", "second", "seconds"),
    timedelta(minutes=1): ("m", "min", "mins", "minute", "minutes"),
    timedelta(hours=1): ("h", "hr", "hrs", "hour", "hours"),
    timedelta(days=1): ("d", "day", "days"),
    timedelta(weeks=1): ("w", "week", "weeks"),
}
"""A month and a year have no fixed length in days, and are not among them."""
MAX_DURATION = timedelta(days=36525)
_WRITTEN = re.compile(r"(\d{1,10}(?:\.\d{1,9})?)?\s*([a-z]+)", re.ASCII | re.I)


def parse_duration(name: str, value: Any) -> timedelta:
    """A length of time from text, or a ``timedelta`` as it is.

    >>> parse_duration("step", "15 min")
    datetime.timedelta(seconds=900)

    Args:
        name: Of the argument, for the message.
        value: As ``"15 min"``, ``"1h"``, ``"1 day"``, ``"week"``, or a ``timedelta``.

    Raises:
        DeciderError: If it is no length of time, or not positive, or more than a century.
    """
    found = value if isinstance(value, timedelta) else _from_text(value)
    if found is None or found != found or not timedelta(0) < found <= MAX_DURATION:
        raise DeciderError(
            f"{name} must be a length of time of at most a century, such as '15 min', '1 hour', "
            f"'1 day', '1 week' or '365 days', got {value!r}"
        )
    return timedelta(seconds=found.total_seconds())  # a pandas Timedelta becomes a plain one


def _from_text(value: Any) -> timedelta | None:
    match = _WRITTEN.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    units = [unit for unit, words in UNITS.items() if match[2].lower() in words]
    return float(match[1] or 1) * units[0] if units else None


def written(length: timedelta) -> str:
    """A length of time in the largest unit that it is a whole number of."""
    for unit, words in reversed(UNITS.items()):
        if not length % unit:
            count = length // unit
            return f"{count} {words[-1] if count > 1 else words[-2]}"
    return f"{length.total_seconds():.6f}".rstrip("0") + " seconds"
