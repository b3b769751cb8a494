"""Base classes of worlds that replay data, with functions that check arguments and fill gaps."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError
from periodic_envs.draws import Draws, OtherDraws
from periodic_envs.process import Origin, PublicInfo, WarmStart
from periodic_envs.world import World

OBJECTIVES = ("max", "min")
POLICIES = ("error", "hold", "interpolate")
"""Ways to treat gaps in the data."""
MAX_MISSING = 0.5
"""Largest share of the steps of an arm that may be missing and filled."""


def parse_day(name: str, value: Any) -> datetime.date:
    """Return a day that is given as a date or as text such as "2018-03-03"."""
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
        raise DataError(
            "not-a-day",
            f"{name} must be a day from 1990 to 2099 such as '2018-03-03', got {value!r}",
        ) from None


def describe(start: datetime.date, days: int) -> str:
    """Return the first and the last day of a window as text."""
    last = start + datetime.timedelta(days=days - 1)
    return f"{start} to {last}"


def check_window(
    start: Any, days: Any, warm_start_days: Any, *, objective: Any, period_hours: Any
) -> None:
    """Raise an error unless the arguments of a world that replays whole days are valid.

    A ``start`` of None is accepted.
    """
    if start is not None:
        parse_day("start", start)
    checks.whole("days", days, 1, 3660)
    checks.whole("warm_start_days", warm_start_days, 0)
    if days <= warm_start_days:
        raise DataError(
            "too-few-steps",
            f"days must be greater than warm_start_days, which is {warm_start_days}, got {days}",
        )
    checks.one_of("objective", objective, OBJECTIVES)
    checks.positive("period_hours", period_hours)


def check_arms(
    name: str, chosen: Any, known: Collection[Any], *, kinds: tuple[type, ...], one: str, many: str
) -> None:
    """Raise a DataError unless an argument is None or lists at least two different known arms.

    Args:
        name: Name of the argument, such as "stations".
        chosen: Value of the argument; None lets the world choose.
        known: All arms that may be listed.
        kinds: Allowed types of an arm. For example, the float 4.0 is not accepted as a station
            number, although it equals 4.
        one: Noun for one arm in messages, such as "station".
        many: Noun for names of several arms in messages, such as "station numbers".
    """
    if chosen is None:
        return
    listed = list(chosen) if isinstance(chosen, list | tuple | np.ndarray) else []
    unknown = [arm for arm in listed if not isinstance(arm, kinds) or arm not in known]
    if unknown or len(listed) < 2 or len(set(listed)) < len(listed):
        wrong = f"; {one} {unknown[0]!r} is unknown" if unknown else ""
        raise DataError(
            "unknown-arm" if unknown else "invalid-arms",
            f"{name} must be a list of at least two different {many} (choose from: "
            f"{', '.join(map(str, known))}), got {chosen!r}{wrong}",
        )


def rewards_of(values: Array, objective: str) -> Array:
    """Return measurements as rewards: unchanged for "max", their negatives for "min"."""
    checks.one_of("objective", objective, OBJECTIVES)
    return values.copy() if objective == "max" else 0.0 - values


def fill_gaps(values: Array, names: Sequence[str], *, policy: str, what: str) -> Array:
    """Return the values with gaps filled separately in each column.

    Args:
        values: Values, shape (steps, arms), in which NaN marks missing values.
        names: Names of the columns, for messages.
        policy: "interpolate" (a straight line between the values before and after a gap, and the
            nearest value at both ends), "hold" (the last value before a gap, and the first value at
            the start), or "error" (no gap is accepted).
        what: Description of the table for messages, such as "2018-03-03 to 2018-03-12".

    Raises:
        DataError: If the policy is "error" and a value is missing, or if more than ``MAX_MISSING``
            of a column is missing.
    """
    checks.one_of("missing", policy, POLICIES)
    missing = np.isnan(values)
    limit = 0.0 if policy == "error" else MAX_MISSING
    share = missing.mean(0)
    if (share > limit).any():
        worst = [f"{names[i]} ({share[i]:.1%})" for i in np.argsort(-share) if share[i] > limit]
        hint = f", or accept up to {MAX_MISSING:.0%} with missing='interpolate'"
        hint = hint if policy == "error" else ""
        raise DataError(
            "missing-values",
            f"too many values are missing in {what}: {', '.join(worst)}; the limit per arm is "
            f"{limit:.0%} with missing={policy!r}. Leave these arms out, or choose a different "
            f"window{hint}",
        )
    filled: Array = values.copy()
    steps = np.arange(len(values))
    for column in np.flatnonzero(missing.any(0)):
        known = np.flatnonzero(~missing[:, column])
        if policy == "hold":
            before = np.searchsorted(known, steps, side="right") - 1
            filled[:, column] = values[known[np.maximum(before, 0)], column]
        else:
            filled[:, column] = np.interp(steps, known, values[known, column])
    return filled


def replay(rewards: Array, public: PublicInfo, horizon: int) -> Draws:
    """Return the processes that replay rewards of shape (copies, steps, arms).

    The warm start consists of the best action and its reward at each step before the first
    decision.
    """
    copies, first = len(rewards), public.first_step
    past = rewards[:, :first]
    times = np.broadcast_to(np.arange(first), (copies, first))
    return Draws(
        tables=rewards,
        rows=np.arange(first + horizon),
        periods=np.full(copies, public.periods[0]),
        warm_start=WarmStart(times, past.argmax(2), past.max(2)) if first else None,
    )


def fingerprint(rewards: Array, names: Sequence[str]) -> str:
    """Return the SHA-256 hash of rewards and the names of their arms."""
    digest = hashlib.sha256(repr([[str(name) for name in names], rewards.shape]).encode())
    digest.update((rewards + 0.0).astype("<f8").tobytes())  # + 0.0 turns -0.0 into 0.0
    return digest.hexdigest()


class Recording(World):
    """World with fixed rewards of shape (steps, arms)."""

    def __init__(self, rewards: Array, public: PublicInfo, origin: Origin) -> None:
        self.rewards, self._public, self._origin = rewards, public, origin

    @property
    def public(self) -> PublicInfo:
        """Public description of the world."""
        return self._public

    @property
    def origin(self) -> Origin:
        """Origin of the rewards."""
        return self._origin

    def draw_many(self, rngs: Sequence[np.random.Generator], horizon: int) -> Draws:
        """Return a process with the recorded rewards for each generator."""
        shared = np.broadcast_to(self.rewards, (len(rngs), *self.rewards.shape))
        return replay(shared, self.public, horizon)


class DataWorld(World):
    """World that replays the recorded data that its arguments select."""

    @property
    def _recording(self) -> World:
        """Recording of the data that the arguments select; subclasses create and cache it."""
        raise NotImplementedError

    @property
    def public(self) -> PublicInfo:
        """Public description of the world."""
        return self._recording.public

    @property
    def origin(self) -> Origin:
        """Origin of the rewards."""
        origin = self._recording.origin
        assert origin is not None
        return origin

    def draw_many(self, rngs: Sequence[np.random.Generator], horizon: int) -> Draws | OtherDraws:
        """Return a process with the recorded rewards for each generator."""
        return self._recording.draw_many(rngs, horizon)
