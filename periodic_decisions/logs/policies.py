"""Policies that a log is asked about: the arm that they would have chosen at each row.

A policy has a ``name``, ``learned`` (made from the log, by the models of other folds), and
``arms(log, seasons, models)``, which never looks at the row's reward.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from periodic_decisions.logs.log import DecisionLog, DecisionLogError, Integers, LogSeasons
from periodic_decisions.logs.model import CrossFit
from periodic_decisions.tables.files import as_text, read_table

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
KEYS = ("phase", "weekday", "hour")  # columns of a schedule's file
_SLOT = re.compile(  # as ``data check`` writes times
    r"(?P<weekday>Mon|Tue|Wed|Thu|Fri|Sat|Sun)?(?: ?(?P<hour>[01]\d|2[0-3]):00)?(?<=.)", re.ASCII
)
FORMS = '"arm:NAME", "schedule:FILE.csv", "best-per-phase" or "agent:NAME"'
Models = Callable[[], CrossFit]


@dataclass(frozen=True)
class FixedArm:
    """Always the same arm."""

    arm: str
    learned: bool = False

    @property
    def name(self) -> str:
        """Name in tables."""
        return f"arm:{self.arm}"

    def arms(self, log: DecisionLog, seasons: LogSeasons, models: Models) -> Integers:
        """Return that arm for each row."""
        return np.full(len(log), log.number_of(self.arm))


@dataclass(frozen=True)
class BestPerPhase:
    """The best arm of each phase, by the model of all other folds.

    No row influences the arm that it judges, so the plan is judged on other rows than it was made
    from.
    """

    name: str = "best-per-phase"
    learned: bool = True

    def arms(self, log: DecisionLog, seasons: LogSeasons, models: Models) -> Integers:
        """Return the best arm of each row's phase, by a model without the row's fold."""
        return models().best()


@dataclass(frozen=True)
class ScheduledArms:
    """An arm for each phase, hour, weekday, or weekday and hour.

    Attributes:
        name: Name in tables.
        keys: The plan's keys, of ``KEYS``.
        plan: The arm for each combination of these.
    """

    name: str
    keys: tuple[str, ...]
    plan: dict[tuple[int, ...], str]
    learned: bool = False

    def arms(self, log: DecisionLog, seasons: LogSeasons, models: Models) -> Integers:
        """Return the arm of the plan at each row."""
        numbers = {when: log.number_of(arm) for when, arm in self.plan.items()}
        moments: Any = None
        if self.keys != ("phase",):
            moments = log.moments
            if not isinstance(moments, pd.DatetimeIndex):
                raise DecisionLogError(
                    f"{self.name} goes by {' and '.join(self.keys)}, but the times of {log.source}"
                    " are plain numbers: write the plan by phase"
                )
        sources = {"phase": (seasons, "phase"), "weekday": (moments, "day_of_week")}
        columns = (getattr(*sources.get(key, (moments, key))) for key in self.keys)
        rows = list(zip(*(map(int, column) for column in columns), strict=True))
        found = np.array([numbers.get(when, -1) for when in rows], dtype=np.intp)
        if (found < 0).any():
            when = rows[int((found < 0).argmax())]
            missing = ", ".join(f"{k} {v}" for k, v in zip(self.keys, when, strict=True))
            raise DecisionLogError(
                f"{self.name} has no arm for {missing}, which the log has rows of"
            )
        return found


Policy = FixedArm | BestPerPhase | ScheduledArms


def read_schedule(path: str | Path) -> ScheduledArms:
    """Read a plan: a CSV with an ``arm`` and columns of ``phase``, or ``weekday`` and ``hour``.

    A plan of ``periodic-gp data check --schedule`` is read by its ``when``.

    Raises:
        DataError: If the file is not such a plan.
    """
    table = read_table(path)
    columns = {name.lower(): as_text(column) for name, column in table.columns.items()}
    if {"phase", "when"} <= set(columns):
        columns = _by_calendar(columns, table.source)
    keys = tuple(key for key in KEYS if key in columns)
    if "arm" not in columns or not keys or ("phase" in keys and len(keys) > 1):
        raise DecisionLogError(
            f"{table.source} is no schedule: it needs a column 'arm' and one of 'phase', or "
            "'weekday' (monday or 0 to sunday or 6) and 'hour' (0 to 23), or one of these"
        )
    plan: dict[tuple[int, ...], str] = {}
    for row, arm in enumerate(columns["arm"]):
        when = tuple(_number(key, columns[key][row], table.place(row)) for key in keys)
        if when in plan:
            raise DecisionLogError(f"{table.place(row)} gives a second arm for the same {keys[-1]}")
        plan[when] = arm
    return ScheduledArms(f"schedule:{Path(path).name}", keys, plan)


def _by_calendar(columns: dict[str, list[str]], source: str) -> dict[str, list[str]]:
    """Return the weekdays and hours of a plan of ``data check``, whose phases begin on Monday."""
    words = columns["when"]
    if all(word.startswith("step ") for word in words):
        return columns
    found = [_SLOT.fullmatch(word) for word in words]
    parts = [(match["weekday"], match["hour"]) for match in found if match]
    if len(parts) < len(words) or len({(d is None, h is None) for d, h in parts}) > 1:
        raise DecisionLogError(
            f"{source} goes by {words[0][:40]!r}: of plans of 'data check', those by weekday, by "
            "hour, or by both are read"
        )
    short = [day[:3].title() for day in WEEKDAYS]
    plan = {"arm": columns["arm"]}
    if parts[0][0] is not None:
        plan["weekday"] = [str(short.index(day)) for day, _ in parts]
    if parts[0][1] is not None:
        plan["hour"] = [str(int(hour)) for _, hour in parts]
    return plan


def _number(key: str, word: str, place: str) -> int:
    if key == "weekday" and word.lower() in WEEKDAYS:
        return WEEKDAYS.index(word.lower())
    top = {"weekday": 6, "hour": 23}.get(key, 10**6)
    if not word.isascii() or not word.isdigit() or int(word) > top:
        raise DecisionLogError(
            f"{place} has {word[:40]!r} as its {key}: a whole number up to {top} is one"
        )
    return int(word)


def parse_policy(text: str) -> Policy:
    """Return a policy from the command line's notation; agents are replayed, not parsed here."""
    kind, _, rest = text.partition(":")
    if kind == "arm" and rest:
        return FixedArm(rest)
    if kind == "schedule" and rest:
        return read_schedule(rest)
    if text == "best-per-phase":
        return BestPerPhase()
    raise DecisionLogError(f"a policy is {FORMS}, got {text!r}")
