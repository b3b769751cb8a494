"""Worlds that replay windows of a table, and rewards of reference policies in these windows."""

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
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.files import data_folder, write_atomically

ORACLE, FIXED, UNIFORM = "oracle", "best-fixed", "uniform-random"
HINDSIGHT = "best-per-phase"
LEARNED, LEARNED_FIXED = "learned-schedule", "learned-fixed"
SCHEDULES = (HINDSIGHT, LEARNED)  # policies that need a season
MEANINGS = {
    ORACLE: "the best arm of every step, which is known only afterwards",
    HINDSIGHT: "the best arm of each phase of the main season, chosen in hindsight for each window",
    LEARNED: "the best arm of each phase in all data before the window, for the season with the "
    "largest gain",
    FIXED: "the best single arm of each window, chosen in hindsight",
    LEARNED_FIXED: "the best single arm in all data before the window",
    UNIFORM: "an arm at random at each step",
}
REPLAY = "PeriodicGP-Replay-v0"
WANTED_WINDOWS = 8  # fewer windows give wide intervals; more windows would be too short to learn in
MIN_WINDOWS = 4  # if fewer windows of whole seasons fit, a shorter season is used
# Default maximum length of a window (six weeks of hours), since agents slow down with time.
MAX_STEPS = 1008
MIN_REPEATS = 10  # minimum number of repetitions, in warm start and window, to learn a season
WARM_SEASONS = 2  # default length of the warm start, in seasons


@dataclass(frozen=True)
class WindowPlan:
    """Windows of a table, each preceded by a warm start.

    The agents receive the best arm of each step of the warm start.

    Attributes:
        firsts: Step of the table with the first decision of each window; the warm start ends before
            this step.
        steps: Number of decisions in a window.
        warm: Number of steps of the warm start.
        season: Length in steps of the season of which a window contains whole repetitions; None
            without a season.
        periods: Lengths in steps of the seasons that fit into a window, the main season first.
            Agents receive these lengths.
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
    """Cut a table into adjacent windows; the last window ends with the table.

    Unless ``steps`` is given, the length of a window is a whole multiple of one season: the longest
    season for which the table has room for at least four windows (or for ``windows``, if given). If
    there is no such season, the shortest season is used. By default there are about eight windows,
    or more if eight windows would have more than 1,008 steps each. The remaining steps precede the
    first window.

    Args:
        length: Number of steps of the table.
        periods: Lengths of the seasons in steps, the main season first; may be empty.
        windows: Number of windows; None to choose it automatically.
        steps: Number of decisions in each window; None to choose it automatically.
        warm: Number of steps of the warm start; None for two seasons.

    Raises:
        DataError: If the table is too short.
    """
    seasons: list[float | None] = [*sorted(periods, reverse=True)]
    for season in seasons or [None]:
        known = warm if warm is not None else round(WARM_SEASONS * (season or 0.0))
        window_steps = steps or _window_steps(length - known, season, windows)
        room = max((length - known) // max(window_steps, 1), 0)
        if room >= (windows or MIN_WINDOWS):
            break
    if room < (windows or 1):
        wanted = "a window" if windows is None else f"{windows:,} windows"
        raise DataError(
            "too-few-steps",
            f"{length:,} steps are too few for {wanted}: a warm start of {known:,} steps and "
            f"{window_steps:,} steps for each window are needed",
        )
    count = windows or room
    firsts = tuple(length - window_steps * (count - i) for i in range(count))
    fitting = (period for period in periods if period <= window_steps)
    # Seasons that repeat too rarely to be learned move to the end. Sorting is stable, so the other
    # seasons keep their order.
    ordered = sorted(fitting, key=lambda period: known + window_steps < MIN_REPEATS * period)
    return WindowPlan(firsts, window_steps, known, season, tuple(ordered))


def _window_steps(room: int, season: float | None, windows: int | None) -> int:
    """Return the number of steps in a window, which consists of whole seasons.

    Args:
        room: Number of steps of the table after the first warm start.
        season: Length of the season in steps; None without a season.
        windows: Number of windows; None to choose it automatically.
    """
    wanted = room // windows if windows else min(room // WANTED_WINDOWS, MAX_STEPS)
    unit = season or 1.0
    return round(max(wanted // unit, 1.0) * unit)


def window_worlds(
    name: str, series: Series, plan: WindowPlan, objective: str
) -> list[dict[str, Any]]:
    """Return one world for each window of a plan, as plain data for a protocol.

    The worlds replay a clean copy of the table.
    """
    # A replay needs a period. Without a season, the period is the length of a window, and agents do
    # not receive it.
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
    """Write a table to a file for ``PeriodicGP-Replay-v0``, and return the path of the file.

    Worker processes read the file. The name of the file is a hash of its content, so that stores
    can reuse results of identical tables.
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
    """Return the total reward of each policy in ``MEANINGS`` in one window.

    Args:
        env: World that replays the window.
        before: Rewards of all arms at all steps before the window, shape (steps, arms).
        periods: Lengths of the seasons in steps. The learned schedule follows the season with the
            largest gain in the data before the window, measured by cross-validation over
            repetitions of the season. Without seasons, the result contains no schedules.
    """
    env.reset(seed=0)
    assert env.episode is not None
    process, first = env.episode.process, env.episode.first_step
    arms = np.arange(env.public.n_actions or 0)
    rewards = np.array([process.mean(arms, first + t) for t in range(env.horizon)])
    totals = {name: float(policy.sum()) for name, policy in reference_rewards(env).items()}
    steps = np.arange(len(before) + len(rewards))
    totals[LEARNED_FIXED] = _learned(before, rewards, np.zeros_like(steps))
    if periods:
        totals[LEARNED] = _learned(before, rewards, phase_bins(steps, worth_most(before, periods)))
    else:
        del totals[HINDSIGHT]
    return {name: totals[name] for name in MEANINGS if name in totals}


def worth_most(before: Array, periods: Sequence[float]) -> float:
    """Return the length of the season whose schedule has the largest reward.

    The rewards of schedules are measured by cross-validation on the rewards ``before``, shape
    (steps, arms).
    """

    def worth(period: float) -> float:
        gain = measure_gain(before, period) if len(before) else None
        return -np.inf if gain is None else gain.per_phase

    return max(periods, key=worth)


def _learned(before: Array, rewards: Array, bins: NDArray[np.intp]) -> float:
    """Return the total reward in a window of the arms that were best before the window.

    At each step, the arm is chosen that was best in the bin of this step. For a bin without data,
    the arm that was best overall is chosen. Without any data, the result is the expected reward of
    random arms.

    Args:
        before: Rewards at all steps before the window, shape (steps, arms).
        rewards: Rewards in the window, shape (steps, arms).
        bins: Bin of each step, for the steps before the window followed by those of the window.
    """
    if not len(before):
        return float(rewards.mean(1).sum())
    chosen = np.full(bins.max() + 1, before.mean(0).argmax())
    for bin in np.unique(bins[: len(before)]):
        chosen[bin] = before[bins[: len(before)] == bin].mean(0).argmax()
    return float(rewards[np.arange(len(rewards)), chosen[bins[len(before) :]]].sum())
