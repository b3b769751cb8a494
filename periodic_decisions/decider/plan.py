"""Plan of a decider: its choices at future steps, as a table and a figure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from agents.arrays import Array
from periodic_decisions.decider.settings import Settings
from periodic_decisions.decider.state import Learner

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TIE = 1e-9  # relative difference up to which expectations count as equal
MIN_REWARDS = 3  # minimum number of past rewards for a mean to be compared with an interval
NOTE_WIDTH = 90


@dataclass(frozen=True, eq=False)
class Plan:
    """Planned choices of a decider.

    Attributes:
        table: Table with one row per step. Unknown values are NaN (NA in ``trial``). The columns
            are:

            - ``time``: start of the step;
            - ``arm``: chosen arm;
            - ``expected``: expected mean reward of the arm;
            - ``low`` and ``high``: 95 % interval of the mean reward;
            - ``mean_so_far``: mean of the arm's past rewards at the same phase of the longest
              season;
            - ``trial``: true if the arm is chosen to learn about it, although another arm has a
              higher expected reward.
        arms: Available arms.
        notes: Warnings as text.
    """

    table: pd.DataFrame
    arms: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return "\n".join([self.text(), *(textwrap.fill(note, NOTE_WIDTH) for note in self.notes)])

    def text(self) -> str:
        """Return the table as text, without the notes."""
        trials = ["yes" if trial is True else "" for trial in self.table["trial"].astype(object)]
        table = self.table.assign(trial=trials)
        return str(
            table.to_string(index=False, max_rows=60, float_format="{:.4g}".format, na_rep="")
        )

    def plot(self) -> Figure:
        """Draw the chosen arms and their expected rewards over time."""
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10.0, 5.0), dpi=100, layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True)
        times = self.table["time"].dt.tz_localize(None)  # wall-clock times
        rows = [self.arms.index(arm) for arm in self.table["arm"]]
        above.step(times, rows, "o-", where="post", color="tab:blue", lw=1, markersize=4)
        above.set_yticks(range(len(self.arms)), self.arms, parse_math=False)
        above.set_ylim(-0.5, len(self.arms) - 0.5)
        above.grid(alpha=0.3)
        below.plot(times, self.table["expected"], color="tab:blue")
        below.fill_between(times, self.table["low"], self.table["high"], alpha=0.25, lw=0)
        below.set_ylabel("expected reward, 95 % interval")
        below.grid(alpha=0.3)
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        below.xaxis.set_major_locator(locator)
        below.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        return figure


def make_plan(
    settings: Settings,
    arms: tuple[str, ...],
    learner: Learner,
    times: Sequence[datetime],
    steps: Sequence[int],
    rewards: Sequence[tuple[int, str, float]],
) -> Plan:
    """Return the choices of an agent at future steps.

    Args:
        settings: Settings of the decider.
        arms: Available arms.
        learner: Copy of the agent, which the plan may change.
        times: Start times of the steps.
        steps: Numbers of the steps.
        rewards: Past rewards, each as step, arm and reward.
    """
    chosen = np.zeros(len(steps), dtype=np.intp)
    beliefs = np.full((len(steps), len(arms), 3), np.nan)
    for row, step in enumerate(steps):
        chosen[row], _ = learner.act(step)
        believed = learner.beliefs(step, range(len(arms)))
        if believed is not None and np.isfinite(believed[chosen[row]]).all():
            beliefs[row] = believed
    mean, count = mean_so_far(settings.periods, arms, steps, rewards)
    rows = np.arange(len(steps))
    table = pd.DataFrame(beliefs[rows, chosen], columns=["expected", "low", "high"])
    stamps = [pd.Timestamp(time) for time in times]
    table.insert(0, "time", pd.DatetimeIndex(stamps, tz=settings.clock.zone))
    table.insert(1, "arm", [arms[arm] for arm in chosen])
    table["mean_so_far"] = mean[rows, chosen]
    expected = settings.sign * beliefs[..., 0]
    taken = expected[rows, chosen]
    table["trial"] = pd.array(expected.max(1) > taken + TIE * np.abs(taken), dtype="boolean")
    table.loc[np.isnan(taken), "trial"] = pd.NA
    return Plan(table, arms, _doubts(settings, beliefs, mean, count))


def mean_so_far(
    periods: Sequence[float],
    arms: Sequence[str],
    steps: Sequence[int],
    rewards: Sequence[tuple[int, str, float]],
) -> tuple[Array, Array]:
    """Return the mean and number of past rewards of each arm at the phases of the given steps.

    Phases are those of the longest season. Without a season, no two steps share a phase.

    Returns:
        Means and numbers, each of shape (steps, arms); a mean without rewards is NaN.
    """
    if not periods or not rewards:
        shape = (len(steps), len(arms))
        return np.full(shape, np.nan), np.zeros(shape)
    seen = pd.DataFrame(rewards, columns=["step", "arm", "reward"])
    places = np.floor(seen["step"] % max(periods))
    by_phase = seen.groupby([places, "arm"])["reward"].agg(["mean", "count"]).unstack("arm")
    wanted = np.floor(np.asarray(steps) % max(periods))
    wide = by_phase.reindex(index=wanted)
    mean = wide["mean"].reindex(columns=list(arms)).to_numpy(np.float64)
    return mean, wide["count"].reindex(columns=list(arms)).fillna(0).to_numpy(np.float64)


def _doubts(settings: Settings, beliefs: Array, mean: Array, count: Array) -> tuple[str, ...]:
    """Return a tuple with one warning if past means lie outside the intervals, else ``()``."""
    _, low, high = np.moveaxis(beliefs, -1, 0)
    outside = (count >= MIN_REWARDS) & ((mean < low) | (mean > high))
    steps = int(outside.any(1).sum())
    return (
        f"At {steps:,} of {len(mean):,} steps, the mean of an arm's past rewards lies outside its "
        f"95 % interval: either {settings.agent} smooths sharp peaks, or the rewards have changed. "
        f"The agent phase-ucb:period={max(settings.periods, default=0):.6g} does not smooth.",
    )[: bool(steps)]
