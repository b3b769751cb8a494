"""Policies that a log is asked about: which arm they would have chosen at each row."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from periodic_decisions.logs.log import Integers, Log, LogError
from periodic_decisions.logs.model import CrossFit
from periodic_decisions.logs.seasons import Seasons
from periodic_decisions.tables.formats import as_text, read_table

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
KEYS = ("phase", "weekday", "hour")
"""What a schedule may go by, as the columns of its file are called."""
_SLOT = re.compile(
    r"(?P<weekday>Mon|Tue|Wed|Thu|Fri|Sat|Sun)?(?: ?(?P<hour>[01]\d|2[0-3]):00)?(?<=.)", re.ASCII
)
"""How ``data check`` writes when."""
FORMS = '"arm:NAME", "schedule:FILE.csv", "best-per-phase" or "agent:NAME"'


class Policy(Protocol):
    """What chooses an arm at each row, without looking at that row's reward."""

    @property
    def name(self) -> str:
        """What tables call it."""

    @property
    def learned(self) -> bool:
        """Whether it was made from the log, by the models of other folds."""

    def arms(self, log: Log, seasons: Seasons, models: Callable[[], CrossFit]) -> Integers:
        """The arm at each row, shape (n,)."""


@dataclass(frozen=True)
class FixedArm:
    """Always the same arm."""

    arm: str
    learned: bool = False

    @property
    def name(self) -> str:
        """As it is asked for."""
        return f"arm:{self.arm}"

    def arms(self, log: Log, seasons: Seasons, models: Callable[[], CrossFit]) -> Integers:
        """That arm."""
        return np.full(len(log), log.number_of(self.arm))


@dataclass(frozen=True)
class BestPerPhase:
    """In each phase the arm that the model of all other folds thinks best.

    No row has a say in the arm that it judges, so the plan is not judged by what it was made from.
    """

    name: str = "best-per-phase"
    learned: bool = True

    def arms(self, log: Log, seasons: Seasons, models: Callable[[], CrossFit]) -> Integers:
        """The best arm of each row's phase, by a model without the row's fold."""
        return models().best()


@dataclass(frozen=True)
class Schedule:
    """A plan: an arm for each phase, hour, weekday, or weekday and hour.

    Attributes:
        name: What tables call it.
        keys: What the plan goes by, of ``KEYS``.
        plan: The arm for each combination of these.
    """

    name: str
    keys: tuple[str, ...]
    plan: dict[tuple[int, ...], str]
    learned: bool = False

    def arms(self, log: Log, seasons: Seasons, models: Callable[[], CrossFit]) -> Integers:
        """The arm of the plan at each row.

        Raises:
            LogError: If the plan has no arm for a row, or one that the log does not know.
        """
        numbers = {when: log.number_of(arm) for when, arm in self.plan.items()}
        moments = log.moments if set(self.keys) != {"phase"} else None
        if moments is not None and not isinstance(moments, pd.DatetimeIndex):
            raise LogError(
                f"{self.name} goes by {' and '.join(self.keys)}, but the times of {log.source} are "
                "plain numbers: write the plan by phase"
            )
        columns = [_column(key, seasons, moments) for key in self.keys]
        found = np.array([numbers.get(when, -1) for when in zip(*columns, strict=True)])
        if (found < 0).any():
            row = int((found < 0).argmax())
            missing = ", ".join(
                f"{k} {column[row]}" for k, column in zip(self.keys, columns, strict=True)
            )
            raise LogError(f"{self.name} has no arm for {missing}, which the log has rows of")
        return found.astype(np.intp)


def _column(key: str, seasons: Seasons, moments: Any) -> list[int]:
    if key == "phase":
        return [int(phase) for phase in seasons.phase]
    return [int(part) for part in (moments.day_of_week if key == "weekday" else moments.hour)]


def read_schedule(path: str | Path) -> Schedule:
    """Read a plan: a CSV with an ``arm`` and columns of ``phase``, or ``weekday`` and ``hour``.

    A plan of ``periodic-gp data check --schedule`` is read by its ``when``.

    Raises:
        DataError: If the file is no such plan.
    """
    table = read_table(path)
    columns = {name.lower(): column for name, column in table.columns.items()}
    if {"phase", "when"} <= set(columns):
        columns = _by_calendar(columns, table.source)
    keys = tuple(key for key in KEYS if key in columns)
    if "arm" not in columns or not keys or ("phase" in keys and len(keys) > 1):
        raise LogError(
            f"{table.source} is no schedule: it needs a column 'arm' and one of 'phase', or "
            "'weekday' (monday or 0 to sunday or 6) and 'hour' (0 to 23), or one of these"
        )
    plan: dict[tuple[int, ...], str] = {}
    words = [as_text(columns[key]) for key in keys]
    for row, arm in enumerate(as_text(columns["arm"])):
        pairs = zip(keys, words, strict=True)
        when = tuple(_number(key, column[row], table.place(row)) for key, column in pairs)
        if when in plan:
            raise LogError(f"{table.place(row)} gives a second arm for the same {keys[-1]}")
        plan[when] = arm
    return Schedule(f"schedule:{Path(path).name}", keys, plan)


def _by_calendar(columns: dict[str, pd.Series], source: str) -> dict[str, pd.Series]:
    """The weekdays and hours of a plan that ``data check`` wrote, whose phases begin on Monday."""
    words = as_text(columns["when"])
    if all(word.startswith("step ") for word in words):
        return columns
    found = [_SLOT.fullmatch(word) for word in words]
    parts = [(match["weekday"], match["hour"]) for match in found if match]
    if len(parts) < len(words) or len({(d is None, h is None) for d, h in parts}) > 1:
        raise LogError(
            f"{source} goes by {words[0][:40]!r}: of plans of 'data check', those by weekday, by "
            "hour, or by both are read"
        )
    short = [day[:3].title() for day in WEEKDAYS]
    plan = {"arm": columns["arm"]}
    if parts[0][0] is not None:
        plan["weekday"] = pd.Series([str(short.index(day)) for day, _ in parts])
    if parts[0][1] is not None:
        plan["hour"] = pd.Series([str(int(hour)) for _, hour in parts])
    return plan


def _number(key: str, word: str, place: str) -> int:
    if key == "weekday" and word.lower() in WEEKDAYS:
        return WEEKDAYS.index(word.lower())
    top = {"weekday": 6, "hour": 23}.get(key, 10**6)
    if not word.isascii() or not word.isdigit() or int(word) > top:
        raise LogError(f"{place} has {word[:40]!r} as its {key}: a whole number up to {top} is one")
    return int(word)


def parse_policy(text: str) -> Policy:
    """A policy by how it is asked for on the command line; agents are replayed, not parsed here.

    Raises:
        LogError: If it is none.
    """
    kind, _, rest = text.partition(":")
    if kind == "arm" and rest:
        return FixedArm(rest)
    if kind == "schedule" and rest:
        return read_schedule(rest)
    if text == "best-per-phase":
        return BestPerPhase()
    raise LogError(f"a policy is {FORMS}, got {text!r}")


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names in a row, the first of them if there are many."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
