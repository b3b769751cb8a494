"""What a decider remembers: its choices, and all that its agent was told."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from periodic_decisions.deciding.clock import UTC
from periodic_decisions.deciding.errors import DeciderError
from periodic_decisions.deciding.learner import ASKED, Event

TOKENS = 2**24
_EPOCH, _TICK = datetime(1970, 1, 1), timedelta(microseconds=1)
_KINDS = {
    "number": np.int64,
    "token": np.int64,
    "time": np.int64,
    "step": np.int64,
    "arm": np.int64,
    "reward": np.float64,
    "probability": np.float64,
}


@dataclass(frozen=True)
class Entry:
    """A choice, as it is logged.

    Attributes:
        number: Counts the choices, from 1.
        token: Drawn for the id, so that a decider from an older file gives other ids.
        moment: When.
        step: The step of that moment.
        arm: Number of the arm among all that there ever were.
        reward: NaN until it is told.
        probability: Of this arm given all that was known; NaN if nobody knows.
    """

    number: int
    token: int
    moment: datetime
    step: int
    arm: int
    probability: float
    reward: float = math.nan

    @property
    def id(self) -> str:
        """How people name it."""
        return f"{self.number}-{self.token:06x}"

    @property
    def is_open(self) -> bool:
        """Whether no reward was told."""
        return math.isnan(self.reward)


class Journal:
    """Choices by their ids, and events in their order; the newest of each.

    Args:
        remember: How many choices and how many events are kept.
    """

    def __init__(self, remember: int) -> None:
        self._remember, self._entries, self._next = remember, dict[str, Entry](), 1
        self.events: list[Event] = []

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def begin(self, moment: datetime, step: int, arm: int, probability: float) -> Entry:
        """Note a choice, and forget the oldest if there are too many."""
        token = secrets.randbelow(TOKENS)
        entry = Entry(self._next, token, moment, step, arm, probability)
        self._entries[entry.id] = entry
        self._next += 1
        while len(self._entries) > self._remember:
            del self._entries[next(iter(self._entries))]
        return entry

    def open_entry(self, choice: Any) -> Entry:
        """The choice of an id, whose reward is not yet told.

        Raises:
            DeciderError: If there is none.
        """
        entry = self._entries.get(choice) if isinstance(choice, str) else None
        if entry is None:
            raise DeciderError(
                f"there is no choice {choice!r}: it was never made here, or it is older than the "
                f"{self._remember:,} choices that are remembered"
            )
        if not entry.is_open:
            raise DeciderError(
                f"the reward of choice {entry.id} was told already: {entry.reward:g}"
            )
        return entry

    def close(self, entry: Entry, reward: float) -> None:
        """Note the reward of a choice."""
        self._entries[entry.id] = replace(entry, reward=reward)

    def is_full(self) -> bool:
        """Whether there are more events than are to be kept."""
        return len(self.events) > self._remember

    def settled(self, more: Iterable[Event], leave: float) -> list[Event]:
        """Rewards alone, in the order of time, and of those the newest.

        Args:
            more: Rewards beside those that are kept.
            leave: Share of what may be kept.
        """
        told = [event for event in (*self.events, *more) if event[1] != ASKED]
        told.sort(key=lambda event: event[0])
        return told[-max(1, int(leave * self._remember)) :]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of it, for a file."""
        rows = [
            (e.number, e.token, _ticks(e.moment), e.step, e.arm, e.reward, e.probability)
            for e in self
        ]
        columns: Sequence[Any] = list(zip(*rows, strict=True)) if rows else [()] * len(_KINDS)
        found = {
            f"choices.{name}": np.array(column, dtype=kind)
            for (name, kind), column in zip(_KINDS.items(), columns, strict=True)
        }
        steps, arms, rewards = zip(*self.events, strict=True) if self.events else ((), (), ())
        found["events.step"] = np.array(steps, dtype=np.int64)
        found["events.arm"] = np.array(arms, dtype=np.int64)
        found["events.reward"] = np.array(rewards, dtype=np.float64)
        found["next"] = np.array([self._next], dtype=np.int64)
        return found

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]], remember: int, zone: Any) -> Journal:
        """The journal that ``arrays`` gave."""
        made = cls(remember)
        columns = [arrays[f"choices.{name}"].tolist() for name in _KINDS]
        for number, token, ticks, step, arm, reward, probability in zip(*columns, strict=True):
            moment = _moment(ticks, zone)
            entry = Entry(number, token, moment, step, arm, probability, reward)
            made._entries[entry.id] = entry
        parts = (arrays[f"events.{name}"].tolist() for name in ("step", "arm", "reward"))
        made.events = list(zip(*parts, strict=True))
        made._next = int(arrays["next"][0])
        return made


def _ticks(moment: datetime) -> int:
    """Microseconds since 1970, in UTC where there is a time zone."""
    plain = moment if moment.tzinfo is None else moment.astimezone(UTC)
    return (plain.replace(tzinfo=None) - _EPOCH) // _TICK


def _moment(ticks: int, zone: Any) -> datetime:
    plain = _EPOCH + ticks * _TICK
    return plain if zone is None else plain.replace(tzinfo=UTC).astimezone(zone)
