"""Tables of a decider: what it learns from, and its log."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from agents.base import MAX_REWARD
from periodic_decisions.deciding.csv_log import COLUMNS
from periodic_decisions.deciding.errors import DeciderError
from periodic_decisions.deciding.knowledge import Knowledge
from periodic_decisions.deciding.repeats import once
from periodic_decisions.tables.absent import checked_words, kept, without
from periodic_decisions.tables.columns import Roles, find_roles
from periodic_decisions.tables.formats import Table, as_text, read_table
from periodic_decisions.tables.times import parse_times
from periodic_decisions.tables.values import Marks, find_marks, is_number, parse_numbers
from periodic_envs.data import DataError

TABLE = "the table"
Reward = tuple[datetime, str, float]


def read_rewards(
    source: Any,
    known: Knowledge,
    *,
    time_column: str | None = None,
    arm_column: str | None = None,
    reward_column: str | None = None,
    time_format: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    na_values: str | float | Sequence[str | float] | None = None,
    arms: Sequence[str] | None = None,
    duplicates: str = "error",
) -> list[Reward]:
    """Moments, arms and rewards of a wide table, a long one, or a log; the newest of them.

    Empty rewards are left out, and so are rewards of arms that were retired. The options are those
    of ``periodic_decisions.tables.series.read_series``. A warning names the columns of a wide table
    that were passed over, unless ``arms`` says which to take.

    Raises:
        DeciderError: If the table cannot be read, has arms that the decider does not know, or
            different rewards for one time and arm.
    """
    asked = None if arms is None else [str(arm) for arm in arms]
    _refuse_unknown(set(asked or ()), known, "arms=[...]")
    try:
        given = read_table(source, separator=separator, encoding=encoding)
        table = without(given, checked_words(na_values))
        wide = [name for name in table.columns if name in (asked or known.names)]
        roles = _roles(table, wide, time_column, arm_column, reward_column, time_format)
        table = kept(table, given, [roles.time, roles.arm])
        marks = find_marks(table, list(roles.arms) or [str(roles.reward)], decimal)
        times = _moments(table, roles.time, time_format, marks)
        rewards = _wide(table, roles, marks) if roles.arms else _long(table, roles, marks)
    except DataError as error:
        raise DeciderError(str(error)) from None
    if asked is None:
        _warn_of_columns(table, roles, known)
    found = pd.DataFrame({"time": times[rewards["row"]], **rewards}).drop(columns="row")
    found = found[found["reward"].notna() & (asked is None or found["arm"].isin(asked or ()))]
    _refuse_unknown(set(found["arm"]), known, TABLE)
    found = found[np.isfinite(found["reward"]) & found["arm"].isin(known.arms)]
    for reward in found["reward"][found["reward"].abs() > MAX_REWARD][:1]:
        raise DeciderError(f"{table.source} has a reward of {reward:g}, which is too great")
    zone = known.settings.timezone
    found = once(found, duplicates=duplicates, zone=zone, source=table.source)
    return _newest(found, known)


def _newest(found: pd.DataFrame, known: Knowledge) -> list[Reward]:
    """As many rewards as a decider remembers, by time; a warning says if there are more."""
    newest = found.sort_values("time", kind="stable")[-known.settings.remember :]
    if len(newest) < len(found):
        warnings.warn(
            f"only the newest {len(newest):,} of {len(found):,} rewards are learned: a decider "
            "that is made with a larger remember learns more",
            stacklevel=4,
        )
    moments = pd.DatetimeIndex(newest["time"]).floor("us").to_pydatetime()
    clock = known.settings.clock
    return [
        (clock.moment(moment), str(arm), float(reward))
        for moment, arm, reward in zip(moments, newest["arm"], newest["reward"], strict=True)
    ]


def _roles(
    table: Table,
    wide: list[str],
    time_column: str | None,
    arm_column: str | None,
    reward_column: str | None,
    time_format: str | None,
) -> Roles:
    """What the columns are; those named like arms are arms, whatever else there is."""
    if not wide:  # of a log as we write it; whatever other columns it has
        arm_column = arm_column or ("arm" if "arm" in table.columns else None)
        reward_column = reward_column or ("reward" if "reward" in table.columns else None)
    return find_roles(
        table,
        time_column=time_column,
        arm_column=arm_column,
        reward_column=reward_column,
        arms=wide if len(wide) > 1 else None,
        time_format=time_format,
    )


def _moments(table: Table, name: str, time_format: str | None, marks: Marks) -> pd.DatetimeIndex:
    times, _ = parse_times(table, name, time_format=time_format, marks=marks)
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


def _refuse_unknown(arms: set[str], known: Knowledge, where: str) -> None:
    for arm in sorted(arms - set(known.names))[:1]:
        raise DeciderError(
            f"{where} has an arm {arm!r} that the decider does not know; it knows "
            f"{', '.join(known.names[:20])}: add it first, or take it out"
            f"{' of the table' * (where == TABLE)}"
        )


def _warn_of_columns(table: Table, roles: Roles, known: Knowledge) -> None:
    """Name the columns of a wide table that are no arms, and the arms without a column."""
    over = [name for name in table.columns if name not in (*roles.arms, roles.time)]
    if not (roles.arms and over):
        return
    without = [name for name in known.arms if name not in roles.arms]
    nothing = f"; nothing is learned of {_listed(without)}" if without else ""
    warnings.warn(
        f"columns that are no arms of the decider are passed over: {_listed(over)}{nothing}",
        stacklevel=4,
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 10:,} more" if len(names) > 10 else ""
    return ", ".join(map(repr, names[:10])) + more


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
        [entry.id for entry in entries],
    )
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))
