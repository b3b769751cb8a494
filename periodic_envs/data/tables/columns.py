"""Which column is the time, which the arm, which the reward: said by the user, or unmistakable."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from periodic_envs.data.errors import DataError
from periodic_envs.data.tables.formats import Table
from periodic_envs.data.tables.limits import UNNAMED
from periodic_envs.data.tables.times import fits, is_time, is_time_of_day
from periodic_envs.data.tables.values import is_number

# fmt: off
TIME = frozenset((
    "date", "date_time", "datetime", "datum", "ds", "hour", "step", "t", "time", "time_stamp",
    "timestamp", "utc", "when", "zeit", "zeitpunkt", "zeitstempel",
))
HOUR = frozenset(("hour", "hora", "stunde"))
ARM = frozenset((
    "action", "arm", "id", "item", "location", "name", "place", "product", "sensor", "series",
    "site", "station", "store", "unique_id", "variable", "zone",
))
REWARD = frozenset((
    "amount", "count", "demand", "measurement", "payoff", "reward", "sales", "score", "target",
    "value", "y",
))
# fmt: on


@dataclass(frozen=True)
class Roles:
    """What the columns are taken for.

    Attributes:
        time: the time column.
        arms: in a wide table the columns of the arms, else empty.
        arm: in a long table the column that names the arm, else None.
        reward: in a long table the column of the rewards, else None.
        unused: columns that are not used.
    """

    time: str
    arms: tuple[str, ...] = ()
    arm: str | None = None
    reward: str | None = None
    unused: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """In words."""
        if self.arm is None:
            lines = [f"a wide table: time in {self.time!r}, and a column for each arm"]
        else:
            lines = [
                f"a long table: time in {self.time!r}, arm in {self.arm!r}, reward in "
                f"{self.reward!r}"
            ]
        return lines + ([f"not used: {', '.join(map(repr, self.unused))}"] if self.unused else [])


def find_roles(
    table: Table,
    *,
    time_column: str | None,
    arm_column: str | None,
    reward_column: str | None,
    arms: Sequence[str] | None,
    time_format: str | None = None,
) -> Roles:
    """The roles of the columns.

    Raises:
        DataError: if a named column is not there, or if more than one reading is possible: then
            the message says which argument decides.
    """
    for given in (time_column, arm_column, reward_column):
        if given is not None:
            check_known(given, list(table.columns), f"column of {table.source}")
    time = time_column or _find_time(table, (arm_column, reward_column), time_format)
    _refuse_split_times(table, time, arm_column)
    others = [name for name in table.columns if name != time]
    if arm_column is None and reward_column is None and arms and set(arms) <= set(others):
        return _wide(table, time, list(arms))
    others = [name for name in others if not _numbers_rows(name, table.columns[name])]
    if arm_column is None and reward_column is None:
        arm_column, reward_column = _find_long(table, others)
        if arm_column is None:
            _refuse_long(table, time, others)
            for name in arms or ():
                check_known(name, others, f"arm in {table.source}")
            return _wide(table, time, others)
    arm = arm_column or _one(
        [n for n in others if n != reward_column and not is_number(table.columns[n])],
        [n for n in others if n != reward_column and n.lower() in ARM],
        "arm",
        table,
    )
    reward = reward_column or _one(
        [n for n in others if n != arm and is_number(table.columns[n])],
        [n for n in others if n != arm and n.lower() in REWARD],
        "reward",
        table,
    )
    if len({time, arm, reward}) < 3:
        raise DataError("time_column, arm_column and reward_column must be three columns")
    used = (time, arm, reward)
    return Roles(time, arm=arm, reward=reward, unused=_unused(table, used))


def _unused(table: Table, used: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in table.columns if name not in used)


def _wide(table: Table, time: str, arms: list[str]) -> Roles:
    if len(arms) < 2:
        found = f"only {arms[0]!r}" if arms else "none"
        raise DataError(
            f"a choice needs at least two arms, found {found}: give a column for each arm, or a "
            "long table with the columns time, arm and reward"
        )
    return Roles(time, arms=tuple(arms), unused=_unused(table, [time, *arms]))


def _find_time(table: Table, taken: tuple[str | None, str | None], time_format: str | None) -> str:
    names = [name for name in table.columns if name not in taken]
    written = [n for n in names if time_format is not None and fits(table.columns[n], time_format)]
    named = [name for name in names if re.sub(r"\W+", "_", name.lower()).strip("_") in TIME]
    stamps = [name for name in names if is_time(table.columns[name])]
    for found in (written, named, stamps):
        if len(found) == 1:
            return found[0]
        if found:
            clear = [name for name in found if name in named and name in stamps]
            if len(clear) == 1:
                return clear[0]
            raise DataError(
                f"{table.source} has more than one column that may be the time: give time_column="
                + " or ".join(map(repr, found[:5]))
            )
    raise DataError(
        f"cannot tell which column of {table.source} is the time: give time_column, one of "
        + ", ".join(map(repr, names[:10]))
    )


def _refuse_split_times(table: Table, time: str, arm_column: str | None) -> None:
    """Dates that repeat beside times of day are halves of times."""
    columns = table.columns
    hours = [name for name in columns if name.lower() in HOUR or is_time_of_day(columns[name])]
    dates = [name for name in columns if is_time(columns[name]) and name not in hours]
    if not hours or not dates or time not in (dates[0], *hours):
        return
    keys = [dates[0], *(n for n in columns if n == arm_column or n.lower() in ARM)]
    if pd.DataFrame({key: columns[key] for key in keys}).duplicated().any():
        raise DataError(
            f"{table.source} has the date in {dates[0]!r} and the time of day in {hours[0]!r}: "
            "write both in one column, such as 2018-03-01 13:00, and take the two out"
        )


def _numbers_rows(name: str, values: pd.Series) -> bool:
    """Whether the column is a saved index, which is no arm."""
    if name == UNNAMED:
        return True
    if name.lower() not in ("index", "unnamed: 0"):
        return False
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return np.array_equal(numbers, np.arange(len(numbers)))


def _refuse_long(table: Table, time: str, others: list[str]) -> None:
    """A table of numbers in which the same times come again and again has a row for each arm."""
    if table.columns[time].duplicated(keep=False).mean() <= 0.5 or len(others) < 2:
        return
    # An arm is there at most once at a time, and there are fewer arms than rewards.
    rows = pd.DataFrame({name: table.columns[name] for name in (time, *others)})
    once = [name for name in others if not rows.duplicated([time, name]).any()]
    arm = min(once, key=lambda name: rows[name].nunique(), default=None)
    rewards = [name for name in others if name != arm]
    perhaps = f" (perhaps {arm!r})" if arm else ""
    raise DataError(
        f"{table.source} has the same times again and again, as in a long table: give arm_column"
        f"{perhaps} and reward_column (perhaps {' or '.join(map(repr, rewards[:3]))}); if each "
        "column is an arm, name them as arms=[...]"
    )


def _find_long(table: Table, others: list[str]) -> tuple[str | None, str | None]:
    """The arm and the reward column of a long table, or None for a wide one."""
    by_name = ([n for n in others if n.lower() in wanted] for wanted in (ARM, REWARD))
    arm_names, reward_names = by_name
    if len(arm_names) == len(reward_names) == 1:
        return arm_names[0], reward_names[0]
    words = [name for name in others if not is_number(table.columns[name])]
    if not words:
        return None, None
    if len(words) == 1 and len(others) == 2:
        return words[0], next(name for name in others if name != words[0])
    raise DataError(
        f"column {words[0]!r} of {table.source} holds words: for a long table give arm_column and "
        "reward_column, for a wide one name the columns to use as arms=[...]"
    )


def _one(likely: list[str], named: list[str], role: str, table: Table) -> str:
    for found in (named, likely):
        if len(found) == 1:
            return found[0]
    raise DataError(f"cannot tell which column of {table.source} is the {role}: give {role}_column")


def check_known(name: str, known: Sequence[str], what: str) -> None:
    """Refuse a name that is not there, and say what there is."""
    if name not in known:
        close = difflib.get_close_matches(str(name), known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known[:20])}"
        raise DataError(f"there is no {what} {name!r}: {hint}")
