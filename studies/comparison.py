"""Comparing agents on common runs, the paper's five methods above all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from evaluation.statistics import (
    MIN_RUNS,
    Interval,
    PairedDifference,
    holm,
    mean_interval,
    paired_difference,
    paired_ratio,
)
from studies.claims import Verdict, all_true, together
from studies.markdown import markdown_table, shown
from studies.methods import GP, METHODS, PERIODIC


@dataclass(frozen=True)
class Comparison:
    """Regret of agents on common runs.

    Attributes:
        regret: A row for each run, a column for each agent.
    """

    regret: pd.DataFrame
    _ratios: dict[tuple[str, str], Interval] = field(default_factory=dict, repr=False)

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.regret)

    def mean(self, agent: str) -> Interval:
        """Mean regret; of fewer than five runs without an interval, as all that follows."""
        return self._trusted(mean_interval(self.regret[agent].to_numpy())).at_least(0.0)

    def minus(self, agent: str, other: str) -> Interval:
        """Paired difference."""
        gap = self._paired(agent, other)
        return self._trusted(Interval(gap.estimate, gap.low, gap.high))

    def ratio(self, agent: str, other: str = GP) -> Interval:
        """Ratio of mean regrets, computed once: claims, tables and pictures ask for the same."""
        if (agent, other) not in self._ratios:
            self._ratios[agent, other] = self._ratio(agent, other)
        return self._ratios[agent, other]

    def _ratio(self, agent: str, other: str) -> Interval:
        mine, theirs = (self.regret[name].to_numpy() for name in (agent, other))
        if self.runs < MIN_RUNS:
            return Interval(float(mine.mean() / theirs.mean()), np.nan, np.nan)
        return paired_ratio(mine, theirs)

    def typical(self, agent: str, other: str = GP) -> Interval:
        """Geometric mean of the ratios of single runs: no run counts for more than another."""
        mine, theirs = (self.regret[name].to_numpy() for name in (agent, other))
        if min(mine.min(), theirs.min()) <= 0:
            return Interval(np.nan, np.nan, np.nan)
        logs = self._trusted(mean_interval(np.log(mine / theirs)))
        return Interval(*(float(np.exp(x)) for x in (logs.estimate, logs.low, logs.high)))

    def _paired(self, agent: str, other: str) -> PairedDifference:
        return paired_difference(self.regret[agent].to_numpy(), self.regret[other].to_numpy())

    def _trusted(self, interval: Interval) -> Interval:
        return interval if self.runs >= MIN_RUNS else Interval(interval.estimate, np.nan, np.nan)

    def order(self, agents: Sequence[str] = tuple(METHODS)) -> list[str]:
        """The agents, least mean regret first."""
        means = self.regret[list(agents)].mean()
        return [str(agent) for agent in means.sort_values(kind="stable").index]

    def better(self, agent: str, other: str) -> bool | None:
        """Whether the first has less regret than the second; None if the interval has both signs.

        One run has no interval: there the figure itself decides. A few runs decide nothing.
        """
        gap = self.minus(agent, other)
        if self.runs == 1:
            return gap.estimate < 0
        clear = gap.low > 0 or gap.high < 0  # false for NaN
        return gap.estimate < 0 if clear else None

    def best(self, agent: str, others: Sequence[str]) -> bool | None:
        """Whether one agent beats all others; None if some are too close to tell."""
        return all_true([self.better(agent, other) for other in others if other != agent])

    def least(self, agent: str) -> Verdict:
        """Whether one of the five methods beats the others: in part if some are too close."""
        parts = [self.better(agent, other) for other in METHODS if other != agent]
        return Verdict.FAILS if False in parts else together(parts)

    def table(self, agents: Sequence[str], *, baseline: str = GP) -> str:
        """Means, paired differences and ratios in Markdown, least regret first.

        The ratio is of sums over runs, the typical one the geometric mean of single runs'.
        """
        header = ["method", "regret", f"minus {baseline}", "p (Holm)"]
        header += [f"ratio to {baseline}", "typical ratio"]
        ranked = self.order(agents)
        others = [agent for agent in ranked if agent != baseline]
        p_values = dict(
            zip(others, holm([self._paired(a, baseline).p_value for a in others]), strict=True)
        )
        rows = []
        for agent in ranked:
            row = [agent, shown(self.mean(agent)), "", "", "", ""]
            if agent != baseline:
                difference = shown(self.minus(agent, baseline), sign=True)
                p_value = _written_p(p_values[agent]) if self.runs >= MIN_RUNS else ""
                ratios = [self.ratio(agent, baseline), self.typical(agent, baseline)]
                row[2:] = [difference, p_value, *(shown(ratio, 2) for ratio in ratios)]
            rows.append(row)
        return markdown_table(header, rows)

    def ratios(self, agents: Sequence[str], others: Sequence[str], *, head: str = "agent") -> str:
        """Means, and ratios of sums to each of some others, in Markdown, in the order given."""
        rows = [
            [agent, shown(self.mean(agent)), *(shown(self.ratio(agent, o), 2) for o in others)]
            for agent in agents
        ]
        return markdown_table([head, "regret", *(f"ratio to {other}" for other in others)], rows)

    def numbers(self, agents: Sequence[str] = tuple(METHODS)) -> dict[str, float]:
        """Mean regrets, for machines."""
        return {agent: float(self.regret[agent].mean()) for agent in agents}


_MIDDLE, _LAST = ("TV-GP-UCB", "R-GP-UCB"), "C-GP-UCB"
PAPER_PAIRS = (
    (PERIODIC, GP),
    *((GP, method) for method in _MIDDLE),
    *((method, _LAST) for method in _MIDDLE),
)
"""The paper's order on Madrid, pair by pair: Periodic-GP < GP < TV, R < C."""


def paper_order(comparison: Comparison) -> list[bool | None]:
    """Which of the pairs are as in the paper."""
    return [comparison.better(*pair) for pair in PAPER_PAIRS]


def confirmed_pairs(comparison: Comparison) -> str:
    """The pairs that are as in the paper, in words."""
    found = [written_order(p) for p in PAPER_PAIRS if comparison.better(*p)]
    return ", ".join(found) or "none"


def written_order(order: Sequence[str]) -> str:
    """Methods from least to most regret, in short.

    >>> written_order(["GP-UCB", "Periodic-GP-UCB"])
    'GP < Periodic-GP'
    """
    return " < ".join(name.removesuffix("-UCB") for name in order)


def readings_table(
    readings: Mapping[str, Comparison], digits: int = 0, *, change: bool = True
) -> str:
    """Mean regret of the five methods, a row for each reading of the paper."""
    rows = []
    for reading, found in readings.items():
        means = [f"{found.mean(method).estimate:,.{digits}f}" for method in METHODS]
        means += [f"{found.ratio(PERIODIC).estimate - 1.0:+.0%}"] if change else []
        rows.append([reading, *means, written_order(found.order())])
    header = [*METHODS, "Periodic / GP"] if change else list(METHODS)
    return markdown_table(["reading", *header, "order"], rows)


def _written_p(p_value: float) -> str:
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def share(hits: Sequence[bool]) -> Interval:
    """A share with Wilson's 95 % interval."""
    n, p, z = len(hits), float(np.mean(hits)), 1.959963984540054
    centre, spread = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return Interval(
        p, float((centre - spread) / (1 + z**2 / n)), float((centre + spread) / (1 + z**2 / n))
    )
