"""How a log is told from a table with the rewards of all arms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from periodic_decisions.logs.reading import probability_column_of, without
from periodic_decisions.tables.columns import find_roles
from periodic_decisions.tables.formats import as_text, read_table
from periodic_decisions.tables.values import MISSING
from periodic_envs.data.errors import DataError

MIN_SHARE_ALONE = 0.5
"""A table is a log if at more than this share of its times only one arm has a reward."""


@dataclass(frozen=True)
class Kind:
    """What a table was taken for, and why.

    Attributes:
        is_log: Whether it is a log.
        why: The reason, in words.
    """

    is_log: bool
    why: str


def tell_kind(
    source: Any,
    *,
    time_column: str | None = None,
    arm_column: str | None = None,
    reward_column: str | None = None,
    time_format: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    **_: Any,
) -> Kind:
    """Whether a table is a log, or has the rewards of all arms at each time.

    It is a log if it has a column of probabilities, or if it is a long table in which only one arm
    has a reward at most of the times. What cannot be read is not called a log: reading it says
    what is wrong.
    """
    try:
        table = read_table(source, separator=separator, encoding=encoding)
        probability = probability_column_of(table)
        roles = find_roles(
            without(table, [probability]),
            time_column=time_column,
            arm_column=arm_column,
            reward_column=reward_column,
            arms=None,
            time_format=time_format,
        )
    except DataError as error:
        return Kind(False, str(error))
    if roles.arm is None or roles.reward is None:
        return Kind(False, "it is a wide table, with a column for each arm")
    if probability is not None:
        return Kind(True, f"it has a probability for each row, in {probability!r}")
    times, arms, rewards = (
        as_text(table.columns[n]) for n in (roles.time, roles.arm, roles.reward)
    )
    known = [word.lower() not in MISSING for word in rewards]
    rows = pd.DataFrame({"time": times, "arm": arms})[known]
    seen = rows.groupby("time")["arm"].nunique()
    alone = float((seen == 1).mean()) if len(seen) else 0.0
    why = f"at {alone:.0%} of the times only one arm has a reward"
    return Kind(alone > MIN_SHARE_ALONE, why)
