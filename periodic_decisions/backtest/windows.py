"""How a table is cut into windows: whole seasons, one behind the other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from periodic_decisions.tables.series import Series
from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid.cache import folder as data_folder
from periodic_envs.files import write_atomically

REPLAY = "PeriodicGP-Replay-v0"
WANTED_WINDOWS = 8
"""Windows that a table is cut into: fewer make wide intervals, more leave little to learn from."""
MIN_WINDOWS = 4
"""With fewer windows of whole long seasons, those of a shorter season are taken."""
MIN_STEPS = 10
"""Shortest window that is chosen unasked: with fewer decisions agents have only begun to look."""
MAX_STEPS = 1008
"""Longest window that is chosen unasked, six weeks of hours: agents grow slower with time."""
MIN_REPEATS = 10
"""A season that comes back less often, warm start included, is told after those that do: an agent
that looks at one season only can hardly learn a phase that it meets so rarely."""
WARM_SEASONS = 2
"""Seasons before a window that everybody knows, unless asked otherwise."""


def write_clean(series: Series) -> Path:
    """Write a table in the form that ``PeriodicGP-Replay-v0`` reads, named by its content.

    Other processes read it, and runs of a table that was seen before are found in the store.
    """
    frame = pd.DataFrame(series.values, columns=list(series.names))
    times = series.times
    if isinstance(times, pd.DatetimeIndex) and times.tz is not None:
        times = times.tz_convert("UTC").tz_localize(None)
    frame.insert(0, "time" if "time" not in series.names else "time of the row", times)
    content = frame.to_parquet(index=False)
    path = data_folder() / "tables" / f"{hashlib.sha256(content).hexdigest()[:32]}.parquet"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    return path


def replay_worlds(
    name: str, starts: Iterable[str], arguments: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Windows of a table as worlds of one task of a protocol.

    Args:
        name: The task.
        starts: When each window begins, as in the data.
        arguments: What else ``PeriodicGP-Replay-v0`` is made with.
    """
    return [
        {
            "id": REPLAY,
            "label": f"{name}, from {start}",
            "arguments": {**arguments, "start": start},
            "group": name,
        }
        for start in starts
    ]


@dataclass(frozen=True)
class Plan:
    """Windows of a table. Those who decide there know a warm start before each.

    Attributes:
        firsts: The step of the table at which each window begins, its warm start left out.
        steps: Decisions in a window.
        warm: Steps before it that everybody knows.
        season: The season of which a window has a whole number, None without one.
        periods: Seasons that fit into a window and can be told, the main one first.
    """

    firsts: tuple[int, ...]
    steps: int
    warm: int
    season: float | None
    periods: tuple[float, ...]

    def starts(self, series: Series) -> list[str]:
        """When the warm start of each window begins."""
        return [series.clock.at(first - self.warm) for first in self.firsts]

    def arguments(self) -> dict[str, Any]:
        """What a window is made with, besides the table and the time of its beginning."""
        several: Any = list(self.periods) if len(self.periods) > 1 else None
        # A replay has a period; where there is no season nobody is told, and it counts for nothing.
        one: Any = self.periods[0] if self.periods else float(self.steps)
        given = {"period": several or one, "steps": self.warm + self.steps}
        given |= {} if self.periods else {"reveal_period": False}
        return given | ({"warm_start": self.warm} if self.warm else {})


def plan_windows(
    length: int,
    periods: Sequence[float],
    *,
    windows: int | None = None,
    steps: int | None = None,
    warm: int | None = None,
) -> Plan:
    """Cut a table into windows that do not overlap, to its end.

    A window has a whole number of the longest season that leaves room for four windows; there are
    eight of them, or more where they would have more than 1,008 steps. What does not fill a window
    is left at the beginning of the table, where it is known before.

    Args:
        length: Steps of the table.
        periods: Its seasons in steps, the main one first; none if there is none.
        windows: How many, at most as many as there is room for; None to choose.
        steps: Decisions in each; None to choose.
        warm: Steps before each that everybody knows; None for two seasons.

    Raises:
        DataError: If there is no room for them.
    """
    seasons: list[float | None] = [*sorted(periods, reverse=True)]
    for season in seasons or [None]:
        found = _plan(length, season, windows, steps, warm)
        if len(found[0]) >= (windows or MIN_WINDOWS):
            break
    firsts, each, known = found
    if windows is not None and len(firsts) < windows:
        raise DataError(f"{length:,} steps have no room for {windows:,} windows: {_lengths(found)}")
    if not firsts:
        raise DataError(f"{length:,} steps have no room for a window: {_lengths(found)}")
    if steps is None and windows is None and season is None and each < MIN_STEPS:
        raise DataError(
            f"{length:,} steps are too short for a backtest: {WANTED_WINDOWS} windows of at least "
            f"{MIN_STEPS} steps are needed; ask for fewer windows to try it all the same"
        )
    told = (period for period in periods if period <= each)
    # Sorting is stable: seasons that come back often enough stay in their order.
    often = sorted(told, key=lambda period: known + each < MIN_REPEATS * period)
    return Plan(firsts, each, known, season, tuple(often))


def _lengths(found: tuple[tuple[int, ...], int, int]) -> str:
    return f"a warm start of {found[2]:,} steps and {found[1]:,} steps to decide are needed"


def _plan(
    length: int, season: float | None, windows: int | None, steps: int | None, warm: int | None
) -> tuple[tuple[int, ...], int, int]:
    """Where windows of whole seasons of one kind begin, their length and their warm start."""
    known = warm if warm is not None else round(WARM_SEASONS * (season or 0.0))
    room = length - known
    if steps is None:
        wanted = room // (windows or WANTED_WINDOWS)
        if windows is None:
            wanted = min(wanted, MAX_STEPS)
        unit = season or 1.0
        steps = round(max(wanted // unit, 1.0) * unit)
    there = max(room // max(steps, 1), 0)
    count = there if windows is None else min(windows, there)
    return tuple(length - steps * (count - i) for i in range(count)), steps, known
