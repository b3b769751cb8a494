"""Comparing the paper's five methods on common runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evaluation.reproduction.claims import Verdict, markdown_table, shown
from evaluation.reproduction.methods import GP, METHODS, PERIODIC
from evaluation.statistics import (
    Interval,
    PairedDifference,
    holm,
    mean_interval,
    paired_difference,
    paired_ratio,
)


@dataclass(frozen=True)
class Comparison:
    """Regret of agents on common runs.

    Attributes:
        regret: A row for each run, a column for each agent.
    """

    regret: pd.DataFrame

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.regret)

    def mean(self, agent: str) -> Interval:
        """Mean regret."""
        return mean_interval(self.regret[agent].to_numpy())

    def minus(self, agent: str, other: str) -> PairedDifference:
        """Paired difference."""
        return paired_difference(self.regret[agent].to_numpy(), self.regret[other].to_numpy())

    def ratio(self, agent: str, other: str = GP) -> Interval:
        """Ratio of mean regrets."""
        return paired_ratio(self.regret[agent].to_numpy(), self.regret[other].to_numpy())

    def order(self, agents: Sequence[str] = tuple(METHODS)) -> list[str]:
        """The agents, least mean regret first."""
        means = self.regret[list(agents)].mean()
        return [str(agent) for agent in means.sort_values(kind="stable").index]

    def better(self, agent: str, other: str) -> bool | None:
        """Whether the first has less regret than the second; None if the interval has both signs.

        One run has no interval: there the figure itself decides.
        """
        gap = self.minus(agent, other)
        if self.runs == 1:
            return gap.estimate < 0
        return None if gap.low <= 0 <= gap.high else gap.estimate < 0

    def best(self, agent: str, others: Sequence[str]) -> bool | None:
        """Whether one agent beats all others; None if some are too close to tell."""
        return all_true([self.better(agent, other) for other in others if other != agent])

    def least(self, agent: str) -> Verdict:
        """Whether one of the five methods beats the others: in part if some are too close."""
        parts = [self.better(agent, other) for other in METHODS if other != agent]
        return Verdict.FAILS if False in parts else together(parts)

    def table(self, agents: Sequence[str], *, baseline: str = GP) -> str:
        """Means, paired differences and ratios in Markdown, least regret first."""
        header = ["method", "regret", f"minus {baseline}", f"ratio to {baseline}", "p (Holm)"]
        ranked = self.order(agents)
        others = [agent for agent in ranked if agent != baseline]
        p_values = dict(
            zip(others, holm([self.minus(a, baseline).p_value for a in others]), strict=True)
        )
        rows = []
        for agent in ranked:
            row = [agent, shown(self.mean(agent)), "", "", ""]
            if agent != baseline:
                gap = self.minus(agent, baseline)
                difference = shown(Interval(gap.estimate, gap.low, gap.high), sign=True)
                p_value = _written_p(p_values[agent]) if self.runs > 1 else ""
                row[2:] = [difference, shown(self.ratio(agent, baseline), 2), p_value]
            rows.append(row)
        return markdown_table(header, rows)

    def numbers(self, agents: Sequence[str] = tuple(METHODS)) -> dict[str, float]:
        """Mean regrets, for machines."""
        return {agent: float(self.regret[agent].mean()) for agent in agents}


def all_true(parts: Sequence[bool | None]) -> bool | None:
    """Whether all parts are true; None if that is not decided."""
    return False if False in parts else None if None in parts else True


def together(parts: Sequence[bool | None]) -> Verdict:
    """A claim of several parts: each is true, false, or not decided by the intervals (None).

    >>> [together(parts).value for parts in ([True, True], [True, None], [None, False], [None])]
    ['holds', 'holds in part', 'does not hold', 'cannot be checked']
    """
    if all(parts):
        return Verdict.HOLDS
    if any(parts):
        return Verdict.IN_PART
    return Verdict.FAILS if False in parts else Verdict.UNKNOWN


def paper_order(comparison: Comparison) -> list[bool | None]:
    """The paper's order on Madrid, pair by pair: Periodic-GP < GP < TV, R < C."""
    middle, last = ("TV-GP-UCB", "R-GP-UCB"), "C-GP-UCB"
    pairs = [(PERIODIC, GP), *((GP, m) for m in middle), *((m, last) for m in middle)]
    return [comparison.better(*pair) for pair in pairs]


def written_order(order: Sequence[str]) -> str:
    """Methods from least to most regret, in short.

    >>> written_order(["GP-UCB", "Periodic-GP-UCB"])
    'GP < Periodic-GP'
    """
    return " < ".join(name.removesuffix("-UCB") for name in order)


def _written_p(p_value: float) -> str:
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def share(hits: Sequence[bool]) -> Interval:
    """A share with Wilson's 95 % interval."""
    n, p, z = len(hits), float(np.mean(hits)), 1.959963984540054
    centre, spread = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return Interval(
        p, float((centre - spread) / (1 + z**2 / n)), float((centre + spread) / (1 + z**2 / n))
    )
