"""What phases of a log are called: by the clock, where the season is a day or a week."""

from __future__ import annotations

import pandas as pd

from periodic_decisions.logs.log import Log
from periodic_decisions.logs.seasons import Seasons

DAY, WEEK = pd.Timedelta(days=1), pd.Timedelta(weeks=1)
MONDAY = pd.Timestamp("2024-01-01")


def phase_label(log: Log, seasons: Seasons, phase: int) -> str:
    """When a phase begins: "05:00" of a day, "Tue 05:00" of a week, else "phase 5"."""
    step = log.clock.step
    length = seasons.period * step if isinstance(step, pd.Timedelta) else None
    if length not in (DAY, WEEK):
        return f"phase {phase}"
    moment = MONDAY + phase * (length / seasons.phases)
    return f"{moment:%a %H:%M}" if length == WEEK else f"{moment:%H:%M}"
