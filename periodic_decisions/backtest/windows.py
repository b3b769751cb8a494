"""Windows of a table: whole seasons, one after the other, each a replayed world."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from periodic_decisions.tables.grid import show
from periodic_decisions.tables.series import Series
from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid.cache import folder as data_folder
from periodic_envs.data.recording import MAX_MISSING
from periodic_envs.files import write_atomically

REPLAY = "PeriodicGP-Replay-v0"
WANTED_WINDOWS = 8  # fewer make wide intervals, more leave little to learn from
MIN_WINDOWS = 4  # of whole long seasons; with fewer, a shorter season is taken
MIN_STEPS = 10  # of a window by default
MAX_STEPS = 1008  # of a window by default, six weeks of hours: agents grow slower with time
MIN_REPEATS = 10  # of a season in a window, so that an agent can learn its phases
WARM_SEASONS = 2  # before a window, known to all agents by default


@dataclass(frozen=True)
class WindowPlan:
    """Windows of a table, each after a warm start that agents know.

    Attributes:
        firsts: Step of the table at which each window begins, without its warm start.
        steps: Decisions in a window.
        warm: Steps of the warm start.
        season: Season of which a window has a whole number, None without one.
        periods: Seasons that fit into a window and are told to agents, the main one first.
    """

    firsts: tuple[int, ...]
    steps: int
    warm: int
    season: float | None
    periods: tuple[float, ...]


def plan_windows(
    length: int,
    periods: Sequence[float],
    *,
    windows: int | None = None,
    steps: int | None = None,
    warm: int | None = None,
) -> WindowPlan:
    """Cut a table into windows that do not overlap, to its end.

    A window has a whole number of the longest season that leaves room for four windows; there are
    eight of them, or more where they would have more than 1,008 steps. The rest stays at the
    beginning of the table, where it is known before.

    Args:
        length: Steps of the table.
        periods: Its seasons in steps, the main one first; none if there is none.
        windows: Number of windows; None to choose.
        steps: Decisions in each; None to choose.
        warm: Steps of the warm start; None for two seasons.

    Raises:
        DataError: If there is no room for them.
    """
    seasons: list[float | None] = [*sorted(periods, reverse=True)]
    for season in seasons or [None]:
        known = warm if warm is not None else round(WARM_SEASONS * (season or 0.0))
        each = steps or _window_steps(length - known, season, windows)
        room = max((length - known) // max(each, 1), 0)
        if room >= (windows or MIN_WINDOWS):
            break
    if room < (windows or 1):
        wanted = "a window" if windows is None else f"{windows:,} windows"
        raise DataError(
            f"{length:,} steps have no room for {wanted}: a warm start of {known:,} steps and "
            f"{each:,} steps to decide are needed"
        )
    if steps is None and windows is None and season is None and each < MIN_STEPS:
        raise DataError(
            f"{length:,} steps are too short for a backtest: {WANTED_WINDOWS} windows of at least "
            f"{MIN_STEPS} steps are needed; ask for fewer windows to try it all the same"
        )
    count = windows or room
    firsts = tuple(length - each * (count - i) for i in range(count))
    told = (period for period in periods if period <= each)
    # Sorting is stable: seasons that repeat often enough stay in their order.
    often = sorted(told, key=lambda period: known + each < MIN_REPEATS * period)
    return WindowPlan(firsts, each, known, season, tuple(often))


def _window_steps(room: int, season: float | None, windows: int | None) -> int:
    """Return the length of windows of whole seasons."""
    wanted = room // windows if windows else min(room // WANTED_WINDOWS, MAX_STEPS)
    unit = season or 1.0
    return round(max(wanted // unit, 1.0) * unit)


def replay_worlds(
    name: str, starts: Iterable[str | float], arguments: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return windows of a table as worlds of one task of a protocol.

    Args:
        name: The task.
        starts: Beginning of each window: text of a time, or a number.
        arguments: Other arguments of ``PeriodicGP-Replay-v0``.
    """
    return [
        {
            "id": REPLAY,
            "label": f"{name}, from {start if isinstance(start, str) else show(start)}",
            "arguments": {**arguments, "start": start},
            "group": name,
        }
        for start in starts
    ]


def window_worlds(
    name: str, series: Series, plan: WindowPlan, objective: str
) -> list[dict[str, Any]]:
    """Return the windows of a plan as worlds that replay a clean copy of the table."""
    # A replay has a period; without a season agents are not told it, and it counts for nothing.
    periods: Any = list(plan.periods) or [float(plan.steps)]
    arguments = {
        "data": str(write_clean(series)),
        "period": periods if len(periods) > 1 else periods[0],
        "steps": plan.warm + plan.steps,
        **({} if plan.periods else {"reveal_period": False}),
        **({"warm_start": plan.warm} if plan.warm else {}),
        **({"objective": objective} if objective != "max" else {}),
    }
    begins = [series.times[first - plan.warm] for first in plan.firsts]
    starts = (show(at) if isinstance(at, pd.Timestamp) else float(at) for at in begins)
    return replay_worlds(name, starts, arguments)


def write_clean(series: Series) -> Path:
    """Write a table in the form that ``PeriodicGP-Replay-v0`` reads, named by its content.

    Other processes read it, and runs of a table that was seen before are found in the store.
    """
    times = series.times
    if isinstance(times, pd.DatetimeIndex) and times.tz is not None:
        times = times.tz_convert("UTC").tz_localize(None)
    frame = pd.DataFrame(series.values, columns=list(series.names))
    frame.insert(0, "time" if "time" not in series.names else "time of the row", times)
    content = frame.to_parquet(index=False)
    path = data_folder() / "tables" / f"{hashlib.sha256(content).hexdigest()[:32]}.parquet"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    return path


def scarce_arms(series: Series) -> str | None:
    """Return advice about arms with more gaps than a replay allows, often misspelt names."""
    missing = dict(zip(series.names, np.isnan(series.values).mean(0), strict=True))
    scarce = [name for name, share in missing.items() if share > MAX_MISSING]
    others = [name for name in series.names if name not in scarce]
    if not scarce or len(others) < 2:
        return None
    parts = []
    for name in scarce[:3]:
        close = difflib.get_close_matches(name, others, n=1)
        meant = f" (is it {close[0]!r} misspelt?)" if close else ""
        parts.append(f"{missing[name]:.0%} of {name!r}{meant}")
    more = f" and of {len(scarce) - 3:,} more arms" if len(scarce) > 3 else ""
    return (
        f"too much is missing: {', '.join(parts)}{more}; at most {MAX_MISSING:.0%} may be. Correct "
        f"the table, or keep the other arms alone: arms={others}"
    )
