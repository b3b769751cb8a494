"""What worlds that replay whole days are asked for: the first day, how many, which arms."""

from __future__ import annotations

import datetime
from collections.abc import Collection
from typing import Any

import numpy as np

from periodic_envs import checks
from periodic_envs.data.errors import DataError


def parse_day(name: str, value: Any) -> datetime.date:
    """A day given as a date or as "2018-03-03"."""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date()
    try:
        if not isinstance(value, str | datetime.date):
            raise ValueError
        day = datetime.date.fromisoformat(str(value))
        if not 1990 <= day.year < 2100:
            raise ValueError
        return day
    except ValueError:
        raise DataError(f"{name} must be a day like '2018-03-03', got {value!r}") from None


def describe(start: datetime.date, days: int) -> str:
    """A window in words."""
    last = start + datetime.timedelta(days=days - 1)
    return f"{start} to {last}"


def check_days(days: Any, warm_start_days: Any) -> None:
    """Whether a window has days, and some of them to decide on."""
    checks.whole("days", days, 1, 3660)
    checks.whole("warm_start_days", warm_start_days, 0)
    if days <= warm_start_days:
        raise DataError(
            f"days must be more than warm_start_days, which is {warm_start_days}, got {days}"
        )


def check_arms(
    name: str, chosen: Any, known: Collection[Any], *, kinds: tuple[type, ...], one: str, many: str
) -> None:
    """Whether an argument names at least two different arms out of those that there are.

    Args:
        name: The argument: "stations".
        chosen: What was given for it; None for the world's own choice.
        known: All arms that may be named.
        kinds: Types of their names: 4.0 is no station, though it equals one.
        one: What an arm is called, for messages: "station".
        many: What their names are called: "station numbers".
    """
    if chosen is None:
        return
    listed = list(chosen) if isinstance(chosen, list | tuple | np.ndarray) else []
    unknown = [arm for arm in listed if not isinstance(arm, kinds) or arm not in known]
    if unknown or len(listed) < 2 or len(set(listed)) < len(listed):
        wrong = f"; there is no {one} {unknown[0]!r}" if unknown else ""
        raise DataError(
            f"{name} must be a list of at least two different {many} out of "
            f"{', '.join(map(str, known))}, got {chosen!r}{wrong}"
        )
