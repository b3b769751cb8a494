"""Rewards that stand in a table more than once for one time and arm."""

from __future__ import annotations

import numpy as np
import pandas as pd

from periodic_decisions.deciding.errors import DeciderError
from periodic_decisions.tables.daylight import set_back
from periodic_decisions.tables.grid import Clock

DUPLICATES = ("error", "mean")
MIN_SHARE_ALONE = 0.5
"""Rewards are those of a log if at more than this share of the times only one arm has any."""
HOUR = pd.Timedelta(hours=1)


def once(rewards: pd.DataFrame, *, duplicates: str, zone: str | None, source: str) -> pd.DataFrame:
    """Rewards of a table of all arms, each time and arm once; those of a log as they are.

    In a log one arm may be chosen several times at once. In a table equal rewards are dropped, and
    different ones are averaged if that is asked for; those of the hour that clocks show twice when
    they are set back are kept.

    Args:
        rewards: Columns time, arm and reward.
        duplicates: "error", or "mean".
        zone: Whose clocks times without an offset are read by.
        source: What the table is called.

    Raises:
        DeciderError: If different rewards stand for one time and arm.
    """
    if duplicates not in DUPLICATES:
        raise DeciderError(f"duplicates must be one of {', '.join(DUPLICATES)}, got {duplicates!r}")
    place = ["time", "arm"]
    if not rewards.duplicated(place).any() or _is_log(rewards):
        return rewards
    if duplicates == "mean":
        return rewards.groupby(place, sort=False, as_index=False)["reward"].mean()
    rewards = rewards.drop_duplicates()
    for time, arm, _ in rewards[rewards.duplicated(place)].itertuples(index=False):
        if not _comes_twice(time, zone):
            raise DeciderError(
                f"{source} has different rewards for {arm!r} at {time}: keep one of them, or take "
                "their average with duplicates='mean'"
            )
    return rewards


def _is_log(rewards: pd.DataFrame) -> bool:
    return bool((rewards.groupby("time")["arm"].nunique() == 1).mean() > MIN_SHARE_ALONE)


def _comes_twice(time: pd.Timestamp, zone: str | None) -> bool:
    """Whether clocks show this time twice."""
    if time.tzinfo is not None:
        return False
    return bool(set_back(Clock(time, HOUR), np.zeros(1, dtype=np.intp), zone)[0])
