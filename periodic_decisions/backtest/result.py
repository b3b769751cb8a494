"""Result of a backtest: rewards by window, gains over a baseline, a figure, and commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evaluation.statistics import Interval, paired_difference, paired_ratio
from periodic_decisions.backtest.windows import FIXED, LEARNED, MEANINGS, ORACLE, WindowPlan
from periodic_decisions.decider.settings import (
    DEFAULT_REMEMBERED,
    MAX_DURATION,
    MAX_REMEMBERED,
    duration_text,
)
from periodic_decisions.tables.series import Series
from periodic_envs.arrays import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEARNABLE = (  # reading options of ``decide learn``; the time zone is a setting of the decider
    *("time_column", "arm_column", "reward_column", "arms", "time_format", "duplicates"),
    *("separator", "decimal", "encoding", "na_values"),
)


@dataclass(frozen=True)
class WindowGain(Interval):
    """Gain over the baseline, with its interval.

    The gain is a share of the baseline's total if ``share`` is true, otherwise a gain per step.
    """

    share: bool

    @property
    def verdict(self) -> str:
        """Return "significant" or "not significant"; "" if there is no interval.

        The gain is significant if the interval excludes 0.
        """
        if np.isnan(self.low):
            return ""
        return "significant" if self.low > 0.0 or self.high < 0.0 else "not significant"

    def text(self) -> str:
        """Return the gain and its interval as text.

        >>> WindowGain(0.12, 0.09, 0.15, True).text()
        '+12.0 % [+9.0 %, +15.0 %]'
        """
        estimate, low, high = (
            f"{100 * value:+,.1f} %" if self.share else f"{value:+,.4g} a step"
            for value in (self.estimate, self.low, self.high)
        )
        return estimate if np.isnan(self.low) else f"{estimate} [{low}, {high}]"


@dataclass(frozen=True, eq=False)
class BacktestResult:
    """Total rewards of agents and reference policies in every window.

    Each agent and each reference policy is a row of the result.

    Attributes:
        table: Path of the table.
        series: Readings of the table.
        plan: Windows of the table.
        objective: "max" or "min".
        totals: Total reward in each window, shape (windows,), for each row. With the objective
            "min", rewards are negative costs.
        agents: Labels of the agents that finished all windows.
        baseline: Row with which the other rows are compared.
        notes: One sentence for each window or agent that was left out.
        reading: Options of ``read_series`` with which the table was read.
        schedule_period: Length in steps of the season that a schedule for the whole table would
            follow, or None.
    """

    table: Path
    series: Series
    plan: WindowPlan
    objective: str
    totals: dict[str, Array]
    agents: tuple[str, ...]
    baseline: str = FIXED
    notes: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    schedule_period: float | None = None

    @property
    def sign(self) -> float:
        """Factor that converts values of the table to rewards: -1 for costs."""
        return -1.0 if self.objective == "min" else 1.0

    def total(self, row: str) -> float:
        """Return the total reward or cost of a row over all windows."""
        return float(self.sign * self.totals[row].sum())

    def per_step(self, row: str) -> float:
        """Return the mean reward or cost per step of a row."""
        return self.total(row) / (self.plan.steps * len(self.plan.firsts))

    @cached_property
    def ranking(self) -> list[str]:
        """Agents in order of decreasing reward."""
        return sorted(self.agents, key=lambda agent: -self.totals[agent].sum())

    @property
    def references(self) -> list[str]:
        """Reference policies (computed, not run), in order of decreasing reward."""
        references = [name for name in MEANINGS if name in self.totals]
        return sorted(references, key=lambda name: -self.totals[name].sum())

    @cached_property
    def shares(self) -> bool:
        """Return whether gains are expressed as shares of the baseline's total.

        Shares require that no total is negative and that no row consists only of zeros.
        """
        values = np.array(list(self.totals.values())) * self.sign
        return bool((values >= 0.0).all() and (values.mean(1) > 0.0).all())

    def gain(self, row: str, over: str | None = None) -> WindowGain:
        """Return the gain of a row over the row ``over``, by default the baseline.

        A positive gain means that the row is better.
        """
        row_totals, base = self.totals[row], self.totals[over or self.baseline]
        if self.shares:
            ratio = paired_ratio(self.sign * row_totals, self.sign * base)
            low, high = sorted((self.sign * (ratio.low - 1.0), self.sign * (ratio.high - 1.0)))
            return WindowGain(self.sign * (ratio.estimate - 1.0), low, high, share=True)
        if len(base) == 1:
            gain = float(row_totals[0] - base[0]) / self.plan.steps
            return WindowGain(gain, np.nan, np.nan, share=False)
        difference = paired_difference(row_totals / self.plan.steps, base / self.plan.steps)
        return WindowGain(difference.estimate, difference.low, difference.high, share=False)

    def content(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""
        return {
            "table": self.table.name,
            "objective": self.objective,
            "windows": len(self.plan.firsts),
            "steps": self.plan.steps,
            "warm_start": self.plan.warm,
            "periods": list(self.plan.periods),
            "baseline": self.baseline,
            "rows": [self._row(row) for row in (*self.ranking, *self.references)],
            "notes": list(self.notes),
        }

    def _row(self, row: str) -> dict[str, Any]:
        gain = self.gain(row)
        return {
            "row": row,
            "agent": row in self.agents,
            "total": self.total(row),
            "per_step": self.per_step(row),
            "gain": gain.estimate,
            "interval": None if np.isnan(gain.low) else [gain.low, gain.high],
            "share": gain.share,
            "by_window": (self.sign * self.totals[row]).tolist(),
        }

    def figure(self) -> Figure:
        """Draw the gain of each row over the baseline with its interval, and a dot for each window.

        The oracle is left out: its gain is so large that the others would be hard to compare.
        """
        from matplotlib.figure import Figure

        rows = [row for row in (*self.ranking, *self.references) if row != ORACLE]
        figure = Figure(figsize=(8.0, 1.2 + 0.34 * len(rows)), layout="constrained")
        axes = figure.subplots()
        base, factor = self.totals[self.baseline], 100.0 if self.shares else 1.0
        # All windows share one scale, since shares of windows with little reward would be extreme.
        scale = abs(base.mean()) / 100.0 if self.shares else float(self.plan.steps)
        for place, row in enumerate(rows):
            colour, gain = "#0072B2" if row in self.agents else "#777777", self.gain(row)
            dots = (self.totals[row] - base) / scale
            axes.plot(dots, np.full(len(dots), place), "o", ms=3, color=colour, alpha=0.35)
            bounds = [factor * gain.low, factor * gain.high]  # NaN is not drawn
            axes.plot(bounds, [place, place], "-", color=colour)
            axes.plot([factor * gain.estimate], [place], "D", ms=6, color=colour)
        axes.axvline(0.0, color="#000000", lw=0.8)
        axes.set_yticks(range(len(rows)), rows, fontsize=8)
        axes.invert_yaxis()
        unit = "%" if self.shares else "per step"
        axes.set(
            title=f"{self.table.name}, {len(base)} windows",
            xlabel=f"gain over {self.baseline} ({unit}); dots are windows, lines 95 % intervals",
        )
        return figure


def setup_commands(result: BacktestResult) -> dict[str, tuple[str, ...]]:
    """Return the commands that set up the best agent, by the name of the row.

    If the learned schedule earned more than the best agent, the result also has the commands that
    set up the schedule, which needs the rewards of all arms. The result is empty if no agent
    finished all windows, or if the times of the table are plain numbers.
    """
    if not result.ranking or not isinstance(result.series.step, pd.Timedelta):
        return {}
    agent = result.ranking[0]
    init, learn = _init(result, "decider", agent, result.plan.periods), _learn(result, "decider")
    commands: dict[str, tuple[str, ...]] = {agent: (init, learn) if result.plan.warm else (init,)}
    period = result.schedule_period
    if period and result.totals[LEARNED].sum() > result.totals[agent].sum():
        schedule = _init(result, "schedule", f"phase-ucb:period={period:.12g},scale=0", [period])
        cells = int(result.series.values.size)
        if cells > DEFAULT_REMEMBERED:  # twice the size, so that the table can grow
            schedule += f" --remember {min(2 * cells, MAX_REMEMBERED)}"
        commands[LEARNED] = (schedule, _learn(result, "schedule"))
    return commands


def _init(result: BacktestResult, name: str, agent: str, periods: Sequence[float]) -> str:
    step: Any = result.series.step
    lengths = [(period * step).to_pytimedelta() for period in periods]
    # Times with an offset and Unix times are read as UTC.
    aware = getattr(result.series.grid.first, "tzinfo", None) is not None
    options = {
        "arms": result.series.names,
        "step": duration_text(step.to_pytimedelta()),
        "seasons": [duration_text(length) for length in lengths if length <= MAX_DURATION],
        "timezone": result.reading.get("timezone") or ("UTC" if aware else []),
        "objective": "min" if result.objective == "min" else [],
        "agent": agent,
    }
    return f"periodic-gp decide init {name}{as_options(options)}"


def _learn(result: BacktestResult, name: str) -> str:
    reading = {key: result.reading[key] for key in LEARNABLE if key in result.reading}
    return f"periodic-gp decide learn {name} {shlex.quote(str(result.table))}{as_options(reading)}"


def as_options(arguments: Mapping[str, Any]) -> str:
    """Return arguments as command-line options, with a space before each word.

    >>> as_options({"time_column": "Zeit", "arms": ["a", "b c"]})
    " --time-column Zeit --arms a --arms 'b c'"
    """
    words = []
    for name, value in arguments.items():
        for item in value if isinstance(value, list | tuple) else [value]:
            words += [f"--{name.replace('_', '-')}", shlex.quote(str(item))]
    return "".join(f" {word}" for word in words)
