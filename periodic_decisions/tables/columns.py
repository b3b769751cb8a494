"""Roles of the columns (time, arm, reward): named by the user, or unmistakable."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from periodic_decisions.tables.files import UNNAMED, RawTable, as_text, check_name, read_table
from periodic_decisions.tables.times import fits, is_time, is_time_of_day
from periodic_decisions.tables.values import absent_words, blanked, is_number
from periodic_envs.data.errors import DataError

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
    """Roles of the columns.

    Attributes:
        time: Time column.
        arms: Columns of the arms in a wide table, else empty.
        arm: Column that names the arm in a long table, else None.
        reward: Column of the rewards in a long table, else None.
    """

    time: str
    arms: tuple[str, ...] = ()
    arm: str | None = None
    reward: str | None = None

    @property
    def measured(self) -> list[str]:
        """Columns of numbers."""
        return list(self.arms) or [str(self.reward)]

    def lines(self, table: RawTable) -> list[str]:
        """Describe the roles, and name the columns that are not used."""
        line = f"a wide table: time in {self.time!r}, and a column for each arm"
        if self.arm is not None:
            line = f"a long table: time in {self.time!r}, arm in {self.arm!r}, reward in "
            line += repr(self.reward)
        used = {self.time, self.arm, self.reward, *self.arms}
        unused = [repr(name) for name in table.columns if name not in used]
        return [line, *([f"not used: {', '.join(unused)}"] if unused else [])]


def read_roles(
    source: Any,
    find: Callable[[RawTable], Roles],
    *,
    na_values: str | float | Sequence[str | float] | None = None,
    separator: str | None = None,
    encoding: str | None = None,
) -> tuple[RawTable, Roles, list[str]]:
    """Read a table and find its roles; the user's words for missing values become empty.

    Times and names of arms are never missing values. The notes count the values taken for missing.
    """
    given = read_table(source, separator=separator, encoding=encoding)
    words = absent_words(na_values)
    if not words:
        return given, find(given), []
    columns = {name: blanked(column, words) for name, column in given.columns.items()}
    roles = find(replace(given, columns=columns))
    names = [name for name in (roles.time, roles.arm) if name is not None]
    columns |= {name: given.columns[name] for name in names}
    pairs = [(as_text(columns[name]), as_text(given.columns[name])) for name in roles.measured]
    gone = sum(old != "" and new == "" for pair in pairs for new, old in zip(*pair, strict=True))
    shown = ", ".join(map(repr, words[:5])) + (", ..." if len(words) > 5 else "")
    were = "value was" if gone == 1 else "values were"
    return replace(given, columns=columns), roles, [f"{gone:,} {were} taken for missing ({shown})"]


def find_roles(
    table: RawTable,
    *,
    time_column: str | None = None,
    arm_column: str | None = None,
    reward_column: str | None = None,
    arms: Sequence[str] | None = None,
    time_format: str | None = None,
) -> Roles:
    """Return the roles of the columns.

    Raises:
        DataError: If a named column is missing, or if more than one reading is possible: then
            the message names the argument that decides.
    """
    named = [name for name in (time_column, arm_column, reward_column) if name is not None]
    check_known(named, list(table.columns), f"column of {table.source}")
    time = time_column or _find_time(table, (arm_column, reward_column), time_format)
    _refuse_split_times(table, time, arm_column)
    if arm_column is None and reward_column is None:
        if arms and set(arms) <= set(table.columns) - {time}:
            return _wide(time, list(arms))
        return _guess(table, time, arms)
    others = _without_index(table, time)
    arm = arm_column or _find_one("arm", table, others, reward_column)
    reward = reward_column or _find_one("reward", table, others, arm)
    if len({time, arm, reward}) < 3:
        raise DataError("time_column, arm_column and reward_column must be three columns")
    return Roles(time, arm=arm, reward=reward)


def arms_of(
    table: RawTable, column: str, *, sort: bool = False
) -> tuple[list[str], NDArray[np.intp]]:
    """Return the arms of a long table, at least two, and the number of each row's arm."""
    codes, found = pd.factorize(np.array(as_text(table.columns[column]), dtype=object), sort=sort)
    for code, name in enumerate(found):
        check_name(name, f"the arm in {table.place(int((codes == code).argmax()))}")
    if len(found) < 2:
        raise DataError(f"a choice needs at least two arms, {table.source} has only {found[0]!r}")
    return list(found), codes


def check_known(names: Iterable[str], known: Sequence[str], what: str) -> None:
    """Refuse unknown names, and suggest a known one."""
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(str(name), known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known[:20])}"
            raise DataError(f"there is no {what} {name!r}: {hint}")


def _guess(table: RawTable, time: str, arms: Sequence[str] | None) -> Roles:
    """Return the roles where neither the arm nor the reward column is given."""
    others = _without_index(table, time)
    arm_names, reward_names = _called(others, ARM), _called(others, REWARD)
    if len(arm_names) == len(reward_names) == 1:
        return Roles(time, arm=arm_names[0], reward=reward_names[0])
    words = _holding(table, others, _is_word)
    if len(words) == 1 and len(others) == 2:
        return Roles(time, arm=words[0], reward=next(n for n in others if n != words[0]))
    if words:
        raise DataError(
            f"column {words[0]!r} of {table.source} holds words: for a long table give arm_column "
            "and reward_column, for a wide one name the columns to use as arms=[...]"
        )
    _refuse_long(table, time, others)
    check_known(arms or (), others, f"arm in {table.source}")
    return _wide(time, others)


def _without_index(table: RawTable, time: str) -> list[str]:
    """Return the columns beside the time and a saved index."""
    columns = table.columns
    return [name for name in columns if name != time and not _numbers_rows(name, columns[name])]


def _numbers_rows(name: str, values: pd.Series) -> bool:
    if name == UNNAMED or name.lower() not in ("index", "unnamed: 0"):
        return name == UNNAMED
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return np.array_equal(numbers, np.arange(len(numbers)))


def _wide(time: str, arms: list[str]) -> Roles:
    if len(arms) < 2:
        found = f"only {arms[0]!r}" if arms else "none"
        raise DataError(
            f"a choice needs at least two arms, found {found}: give a column for each arm, or a "
            "long table with the columns time, arm and reward"
        )
    return Roles(time, arms=tuple(arms))


def _find_time(
    table: RawTable, taken: tuple[str | None, str | None], time_format: str | None
) -> str:
    names = [name for name in table.columns if name not in taken]
    named = [name for name in names if re.sub(r"\W+", "_", name.lower()).strip("_") in TIME]
    stamps = _holding(table, names, is_time)
    written = _holding(table, names, lambda v: time_format is not None and fits(v, time_format))
    found = written or named or stamps
    clear = [name for name in found if name in named and name in stamps]
    if len(found) == 1 or len(clear) == 1:
        return (found if len(found) == 1 else clear)[0]
    if found:
        raise DataError(
            f"{table.source} has more than one column that may be the time: give time_column="
            + " or ".join(map(repr, found[:5]))
        )
    raise DataError(
        f"cannot tell which column of {table.source} is the time: give time_column, one of "
        + ", ".join(map(repr, names[:10]))
    )


def _find_one(role: str, table: RawTable, others: list[str], taken: str | None) -> str:
    """Return the column of this role: by its name, or by its values."""
    words, holds = (ARM, _is_word) if role == "arm" else (REWARD, is_number)
    free = [name for name in others if name != taken]
    for found in (_called(free, words), _holding(table, free, holds)):
        if len(found) == 1:
            return found[0]
    raise DataError(f"cannot tell which column of {table.source} is the {role}: give {role}_column")


def _holding(table: RawTable, names: Iterable[str], what: Callable[[pd.Series], bool]) -> list[str]:
    return [name for name in names if what(table.columns[name])]


def _called(names: Iterable[str], words: Collection[str]) -> list[str]:
    return [name for name in names if name.lower() in words]


def _is_word(values: pd.Series) -> bool:
    return not is_number(values)


def _refuse_split_times(table: RawTable, time: str, arm_column: str | None) -> None:
    """Refuse dates that repeat beside times of day: halves of times."""
    columns = table.columns
    of_day = {*_called(columns, HOUR), *_holding(table, columns, is_time_of_day)}
    hours = [name for name in columns if name in of_day]
    dates = [name for name in _holding(table, columns, is_time) if name not in of_day]
    if not hours or not dates or time not in (dates[0], *hours):
        return
    keys = [dates[0], *(n for n in columns if n == arm_column or n.lower() in ARM)]
    if pd.DataFrame({key: columns[key] for key in keys}).duplicated().any():
        raise DataError(
            f"{table.source} has the date in {dates[0]!r} and the time of day in {hours[0]!r}: "
            "write both in one column, such as 2018-03-01 13:00, and take the two out"
        )


def _refuse_long(table: RawTable, time: str, others: list[str]) -> None:
    """Refuse a table of numbers in which times repeat: it has a row for each arm."""
    if table.columns[time].duplicated(keep=False).mean() <= 0.5 or len(others) < 2:
        return
    # An arm comes at most once at a time, and there are fewer arms than rewards.
    rows = pd.DataFrame({name: table.columns[name] for name in (time, *others)})
    once = [name for name in others if not rows.duplicated([time, name]).any()]
    arm = min(once, key=lambda name: rows[name].nunique(), default=None)
    rewards = " or ".join(repr(name) for name in [n for n in others if n != arm][:3])
    perhaps = f" (perhaps {arm!r})" if arm else ""
    raise DataError(
        f"{table.source} has the same times again and again, as in a long table: give arm_column"
        f"{perhaps} and reward_column (perhaps {rewards}); if each column is an arm, name them as "
        "arms=[...]"
    )
