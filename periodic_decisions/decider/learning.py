"""Reader of past rewards for a decider, from a wide table, a long table or a log."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from agents.base import MAX_REWARD
from periodic_decisions.decider.settings import DeciderError, Settings
from periodic_decisions.tables.cells import (
    clock_changes,
    is_number,
    listed,
    parse_numbers,
    parse_times,
)
from periodic_decisions.tables.raw import RawTable, as_text, read_table
from periodic_decisions.tables.roles import Roles, find_roles
from periodic_decisions.tables.series import DUPLICATES
from periodic_envs.data.errors import DataError

MIN_SHARE_ALONE = 0.5  # in a log, more than this share of times have a single arm
PLACE = ["time", "arm"]


def read_rewards(
    source: Any,
    settings: Settings,
    arms_now: list[str],
    names: list[str],
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
) -> list[tuple[datetime, str, float]]:
    """Return the newest rewards in order of time, each as (time, arm, reward).

    Missing rewards and rewards of retired arms are left out. The options are those of
    ``read_series``. A warning names unused columns of a wide table, unless ``arms`` selects the
    columns.

    Raises:
        DeciderError: If the table cannot be read, has arms that the decider does not know, or has
            different rewards for the same time and arm.
    """
    if duplicates not in DUPLICATES:
        raise DeciderError(
            "invalid-option",
            f"duplicates must be one of {', '.join(DUPLICATES)}, got {duplicates!r}",
        )
    selected = None if arms is None else [str(arm) for arm in arms]
    _refuse_unknown(set(selected or ()), names, "arms=[...]", "arms=[...]")
    try:
        table = read_table(source, separator=separator, encoding=encoding, na_values=na_values)
        roles = _find_roles(
            table,
            names=selected or names,
            time_column=time_column,
            arm_column=arm_column,
            reward_column=reward_column,
        )
        rewards_found = _rewards(table, roles, time_format, decimal)
    except DataError as error:
        raise DeciderError(error.code, str(error)) from None
    if selected is None:
        _warn_of_columns(table, roles, arms_now)
    else:
        rewards_found = rewards_found[rewards_found["arm"].isin(selected)]
    _refuse_unknown(set(rewards_found["arm"]), names, "the table", "the table")
    rewards_found = rewards_found[rewards_found["arm"].isin(arms_now)]
    for reward in rewards_found["reward"][rewards_found["reward"].abs() > MAX_REWARD][:1]:
        raise DeciderError(
            "value-too-large",
            f"{table.source} has a reward of {reward:g}, which exceeds {MAX_REWARD:g} in magnitude",
        )
    rewards_found = _once(rewards_found, duplicates, settings.timezone, table.source).sort_values(
        "time", kind="stable"
    )
    newest = rewards_found[-settings.remember :]
    if len(newest) < len(rewards_found):
        warnings.warn(
            f"the decider learns from only the newest {len(newest):,} of {len(rewards_found):,} "
            "rewards: create the decider with a larger remember=... to use more of them",
            stacklevel=3,
        )
    moments = pd.DatetimeIndex(newest["time"]).floor("us").to_pydatetime()
    rewards = [
        (settings.clock.moment(moment), str(arm), float(reward))
        for moment, arm, reward in zip(moments, newest["arm"], newest["reward"], strict=True)
    ]
    return sorted(rewards, key=lambda one: one[0])


def _find_roles(
    table: RawTable,
    *,
    names: Sequence[str],
    arm_column: str | None,
    reward_column: str | None,
    **columns: str | None,
) -> Roles:
    """Return the roles of the columns.

    A column with the name of an arm is taken to contain the rewards of this arm.
    """
    wide = [name for name in table.columns if name in names]
    if not wide:  # such as a log that a decider wrote, possibly with more columns
        arm_column = arm_column or ("arm" if "arm" in table.columns else None)
        reward_column = reward_column or ("reward" if "reward" in table.columns else None)
    return find_roles(
        table,
        arm_column=arm_column,
        reward_column=reward_column,
        arms=wide if len(wide) > 1 else None,
        **columns,
    )


def _rewards(
    table: RawTable, roles: Roles, time_format: str | None, decimal: str | None
) -> pd.DataFrame:
    """Return a table with the columns time, arm and reward, without missing rewards."""
    times, _ = parse_times(table, roles.time, time_format=time_format, decimal=decimal)
    if not isinstance(times, pd.DatetimeIndex):
        raise DataError(
            "not-clock-times",
            f"the times in column {roles.time!r} must be dates, such as 2026-11-16 09:00",
        )
    if times.tz is None and is_number(table, roles.time):  # Unix time
        times = times.tz_localize("UTC")
    values, _ = parse_numbers(table, roles.measured, decimal)
    n, k = values.shape
    arms = list(roles.arms) * n if roles.arm is None else as_text(table.columns[roles.arm])
    rows = np.arange(n).repeat(k)
    return pd.DataFrame({"time": times[rows], "arm": arms, "reward": values.ravel()}).dropna()


def _once(rewards: pd.DataFrame, duplicates: str, zone: str | None, source: str) -> pd.DataFrame:
    """Remove repeated rewards for the same arm and time from a table; return logs unchanged.

    A log may contain several choices of the same arm at the same time. In a table, repeated rewards
    are averaged if ``duplicates="mean"``. Otherwise equal rewards are dropped, and different
    rewards raise an error. Different rewards are kept only in the hour that is repeated when clocks
    are set back.
    """
    alone = rewards.groupby("time")["arm"].nunique() == 1
    if not rewards.duplicated(PLACE).any() or alone.mean() > MIN_SHARE_ALONE:
        return rewards
    if duplicates == "mean":
        return rewards.groupby(PLACE, sort=False, as_index=False)["reward"].mean()
    rewards = rewards.drop_duplicates()
    again = rewards[rewards.duplicated(PLACE)]
    wrong = again[~clock_changes(pd.DatetimeIndex(again["time"]), zone, back=True)]
    for time, arm, _ in wrong[:1].itertuples(index=False):
        raise DeciderError(
            "conflicting-values",
            f"{source} has different rewards for {arm!r} at {time}: keep one of them, or average "
            "them with duplicates='mean'",
        )
    return rewards


def _refuse_unknown(arms: set[str], names: list[str], where: str, of: str) -> None:
    for arm in sorted(arms - set(names))[:1]:
        raise DeciderError(
            "unknown-arm",
            f"{where} has the unknown arm {arm!r}, but the arms of the decider are "
            f"{', '.join(names[:20])}: add {arm!r} to the decider, or remove {arm!r} from {of}",
        )


def _warn_of_columns(table: RawTable, roles: Roles, arms: list[str]) -> None:
    """Warn about columns of a wide table that are not arms, and about arms without a column."""
    unused = [repr(name) for name in table.columns if name not in (*roles.arms, roles.time)]
    if not (roles.arms and unused):
        return
    without = [repr(name) for name in arms if name not in roles.arms]
    missing = f"; arms without a column: {listed(without, 10)}" if without else ""
    warnings.warn(
        f"ignored columns that are not arms of the decider: {listed(unused, 10)}{missing}",
        stacklevel=4,
    )
