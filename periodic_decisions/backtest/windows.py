"""Windows of a table, each a replayed world, and the rewards of reference policies in them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evaluation.references import phase_bins, reference_rewards
from periodic_decisions.seasons.schedule import measure_gain
from periodic_decisions.tables.series import Series, show
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid.cache import folder as data_folder
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.files import write_atomically

ORACLE, FIXED, UNIFORM = "oracle", "best-fixed", "uniform-random"
HINDSIGHT = "best-per-phase"
LEARNED, LEARNED_FIXED = "learned-schedule", "learned-fixed"
SCHEDULES = (HINDSIGHT, LEARNED)  # these need a season
MEANINGS = {
    ORACLE: "the best arm of every step, which is known only afterwards",
    HINDSIGHT: "the best arm of each phase of the season told first, in hindsight for each window",
    LEARNED: "the best arm of each phase in all data before the window, by the season worth most",
    FIXED: "the best arm of each window, in hindsight",
    LEARNED_FIXED: "the best arm of all data before the window",
    UNIFORM: "an arm at random",
}
REPLAY = "PeriodicGP-Replay-v0"
WANTED_WINDOWS = 8  # fewer make wide intervals, more leave little to learn from
MIN_WINDOWS = 4  # of whole long seasons; with fewer, a shorter season is taken
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
    return [
        {
            "id": REPLAY,
            "label": f"{name}, from {show(at)}",
            "arguments": {
                **arguments,
                "start": show(at) if isinstance(at, pd.Timestamp) else float(at),
            },
            "group": name,
        }
        for at in begins
    ]


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


def window_references(
    env: PeriodicBanditEnv, before: Array, periods: Sequence[float]
) -> dict[str, float]:
    """Return the total reward of each of ``MEANINGS`` in one window.

    Args:
        env: The window, a replayed table.
        before: Rewards of all arms at all steps before the window, shape (steps, arms).
        periods: Seasons in steps. The learned schedule has the one that was worth most before,
            judged by seasons left out; without any there are no schedules.
    """
    env.reset(seed=0)
    assert env.episode is not None
    process, first = env.episode.process, env.episode.first_step
    arms = np.arange(env.public.n_actions or 0)
    rewards = np.array([process.mean(arms, first + t) for t in range(env.horizon)])
    found = {name: float(each.sum()) for name, each in reference_rewards(env).items()}
    steps = np.arange(len(before) + len(rewards))
    found[LEARNED_FIXED] = _learned(before, rewards, np.zeros_like(steps))
    if periods:
        found[LEARNED] = _learned(before, rewards, phase_bins(steps, worth_most(before, periods)))
    else:
        del found[HINDSIGHT]
    return {name: found[name] for name in MEANINGS if name in found}


def worth_most(before: Array, periods: Sequence[float]) -> float:
    """Return the season by whose phases a schedule gains most, judged by seasons left out."""

    def worth(period: float) -> float:
        gain = measure_gain(before, period) if len(before) else None
        return -np.inf if gain is None else gain.per_phase

    return max(periods, key=worth)


def _learned(before: Array, rewards: Array, bins: NDArray[np.intp]) -> float:
    """Return the total reward of the arms that were best before in the same bin.

    In a bin without data it is the arm that was best in all, and without any data an arm at random.
    """
    if not len(before):
        return float(rewards.mean(1).sum())
    chosen = np.full(bins.max() + 1, before.mean(0).argmax())
    for bin in np.unique(bins[: len(before)]):
        chosen[bin] = before[bins[: len(before)] == bin].mean(0).argmax()
    return float(rewards[np.arange(len(rewards)), chosen[bins[len(before) :]]].sum())
