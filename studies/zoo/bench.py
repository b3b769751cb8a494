"""Regret of every agent in every world as a share of choosing at random, and who beats whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from evaluation.results import UNIFORM, Results
from studies.comparison import Comparison
from studies.zoo.families import BASELINES, FAMILIES


@dataclass(frozen=True)
class Bench:
    """What came of a sweep of the zoo.

    Attributes:
        shares: For each world a table: a row for each run, a column for each agent that finished
            all of them and for the reference rows, regret over the mean regret of uniform choice.
        ms_per_step: Of each agent, over all worlds.
    """

    shares: Mapping[str, pd.DataFrame]
    ms_per_step: Mapping[str, float]

    @classmethod
    def of(cls, results: Results) -> Bench:
        """From the results of a sweep."""
        totals = results.totals
        shares = {}
        for task in results.tasks:
            mine = totals[totals["task"] == task]
            regret = mine.pivot(index=["env", "seed"], columns="agent", values="regret")
            shares[task] = regret.dropna(axis=1) / regret[UNIFORM].mean()
        times = totals.groupby("agent")["ms_per_step"].mean().dropna()
        return cls(shares, {str(agent): float(ms) for agent, ms in times.items()})

    @cached_property
    def agents(self) -> list[str]:
        """Those that were timed and finished some world, family by family."""
        there = {agent for frame in self.shares.values() for agent in frame.columns}
        listed = [agent for family in FAMILIES.values() for agent in family]
        listed += [agent for agent in self.ms_per_step if agent not in listed]
        return [agent for agent in listed if agent in there and agent in self.ms_per_step]

    def means(self) -> dict[str, dict[str, float]]:
        """Mean share of every agent in every world, for machines."""
        return {world: self.world(world).numbers(list(self.shares[world])) for world in self.shares}

    def world(self, task: str) -> Comparison:
        """Agents in one world."""
        return Comparison(self.shares[task])

    def pooled(self, worlds: Sequence[str]) -> Comparison:
        """Agents over several worlds, which count alike: run i is the i-th run of each of them.

        Only agents that finished all; worlds that were not run are left out.
        """
        frames = [self.shares[world] for world in worlds if world in self.shares]
        if not frames:
            return Comparison(pd.DataFrame())
        common = [agent for agent in frames[0] if all(agent in frame for frame in frames)]
        runs = min(len(frame) for frame in frames)
        total = sum(frame[common].to_numpy()[:runs] for frame in frames) / len(frames)
        return Comparison(pd.DataFrame(total, columns=common))

    def families(self, comparison: Comparison) -> Comparison:
        """Families instead of agents, each by its best, which is chosen on the other runs.

        To choose the best and judge it by the same runs would flatter large families.
        """
        named = {family: names for family, names in FAMILIES.items() if family != BASELINES}
        return champions(comparison, named)


def champions(comparison: Comparison, teams: Mapping[str, Sequence[str]]) -> Comparison:
    """Teams of agents, each by its best, which is chosen on the other runs; empty ones left out."""
    columns = {}
    for team, names in teams.items():
        members = [name for name in names if name in comparison.regret]
        if members:
            columns[team] = best_elsewhere(comparison.regret[members].to_numpy())
    return Comparison(pd.DataFrame(columns))


def best_elsewhere(regret: np.ndarray) -> np.ndarray:
    """For each run the regret of the agent that did best in all others, shape (runs,).

    Of a single run the least regret: there are no others to choose on.

    >>> best_elsewhere(np.array([[1.0, 2.0], [1.0, 2.0], [9.0, 2.0]])).tolist()
    [2.0, 2.0, 9.0]
    """
    runs = len(regret)
    others = regret.sum(axis=0) - regret if runs > 1 else regret
    chosen: np.ndarray = regret[np.arange(runs), others.argmin(axis=1)]
    return chosen


def best_and_alike(comparison: Comparison) -> tuple[str, list[str]]:
    """The best, and those that the intervals do not tell apart from it."""
    best, *others = comparison.order(list(comparison.regret))
    return best, [other for other in others if comparison.better(best, other) is None]
