"""Memory of a decider: its choices, and the rewards that its agent received."""

from __future__ import annotations

import csv
import io
import math
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from periodic_decisions.decider.clock import UTC, DeciderError

COLUMNS = ("time", "arm", "reward", "probability", "choice_id")  # readers take "id" for the arm
ASKED = -1  # instead of an arm: the agent was asked, and received nothing
TOKENS = 2**24
MAX_STEP = 2**53  # up to which a step is a float without loss
_EPOCH, _TICK = datetime(1970, 1, 1), timedelta(microseconds=1)
_KINDS = {
    "number": np.int64,
    "token": np.int64,
    "time": np.int64,
    "step": np.int64,
    "arm": np.int64,
    "probability": np.float64,
    "reward": np.float64,
}
Event = tuple[int, int, float]  # step, arm (or ``ASKED``) and reward


@dataclass(frozen=True)
class LoggedChoice:
    """A choice in the log.

    Attributes:
        number: Count of the choices, from 1.
        token: Random part of the id, so that a decider from an older file gives other ids.
        moment: Time.
        step: Step of that time.
        arm: Number of the arm among all arms there ever were.
        probability: Probability of this arm given all that was known; NaN if unknown.
        reward: NaN until it is known.
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
        """Name of the choice."""
        return f"{self.number}-{self.token:06x}"

    @property
    def is_open(self) -> bool:
        """Whether its reward is not known yet."""
        return math.isnan(self.reward)


class Journal:
    """Choices by their ids, and events in their order; the newest of each.

    Args:
        remember: Number of choices and of events that are kept.
    """

    def __init__(self, remember: int) -> None:
        self._remember, self._choices, self._next = remember, dict[str, LoggedChoice](), 1
        self.events: list[Event] = []

    def __iter__(self) -> Iterator[LoggedChoice]:
        return iter(self._choices.values())

    def begin(self, moment: datetime, step: int, arm: int, probability: float) -> LoggedChoice:
        """Log a choice, and forget the oldest if there are too many."""
        token = secrets.randbelow(TOKENS)
        choice = LoggedChoice(self._next, token, moment, step, arm, probability)
        self._choices[choice.id] = choice
        self._next += 1
        if len(self._choices) > self._remember:
            del self._choices[next(iter(self._choices))]
        return choice

    def open_choice(self, id: Any) -> LoggedChoice:
        """Return the open choice of an id.

        Raises:
            DeciderError: If there is none.
        """
        choice = self._choices.get(id) if isinstance(id, str) else None
        if choice is None:
            raise DeciderError(
                f"there is no choice {id!r}: it was never made here, or it is older than the "
                f"{self._remember:,} choices that are remembered"
            )
        if not choice.is_open:
            raise DeciderError(
                f"the reward of choice {choice.id} was told already: {choice.reward:g}"
            )
        return choice

    def close(self, choice: LoggedChoice, reward: float) -> None:
        """Log the reward of a choice."""
        self._choices[choice.id] = replace(choice, reward=reward)

    @property
    def is_full(self) -> bool:
        """Whether there are more events than are kept."""
        return len(self.events) > self._remember

    def rewards(self, more: Iterable[Event] = (), share: float = 1.0) -> list[Event]:
        """Return the newest rewards, and more, in the order of time: a share of those kept."""
        told = [event for event in (*self.events, *more) if event[1] != ASKED]
        told.sort(key=lambda event: event[0])
        return told[-max(1, int(share * self._remember)) :]

    def csv(self, names: Sequence[str]) -> str:
        """Return the choices as a CSV table, times with their offset where there is a zone."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for one in self:
            numbers = ("" if math.isnan(x) else repr(x) for x in (one.reward, one.probability))
            writer.writerow((one.moment.isoformat(sep=" "), names[one.arm], *numbers, one.id))
        return text.getvalue()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays for a file."""
        rows = [
            (c.number, c.token, _ticks(c.moment), c.step, c.arm, c.probability, c.reward)
            for c in self
        ]
        columns: Sequence[Any] = list(zip(*rows, strict=True)) if rows else [()] * len(_KINDS)
        steps, arms, rewards = zip(*self.events, strict=True) if self.events else ((), (), ())
        return {
            **{
                f"choices.{name}": np.array(column, dtype=kind)
                for (name, kind), column in zip(_KINDS.items(), columns, strict=True)
            },
            "events.step": np.array(steps, dtype=np.int64),
            "events.arm": np.array(arms, dtype=np.int64),
            "events.reward": np.array(rewards, dtype=np.float64),
            "next": np.array([self._next], dtype=np.int64),
        }

    @classmethod
    def restored(
        cls, arrays: Mapping[str, NDArray[Any]], remember: int, zone: Any, n_names: int
    ) -> Journal:
        """Return the journal that ``arrays`` gave, for a number of arms."""
        made = cls(remember)
        columns = [arrays[f"choices.{name}"].tolist() for name in _KINDS]
        for number, token, ticks, *others in zip(*columns, strict=True):
            choice = LoggedChoice(number, token, _moment(ticks, zone), *others)
            made._choices[choice.id] = choice
        parts = (arrays[f"events.{name}"].tolist() for name in ("step", "arm", "reward"))
        made.events = list(zip(*parts, strict=True))
        made._next = int(arrays["next"][0])
        places = [(c.step, c.arm) for c in made] + [(step, arm) for step, arm, _ in made.events]
        if not all(0 <= step < MAX_STEP and ASKED <= arm < n_names for step, arm in places):
            raise DeciderError("it has choices of unknown arms, or at impossible times")
        return made


def _ticks(moment: datetime) -> int:
    """Return microseconds since 1970, in UTC where there is a time zone."""
    plain = moment if moment.tzinfo is None else moment.astimezone(UTC)
    return (plain.replace(tzinfo=None) - _EPOCH) // _TICK


def _moment(ticks: int, zone: Any) -> datetime:
    plain = _EPOCH + ticks * _TICK
    return plain if zone is None else plain.replace(tzinfo=UTC).astimezone(zone)
