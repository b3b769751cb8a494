"""Policies to evaluate on a log.

A policy has a ``name``, a flag ``learned`` (true if the policy is learned from the log by models
fitted to other folds), and a method ``arms(log, seasons, models)``. The method returns the arm that
the policy would have chosen at each row, and must not use the reward of that row.
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
from periodic_decisions.tables.raw import as_text, read_table

STEP, WEEKDAY, HOUR = r"step \d+", "(Mon|Tue|Wed|Thu|Fri|Sat|Sun)", r"([01]\d|2[0-3]):00"
SLOTS = {"step": STEP, "%a": WEEKDAY, "%H:00": HOUR, "%a %H:00": f"{WEEKDAY} {HOUR}"}
FORMS = '"arm:NAME", "schedule:FILE.csv", "best-per-phase" or "agent:NAME"'
Models = Callable[[], CrossFit]


@dataclass(frozen=True)
class FixedArm:
    """Policy that always chooses the same arm."""

    arm: str
    learned: bool = False

    @property
    def name(self) -> str:
        """Name of the policy in tables."""
        return f"arm:{self.arm}"

    def arms(self, log: DecisionLog, seasons: LogSeasons, models: Models) -> Integers:
        """Return the arm for each row."""
        return np.full(len(log), log.number_of(self.arm))


@dataclass(frozen=True)
class BestPerPhase:
    """Policy that chooses the best arm of each phase, according to a model of all other folds.

    Cross-fitting ensures that no row influences the arm that it evaluates.
    """

    name: str = "best-per-phase"
    learned: bool = True

    def arms(self, log: DecisionLog, seasons: LogSeasons, models: Models) -> Integers:
        """Return the best arm at the phase of each row.

        Each row's arm is the best arm according to a model that was fitted without that row.
        """
        return models().best()


@dataclass(frozen=True)
class ScheduledArms:
    """Policy with an arm for each phase, hour, weekday, or weekday and hour.

    Attributes:
        name: Name of the policy in tables.
        slots: Format of the names of slots, a key of ``SLOTS``.
        plan: Arm of each slot, by the name of the slot, such as "step 3", "Mon", "09:00" or
            "Mon 09:00".
    """

    name: str
    slots: str
    plan: dict[str, str]
    learned: bool = False

    def arms(self, log: DecisionLog, seasons: LogSeasons, models: Models) -> Integers:
        """Return the arm of the schedule at each row."""
        numbers = {when: log.number_of(arm) for when, arm in self.plan.items()}
        if self.slots == "step":
            rows: Any = [f"step {phase}" for phase in seasons.phase]
        elif isinstance(log.moments, pd.DatetimeIndex):
            rows = log.moments.strftime(self.slots)
        else:
            raise DecisionLogError(
                "not-clock-times",
                f"{self.name} follows the calendar, but the times of {log.source} are plain "
                "numbers: in the column 'when', use steps of the season, such as 'step 3'",
            )
        chosen = np.array([numbers.get(when, -1) for when in rows], dtype=np.intp)
        if (chosen < 0).any():
            when = rows[int((chosen < 0).argmax())]
            raise DecisionLogError(
                "incomplete-schedule",
                f"{self.name} has no arm for {when}, which occurs in the log: add a row for "
                f"{when} to the schedule",
            )
        return chosen


Policy = FixedArm | BestPerPhase | ScheduledArms


def read_schedule(path: str | Path) -> ScheduledArms:
    """Read a schedule from a CSV file with the columns ``when`` and ``arm``.

    The command ``data check --schedule`` writes files of this form.

    Raises:
        DataError: If the file is not a schedule.
    """
    table = read_table(path)
    if not {"when", "arm"} <= set(table.columns):
        raise DecisionLogError(
            "invalid-schedule",
            f"{table.source} is not a schedule: it needs the columns 'when' and 'arm'",
        )
    when, arms = (as_text(table.columns[name]) for name in ("when", "arm"))
    forms = [s for s, form in SLOTS.items() if all(re.fullmatch(form, slot) for slot in when)]
    if not forms or len(set(when)) < len(when):
        raise DecisionLogError(
            "invalid-schedule",
            f"{table.source} is not a schedule that can be evaluated: the column 'when' must have "
            "only weekdays (Mon), hours (09:00), both (Mon 09:00), or steps of the season (step "
            "3), each in a single row",
        )
    return ScheduledArms(
        f"schedule:{Path(path).name}", forms[0], dict(zip(when, arms, strict=True))
    )


def parse_policy(text: str) -> Policy:
    """Return a policy from the command line's notation; agents are handled separately."""
    kind, _, rest = text.partition(":")
    if kind == "arm" and rest:
        return FixedArm(rest)
    if kind == "schedule" and rest:
        return read_schedule(rest)
    if text == "best-per-phase":
        return BestPerPhase()
    raise DecisionLogError("invalid-policy", f"a policy must be {FORMS}, got {text!r}")
