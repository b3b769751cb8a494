"""Tables of a decider: what it learns from, and its log."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from agents.base import MAX_REWARD
from evaluation.deciding.csv_log import COLUMNS
from evaluation.deciding.errors import DeciderError
from evaluation.deciding.knowledge import Knowledge
from periodic_envs.data import DataError
from periodic_envs.data.tables.columns import Roles, find_roles
from periodic_envs.data.tables.formats import Table, as_text, read_table
from periodic_envs.data.tables.times import parse_times
from periodic_envs.data.tables.values import Marks, find_marks, is_number, parse_numbers

Reward = tuple[datetime, str, float]


def read_rewards(source: Any, known: Knowledge) -> list[Reward]:
    """Moments, arms and rewards of a wide table, a long one, or a log; the newest of them.

    Empty rewards are left out, and so are rewards of arms that were retired.

    Raises:
        DeciderError: If the table cannot be read, or has arms that the decider does not know.
    """
    try:
        table = read_table(source)
        roles = _roles(table, known)
        marks = find_marks(table, list(roles.arms) or [str(roles.reward)], None)
        times = _moments(table, roles.time, marks)
        rewards = _wide(table, roles, marks) if roles.arms else _long(table, roles, marks)
    except DataError as error:
        raise DeciderError(str(error)) from None
    arms = np.array(rewards.pop("arm"), dtype=object)
    _refuse_unknown(set(arms[~pd.isna(rewards["reward"])]), known)
    keep = np.isfinite(rewards["reward"]) & np.isin(arms, known.arms)
    rows, values = np.flatnonzero(keep), rewards["reward"]
    for row in rows[np.abs(values[rows]) > MAX_REWARD][:1]:
        raise DeciderError(f"{table.source} has a reward of {values[row]:g}, which is too great")
    moments = times[rewards["row"][rows]]
    newest = np.argsort(moments.asi8, kind="stable")[-known.settings.remember :]
    clock = known.settings.clock
    plain = moments[newest].floor("us").to_pydatetime()
    return [
        (clock.moment(moment), str(arms[row]), float(values[row]))
        for moment, row in zip(plain, rows[newest], strict=True)
    ]


def _roles(table: Table, known: Knowledge) -> Roles:
    """What the columns are; those named like arms are arms, whatever else there is."""
    wide = [name for name in table.columns if name in known.names]
    return find_roles(
        table,
        time_column=None,
        arm_column=None,
        reward_column=None,
        arms=wide if len(wide) > 1 else None,
    )


def _moments(table: Table, name: str, marks: Marks) -> pd.DatetimeIndex:
    times, _ = parse_times(table, name, time_format=None, marks=marks)
    if not isinstance(times, pd.DatetimeIndex):
        raise DataError(f"the times in column {name!r} must be dates, such as 2026-11-16 09:00")
    since_1970 = times.tz is None and is_number(table.columns[name])
    return times.tz_localize("UTC") if since_1970 else times


def _wide(table: Table, roles: Roles, marks: Marks) -> dict[str, Any]:
    values = np.stack([parse_numbers(table, name, marks) for name in roles.arms], axis=1)
    n, k = values.shape
    return {"arm": list(roles.arms) * n, "row": np.arange(n).repeat(k), "reward": values.ravel()}


def _long(table: Table, roles: Roles, marks: Marks) -> dict[str, Any]:
    arms = as_text(table.columns[str(roles.arm)])
    values = parse_numbers(table, str(roles.reward), marks)
    return {"arm": arms, "row": np.arange(len(values)), "reward": values}


def _refuse_unknown(arms: set[str], known: Knowledge) -> None:
    for arm in sorted(arms - set(known.names))[:1]:
        raise DeciderError(
            f"the table has an arm {arm!r} that the decider does not know; it knows "
            f"{', '.join(known.names[:20])}: add it first, or take it out of the table"
        )


def log_table(known: Knowledge) -> pd.DataFrame:
    """The log as a table; times in the zone of the decider, if it has one."""
    entries = list(known.journal)
    zone = known.settings.clock.zone
    moments = pd.DatetimeIndex([pd.Timestamp(entry.moment) for entry in entries], tz=zone)
    columns = (
        moments,
        [known.names[entry.arm] for entry in entries],
        np.array([entry.reward for entry in entries], dtype=np.float64),
        np.array([entry.probability for entry in entries], dtype=np.float64),
    )
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))
