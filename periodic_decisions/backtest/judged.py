"""What came of a backtest: rewards by window, and how much more than a baseline's they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.statistics import Interval, paired_difference, paired_ratio
from periodic_decisions.backtest.rewards import FIXED, MEANINGS
from periodic_decisions.backtest.windows import Plan
from periodic_decisions.tables.series import Series
from periodic_envs.arrays import Array


@dataclass(frozen=True)
class Gain(Interval):
    """How much better than the baseline: a share of its total if ``share``, else by step."""

    share: bool

    @property
    def clear(self) -> bool:
        """Whether the whole interval is above 0."""
        return bool(self.low > 0.0)

    def text(self) -> str:
        """The figure and its interval.

        >>> Gain(0.12, 0.09, 0.15, True).text()
        '+12.0 % [+9.0 %, +15.0 %]'
        """
        bounds = "" if np.isnan(self.low) else f" [{self.number(self.low)}, "
        return self.number(self.estimate) + (f"{bounds}{self.number(self.high)}]" if bounds else "")

    def number(self, value: float) -> str:
        """One of its numbers."""
        return f"{100 * value:+,.1f} %" if self.share else f"{value:+,.4g} a step"


@dataclass(frozen=True, eq=False)
class Judged:
    """Total rewards of agents and references in every window.

    Attributes:
        source: What the table is called.
        series: The table.
        plan: Its windows.
        objective: "max" or "min".
        totals: For every agent and reference the total reward of each window, shape (windows,);
            with "min" it is the negative of the cost.
        agents: Labels of the agents that finished all windows.
        milliseconds: What a step took each of them.
        baseline: The row that the others are held against.
        notes: What went wrong, one sentence each.
        timezone: Whose clocks the table was read by; None if that was not said.
        table: The file of the table; None if there is none.
        reading: How it was read, see ``read_series``.
        periods: All seasons in steps, the main one first; agents are told those of the plan.
        schedule_period: The season that a schedule of the whole table would follow.
    """

    source: str
    series: Series
    plan: Plan
    objective: str
    totals: dict[str, Array]
    agents: tuple[str, ...]
    milliseconds: dict[str, float]
    baseline: str = FIXED
    notes: tuple[str, ...] = ()
    timezone: str | None = None
    table: Path | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    periods: tuple[float, ...] = ()
    schedule_period: float | None = None

    @property
    def sign(self) -> float:
        """The factor that makes what the table has of rewards."""
        return -1.0 if self.objective == "min" else 1.0

    @property
    def steps(self) -> int:
        """Decisions in all windows."""
        return self.plan.steps * len(self.plan.firsts)

    def total(self, row: str) -> float:
        """The reward, or the cost, of all windows."""
        return float(self.sign * self.totals[row].sum())

    def total_reward(self, row: str) -> float:
        """The same with costs below 0: more is better."""
        return float(self.totals[row].sum())

    def per_step(self, row: str) -> float:
        """The reward, or the cost, of a step."""
        return self.total(row) / self.steps

    @cached_property
    def ranking(self) -> list[str]:
        """Agents, the one with the highest reward first."""
        return sorted(self.agents, key=lambda agent: -self.totals[agent].sum())

    @property
    def references(self) -> list[str]:
        """Rows that were computed and not run, the highest reward first."""
        there = [name for name in MEANINGS if name in self.totals]
        return sorted(there, key=lambda name: -self.totals[name].sum())

    @cached_property
    def shares(self) -> bool:
        """Whether a share of a total means anything: nothing is below 0, and not all is 0."""
        values = np.array(list(self.totals.values())) * self.sign
        return bool((values >= 0.0).all() and (values.mean(1) > 0.0).all())

    def gain(self, row: str, over: str | None = None) -> Gain:
        """How much better a row is than another, by default the baseline, over windows.

        Positive is better, for costs, too.
        """
        mine, theirs = self.totals[row], self.totals[over or self.baseline]
        if self.shares:
            ratio = paired_ratio(self.sign * mine, self.sign * theirs)
            low, high = sorted((self.sign * (ratio.low - 1.0), self.sign * (ratio.high - 1.0)))
            return Gain(self.sign * (ratio.estimate - 1.0), low, high, share=True)
        if len(mine) == 1:
            return Gain(float(mine[0] - theirs[0]) / self.plan.steps, np.nan, np.nan, share=False)
        found = paired_difference(mine / self.plan.steps, theirs / self.plan.steps)
        return Gain(found.estimate, found.low, found.high, share=False)

    def content(self) -> dict[str, Any]:
        """All of it as plain data."""
        rows = [*self.ranking, *self.references]
        return {
            "table": self.source,
            "objective": self.objective,
            "windows": len(self.plan.firsts),
            "steps": self.plan.steps,
            "warm_start": self.plan.warm,
            "periods": list(self.plan.periods),
            "baseline": self.baseline,
            "rows": [self._row(row) for row in rows],
            "notes": list(self.notes),
        }

    def _row(self, row: str) -> dict[str, Any]:
        gain = self.gain(row)
        interval = None if np.isnan(gain.low) else [gain.low, gain.high]
        return {
            "row": row,
            "agent": row in self.agents,
            "total": self.total(row),
            "per_step": self.per_step(row),
            "gain": gain.estimate,
            "interval": interval,
            "share": gain.share,
            "by_window": (self.sign * self.totals[row]).tolist(),
        }
