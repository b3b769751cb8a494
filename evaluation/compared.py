"""What the columns of tables are computed from: the runs of a task, or of all tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property

import numpy as np
import pandas as pd

from evaluation.results import Results, Scores
from evaluation.seasons import RunName, Stretches, stretches_of
from evaluation.specs import REFERENCE_ROWS, REFERENCES
from evaluation.statistics import (
    MIN_RUNS,
    Band,
    ChangeCosts,
    Interval,
    PairedDifference,
    change_costs,
    holm,
    mean_interval,
    mean_ranks,
    paired_difference,
    worst_window,
)
from periodic_envs.arrays import Array


@dataclass(frozen=True)
class Compared:
    """Agents that are compared with each other.

    Attributes:
        results: All runs of the sweep.
        track: Track of the agents.
        baseline: The row that the others are compared with, or None.
        seed: Seed of the bootstrap.
    """

    results: Results
    track: str
    baseline: str | None
    seed: int

    @cached_property
    def totals(self) -> pd.DataFrame:
        """One row per run; see ``Results.totals``."""
        return self.results.totals

    @cached_property
    def ms_per_step(self) -> dict[str, float]:
        """Each agent's own time per step, in milliseconds."""
        means = self.totals.groupby("agent")["ms_per_step"].mean()
        return {str(agent): float(mean) for agent, mean in means.items()}


@dataclass(frozen=True)
class TaskRuns(Compared):
    """The runs of one task, whose name is ``task``."""

    task: str

    @cached_property
    def totals(self) -> pd.DataFrame:
        """One row per run of the task."""
        frame = self.results.totals
        return frame[frame["task"] == self.task]

    @property
    def regrets(self) -> pd.DataFrame:
        """Total regret of each run (rows) of each agent and reference (columns)."""
        return self.results.regrets(self.task, self.track)

    @property
    def agents(self) -> list[str]:
        """The rows of the table: agents in the protocol's order, references last."""
        rows = [*self.results.agents(self.track), *REFERENCE_ROWS]
        return [agent for agent in rows if agent in self.regrets]

    def has_enough(self, agent: str) -> bool:
        """Whether an agent has so many runs that intervals say something."""
        return int(self.regrets[agent].count()) >= MIN_RUNS

    @cached_property
    def means(self) -> dict[str, Interval]:
        """Mean regret of each row."""
        totals = {agent: self.regrets[agent].dropna().to_numpy() for agent in self.agents}
        return {agent: mean_interval(mine, seed=self.seed) for agent, mine in totals.items()}

    @cached_property
    def differences(self) -> dict[str, PairedDifference]:
        """Each row minus the baseline on common runs, where there are any."""
        if self.baseline not in self.regrets:
            return {}
        others = [agent for agent in self.agents if agent != self.baseline]
        both = {a: self.regrets[[a, self.baseline]].dropna().to_numpy().T for a in others}
        return {a: paired_difference(*x, seed=self.seed) for a, x in both.items() if x.size}

    @cached_property
    def p_values(self) -> dict[str, float]:
        """Corrected for the number of agents. References are not tested: they are computed."""
        tested = [agent for agent in self.differences if agent not in REFERENCE_ROWS]
        corrected = holm([self.differences[agent].p_value for agent in tested])
        return dict(zip(tested, corrected.tolist(), strict=True))

    @cached_property
    def change_costs(self) -> dict[str, pd.DataFrame]:
        """What changes of the world cost each row, run by run; without changes there are no rows.

        Columns: those of ``ChangeCosts``, and ``worst``, the largest regret over as many steps as
        the season has at the start.
        """
        return self.costs_at(stretches_of(self.results, self.task))

    def costs_at(self, stretches: Mapping[RunName, Stretches]) -> dict[str, pd.DataFrame]:
        """The same at any times.

        Args:
            stretches: When each run is taken to change. With the times of another task's changes,
                in a world that does not change, it says what these figures are by chance.
        """
        agents = self.agents if stretches else []
        return {agent: self._costs_at(stretches, agent) for agent in agents}

    def _costs_at(self, stretches: Mapping[RunName, Stretches], agent: str) -> pd.DataFrame:
        track = REFERENCES if agent in REFERENCE_ROWS else self.track
        rows = {}
        runs = self.results.curves(self.task, agent, track)
        for name, regret in zip(runs.names, runs.regret, strict=True):
            if name in stretches:
                changes, seasons = stretches[name].changes, stretches[name].seasons
                costs = change_costs(regret, changes - runs.t[0], seasons=seasons)
                rows[name] = {**asdict(costs), "worst": worst_window(regret, window=seasons[0])}
        columns = [*(field.name for field in fields(ChangeCosts)), "worst"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns)

    def interactions(self, agent: str) -> float | None:
        """Interactions of an agent, those of its training included."""
        training = self.results.training(self.task, agent) or (0, 0.0)
        steps = self.totals.loc[self.totals["agent"] == agent, "steps"].max()
        return None if agent in REFERENCE_ROWS else float(steps + training[0])


@dataclass(frozen=True)
class AllTasks(Compared):
    """The runs of all tasks together."""

    @property
    def scores(self) -> Scores:
        """Scores of the agents that are in the table."""
        return self.results.scores(self.track)

    def score(self, agent: str) -> Array:
        """Scores of an agent, shape (runs, tasks)."""
        return np.asarray(self.scores.values[self.scores.agents.index(agent)])

    def has_enough(self, agent: str) -> bool:
        """Whether there are so many runs, all tasks together, that intervals say something."""
        runs, tasks = self.score(agent).shape
        return bool((runs - 1) * tasks >= MIN_RUNS - 1)

    @cached_property
    def ranks(self) -> Band:
        """Mean rank of each agent."""
        return mean_ranks(self.scores.values, seed=self.seed)
