"""Kind of a table, and roles of its columns (time, arm, reward), named by the user or detected."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from periodic_decisions.tables.cells import MISSING, is_number, is_time
from periodic_decisions.tables.raw import UNNAMED, RawTable, as_text, check_name, read_table
from periodic_envs.data.errors import DataError

# fmt: off
TIME = frozenset((
    "date", "date_time", "datetime", "datum", "ds", "hour", "step", "t", "time", "time_stamp",
    "timestamp", "utc", "when", "zeit", "zeitpunkt", "zeitstempel",
))
ARM = frozenset((
    "action", "arm", "id", "item", "location", "name", "place", "product", "sensor", "series",
    "site", "station", "store", "unique_id", "variable", "zone",
))
REWARD = frozenset((
    "amount", "count", "demand", "measurement", "payoff", "reward", "sales", "score", "target",
    "value", "y",
))
# fmt: on
PROBABILITY = frozenset(
    (
        *("probability", "prob", "propensity", "propensity_score", "pscore", "action_prob"),
        "wahrscheinlichkeit",
    )
)
INDEX = (UNNAMED, "Unnamed: 0", "index")  # names of columns with saved row numbers
MIN_SHARE_ALONE = 0.5  # in a log, more than this share of times have a single arm


@dataclass(frozen=True)
class Roles:
    """Roles of the columns.

    Attributes:
        time: Column of the times.
        arms: Columns of the arms in a wide table; empty for a long table.
        arm: Column of the arms in a long table; None for a wide table.
        reward: Column of the rewards in a long table; None for a wide table.
    """

    time: str
    arms: tuple[str, ...] = ()
    arm: str | None = None
    reward: str | None = None

    @property
    def measured(self) -> list[str]:
        """Columns of the rewards."""
        return list(self.arms) or [str(self.reward)]

    def lines(self, table: RawTable) -> list[str]:
        """Return lines that describe the roles and list unused columns."""
        line = f"the table is wide, with times in {self.time!r} and a column for each arm"
        if self.arm is not None:
            line = (
                f"the table is long, with times in {self.time!r}, arms in {self.arm!r} and "
                "rewards in "
            )
            line += repr(self.reward)
        used = {self.time, self.arm, self.reward, *self.arms}
        unused = [repr(name) for name in table.columns if name not in used]
        return [line, *([f"columns that are not used: {', '.join(unused)}"] if unused else [])]


def find_roles(
    table: RawTable,
    *,
    time_column: str | None = None,
    arm_column: str | None = None,
    reward_column: str | None = None,
    arms: Sequence[str] | None = None,
) -> Roles:
    """Return the roles of the columns.

    Raises:
        DataError: If a named column is missing, or if the roles are ambiguous. The message names
            the argument that resolves the ambiguity.
    """
    named = [name for name in (time_column, arm_column, reward_column) if name is not None]
    check_known(named, list(table.columns), f"column of {table.source}")
    time = time_column or _find_time(table, (arm_column, reward_column))
    if arm_column is None and reward_column is None:
        if arms and set(arms) <= set(table.columns) - {time}:
            return _wide(time, list(arms))
        return _guess(table, time, arms)
    others = [name for name in table.columns if name not in (time, *INDEX)]
    arm = arm_column or _find_one("arm", table, others, reward_column)
    reward = reward_column or _find_one("reward", table, others, arm)
    if len({time, arm, reward}) < 3:
        raise DataError(
            "repeated-names",
            "time_column, arm_column and reward_column must be different, got "
            f"{time!r}, {arm!r} and {reward!r}",
        )
    return Roles(time, arm=arm, reward=reward)


def arms_of(
    table: RawTable, column: str, *, sort: bool = False
) -> tuple[list[str], NDArray[np.intp]]:
    """Return the names of the arms in a long table, and the number of the arm in each row."""
    codes, names = pd.factorize(np.array(as_text(table.columns[column]), dtype=object), sort=sort)
    for code, name in enumerate(names):
        check_name(name, f"the arm in {table.place(int((codes == code).argmax()))}")
    if len(names) < 2:
        raise DataError(
            "too-few-arms",
            f"at least two arms are required, but {table.source} has only {names[0]!r}",
        )
    return list(names), codes


def check_known(names: Iterable[str], known: Sequence[str], what: str) -> None:
    """Raise an error for an unknown name; the message suggests known names.

    The first word of ``what`` is part of the error code: "unknown-column" or "unknown-arm".
    """
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(str(name), known, n=1)
            hint = (
                f"did you mean {close[0]!r}?"
                if close
                else f"expected one of {', '.join(known[:20])}"
            )
            raise DataError(f"unknown-{what.split()[0]}", f"unknown {what}: {name!r}; {hint}")


def _guess(table: RawTable, time: str, arms: Sequence[str] | None) -> Roles:
    """Detect the roles of the columns if neither the arm column nor the reward column is given."""
    others = [name for name in table.columns if name not in (time, *INDEX)]
    arm_names, reward_names = _called(others, ARM), _called(others, REWARD)
    if len(arm_names) == len(reward_names) == 1:
        return Roles(time, arm=arm_names[0], reward=reward_names[0])
    words = [name for name in others if not is_number(table, name)]
    if len(words) == 1 and len(others) == 2:
        return Roles(time, arm=words[0], reward=next(n for n in others if n != words[0]))
    again = table.columns[time].duplicated(keep=False).mean() > 0.5 and len(others) > 1
    if words or again:
        evidence = f"column {words[0]!r} holds text" if words else "times are repeated"
        raise DataError(
            "ambiguous-table",
            f"{table.source} may be a long table ({evidence}): give arm_column and reward_column, "
            "or name the columns of the arms as arms=[...]",
        )
    check_known(arms or (), others, f"arm in {table.source}")
    return _wide(time, others)


def _wide(time: str, arms: list[str]) -> Roles:
    if len(arms) < 2:
        raise DataError(
            "too-few-arms",
            f"at least two arms are required, got {arms}: provide a column for each arm, or a "
            "long table with the columns time, arm and reward",
        )
    return Roles(time, arms=tuple(arms))


def _find_time(table: RawTable, taken: tuple[str | None, str | None]) -> str:
    names = [name for name in table.columns if name not in taken]
    named = [name for name in names if re.sub(r"\W+", "_", name.lower()).strip("_") in TIME]
    stamps = [name for name in names if is_time(table, name)]
    clear = [name for name in named if name in stamps]
    for candidates in (named or stamps, clear):
        if len(candidates) == 1:
            return candidates[0]
    raise DataError(
        "ambiguous-column",
        f"the time column of {table.source} is ambiguous: give time_column="
        + " or ".join(map(repr, (named or stamps or names)[:10])),
    )


def _find_one(role: str, table: RawTable, others: list[str], taken: str | None) -> str:
    """Return the column with the role "arm" or "reward", detected by its name or its values."""
    free = [name for name in others if name != taken]
    called = _called(free, ARM if role == "arm" else REWARD)
    holding = [name for name in free if is_number(table, name) == (role == "reward")]
    for candidates in (called, holding):
        if len(candidates) == 1:
            return candidates[0]
    raise DataError(
        "ambiguous-column", f"the {role} column of {table.source} is ambiguous: give {role}_column"
    )


def _called(names: Iterable[str], words: Collection[str]) -> list[str]:
    return [name for name in names if name.lower() in words]


def detect_kind(
    source: Any, *, separator: str | None = None, encoding: str | None = None, **columns: Any
) -> tuple[bool, str]:
    """Return whether a table is a log, and the reason.

    A log is a long table that has a column of probabilities, or in which usually only one arm has a
    reward at a time. A file that cannot be read does not count as a log; the function that
    reads it later reports the error.
    """
    known = ("time_column", "arm_column", "reward_column")
    columns = {name: value for name, value in columns.items() if name in known}
    try:
        table = read_table(source, separator=separator, encoding=encoding)
        probability = probability_column_of(table)
        roles = find_roles(table.without([probability]), **columns)
    except DataError as error:
        return False, str(error)
    if roles.arm is None or roles.reward is None:
        return False, "it is a wide table, with a column for each arm"
    if probability is not None:
        return True, f"it has a probability for each row, in {probability!r}"
    times, arms, rewards = (
        as_text(table.columns[n]) for n in (roles.time, roles.arm, roles.reward)
    )
    known_rows = [word.lower() not in MISSING for word in rewards]
    arms_per_time = (
        pd.DataFrame({"time": times, "arm": arms})[known_rows].groupby("time")["arm"].nunique()
    )
    alone = float((arms_per_time == 1).mean()) if len(arms_per_time) else 0.0
    return alone > MIN_SHARE_ALONE, f"at {alone:.0%} of the times only one arm has a reward"


def probability_column_of(table: RawTable, name: str | None = None) -> str | None:
    """Return the name of the column of probabilities, or None.

    If ``name`` is None, the column is detected by its name, such as "propensity".
    """
    if name is not None:
        check_known([name], list(table.columns), f"column of {table.source}")
        return name
    candidates = [c for c in table.columns if c.lower().replace(" ", "_") in PROBABILITY]
    if len(candidates) > 1:
        raise DataError(
            "ambiguous-column",
            f"{table.source} has more than one column that may be the probability: give "
            f"probability_column={' or '.join(map(repr, candidates))}",
        )
    return candidates[0] if candidates else None
