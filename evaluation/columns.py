"""Columns of the tables of results.

DataFrames, text tables, the output of ``--json``, the page and its CSV files are all built from
``COLUMNS``. To add a statistic, add an entry to ``COLUMNS``::

    Column(
        "median_regret",
        "Median regret",
        "Median over runs of the regret at the end",
        digits=1,
        task=lambda runs, agent: float(np.median(runs.regrets[agent])),
    )
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from evaluation.results import UNIFORM, Results, Scores, common_runs, ms_per_step
from evaluation.specs import REFERENCE_ROWS
from evaluation.statistics import (
    MIN_RUNS,
    Band,
    Interval,
    PairedDifference,
    holm,
    if_enough,
    iqm,
    mean_interval,
    mean_ranks,
    normalised_regret,
    paired_difference,
    probability_of_improvement,
)
from evaluation.store import StoredRun
from periodic_envs.arrays import Array

TableKind = Literal["task", "overall"]
"""Kind of table: "task" has one row per task and agent, "overall" has one row per agent."""
Value = Interval | float | None
SIMULATED = "simulated"
"""Label of tasks whose rewards were simulated instead of measured."""


@dataclass(frozen=True)
class TableRuns:
    """Runs from which a table is computed.

    Attributes:
        results: All runs of the sweep.
        track: Track of the agents.
        baseline: Agent or reference row with which the other rows are compared, or None.
    """

    results: Results
    track: str
    baseline: str | None


@dataclass(frozen=True)
class TaskRuns(TableRuns):
    """Runs of one task, named ``task``."""

    task: str

    @cached_property
    def regrets(self) -> dict[str, Array]:
        """Total regrets of the runs of each row: first the agents, then the references."""
        by_run = self.results.by_task[self.task]
        rows = [*self.results.agents(self.track), *REFERENCE_ROWS]
        return {agent: common_runs(by_run, [agent])[0] for agent in rows if agent in by_run}

    def common(self, agent: str, other: str) -> Array:
        """Return the regrets of two rows on the seeds that both have finished, shape (2, runs)."""
        return common_runs(self.results.by_task[self.task], [agent, other])

    @cached_property
    def means(self) -> dict[str, Interval]:
        """Mean regret of each row, with its interval."""
        rows = self.regrets.items()
        return {
            agent: if_enough(mean_interval(runs), len(runs) >= MIN_RUNS) for agent, runs in rows
        }

    @cached_property
    def differences(self) -> dict[str, PairedDifference]:
        """Regret of each row minus that of the baseline, on the seeds that both have finished.

        Rows that have no finished seeds in common with the baseline are omitted.
        """
        if self.baseline not in self.regrets:
            return {}
        pairs = {a: self.common(a, self.baseline) for a in self.regrets if a != self.baseline}
        return {
            agent: if_enough(paired_difference(*pair), pair.shape[1] >= MIN_RUNS)
            for agent, pair in pairs.items()
            if pair.size
        }

    @cached_property
    def p_values(self) -> dict[str, float]:
        """P-values of the agents in ``differences``, corrected for the number of agents."""
        tested = [agent for agent in self.differences if agent not in REFERENCE_ROWS]
        corrected = holm([self.differences[agent].p_value for agent in tested])
        return dict(zip(tested, corrected.tolist(), strict=True))

    def interactions(self, agent: str) -> float | None:
        """Return the steps of an agent plus its training interactions; None for a reference row."""
        if agent in REFERENCE_ROWS:
            return None
        training = self.results.training(self.task, agent) or (0, 0.0)
        steps = max(run.steps for run in self.results.runs_of(agent, self.track, self.task))
        return float(steps + training[0])


@dataclass(frozen=True)
class AllTasks(TableRuns):
    """Runs of all tasks."""

    @property
    def scores(self) -> Scores:
        """Scores of the agents in the table."""
        return self.results.scores(self.track)

    def score(self, agent: str) -> Array:
        """Return the scores of an agent, shape (runs, tasks)."""
        return np.asarray(self.scores.values[self.scores.agents.index(agent)])

    @property
    def is_enough(self) -> bool:
        """True if there are enough runs for an interval over all tasks.

        Runs are resampled within each task. The degrees of freedom, ``tasks * (runs - 1)``, must
        be at least those of ``MIN_RUNS`` runs of one task.
        """
        _, runs, tasks = self.scores.values.shape
        return bool(runs >= least_runs(tasks))

    def if_counted(self, interval: Interval) -> Interval:
        """Return the interval of a rank or win rate, without bounds if there are too few runs.

        With fewer than ``MIN_RUNS`` runs per task, so few resamples are distinct that the interval
        may have zero width.
        """
        return if_enough(interval, self.scores.values.shape[1] >= MIN_RUNS)

    @cached_property
    def ranks(self) -> Band:
        """Mean rank of each agent."""
        return mean_ranks(self.scores.values)


def least_runs(tasks: int) -> int:
    """Return the minimum number of runs per task for an interval over several tasks."""
    return 1 + math.ceil((MIN_RUNS - 1) / tasks)


@dataclass(frozen=True)
class Column:
    """Column of the task table, of the overall table, or of both.

    Attributes:
        key: Name of the column in DataFrames, JSON and CSV. The bounds of an interval have the
            names ``{key}_low`` and ``{key}_high``.
        label: Heading of the column; ``{baseline}`` is replaced with the label of the baseline.
        description: Tooltip of the heading on the page.
        digits: Number of decimals.
        interval: True if the column has a 95 % interval.
        task: Function that computes the value for a row of the task table; None if the task table
            does not have this column.
        overall: Function that computes the value for a row of the overall table; None if the
            overall table does not have this column.
        when: Tables that include the column: "always" for all tables, "pretrained" for tables of
            this track, or "baseline" for tables with a baseline.
    """

    key: str
    label: str
    description: str
    digits: int
    interval: bool = False
    task: Callable[[TaskRuns, str], Value] | None = None
    overall: Callable[[AllTasks, str], Value] | None = None
    when: Literal["always", "pretrained", "baseline"] = "always"

    @property
    def keys(self) -> list[str]:
        """Names of the columns in a DataFrame, including the bounds."""
        bounds = [f"{self.key}_low", f"{self.key}_high"] if self.interval else []
        return [self.key, *bounds]

    def cells(self, value: Value) -> dict[str, float | None]:
        """Return the cells of a value and its bounds."""
        if isinstance(value, Interval):
            return dict(zip(self.keys, (value.estimate, value.low, value.high), strict=True))
        return {**dict.fromkeys(self.keys), self.key: value}

    def values(self, row: Mapping[str, Any]) -> tuple[float, float, float]:
        """Return the value and its bounds from a row; missing numbers are NaN."""
        cells = [row.get(key) for key in self.keys]
        numbers = [math.nan if x is None else float(x) for x in cells]
        value, low, high = (*numbers, math.nan, math.nan)[:3]
        return value, low, high

    def text(self, row: Mapping[str, Any]) -> str:
        """Return the value in a row with its bounds as text, or "" if the value is missing."""
        value, low, high = (f"{x:,.{self.digits}f}" for x in self.values(row))
        if value == "nan":
            return ""
        return value if low == "nan" else f"{value} [{low}, {high}]"

    def heading(self, baseline: str | None) -> str:
        """Return the heading as text."""
        return self.label.replace("{baseline}", str(baseline)) + " [95 %]" * self.interval

    def about(self) -> dict[str, Any]:
        """Return the description of the column for the page, as plain data."""
        names = {"key": self.key, "label": self.label, "title": self.description}
        return {**names, "digits": self.digits, "interval": self.interval}


def columns_of(table: TableKind, *, track: str, baseline: str | None = None) -> list[Column]:
    """Return the columns of a table, in display order."""
    applying = {"always", track} | ({"baseline"} if baseline is not None else set())
    return [c for c in COLUMNS if getattr(c, table) is not None and c.when in applying]


def page_columns(table: TableKind) -> list[Column]:
    """Return the columns of a table on the page, which has no baseline.

    Times per step are listed only in the overall table. On the page of an edition, the times that
    the maintainers measured replace the times of the runs, where they are available.
    """
    columns = columns_of(table, track="online")
    return [column for column in columns if table == "overall" or column.key != "ms_per_step"]


def row_of(columns: list[Column], runs: TaskRuns | AllTasks, agent: str) -> dict[str, float | None]:
    """Return the cells of the row of an agent."""
    table: TableKind = "task" if isinstance(runs, TaskRuns) else "overall"
    cells: dict[str, float | None] = {}
    for column in columns:
        cells |= column.cells(getattr(column, table)(runs, agent))
    return cells


def simulated_tasks(results: Results) -> list[str]:
    """Return the tasks that include a world with simulated instead of measured rewards."""
    data = results.sweep.data
    return [
        task
        for task, envs in results.tasks.items()
        if any(data.get(env) == "simulator" for env in envs)
    ]


def _normalised(runs: TaskRuns, agent: str) -> Interval:
    """Return the mean regret with its interval, relative to the regret of choosing at random."""
    # The agent may have fewer finished runs than the reference for choosing at random, whose regret
    # is therefore averaged only over the seeds that both have finished.
    own, uniform = runs.common(agent, UNIFORM) if UNIFORM in runs.regrets else np.zeros((2, 0))
    if not own.size:
        return Interval(math.nan, math.nan, math.nan)
    share = float(normalised_regret(own.mean(), uniform=uniform.mean()))
    mean = runs.means[agent]
    unit = mean.estimate / share if share > 0 else math.nan
    return Interval(share, mean.low / unit, mean.high / unit).at_least(0.0)


def _normalised_overall(tasks: AllTasks, agent: str) -> Interval:
    score = if_enough(iqm(tasks.score(agent)), tasks.is_enough)
    return Interval(1.0 - score.estimate, 1.0 - score.high, 1.0 - score.low).at_least(0.0)


def _rank(tasks: AllTasks, agent: str) -> Interval:
    return tasks.if_counted(tasks.ranks[tasks.scores.agents.index(agent)])


def _better(tasks: AllTasks, agent: str) -> Interval | None:
    if tasks.baseline is None or agent == tasks.baseline:
        return None
    both = tasks.score(agent), tasks.score(tasks.baseline)
    return tasks.if_counted(probability_of_improvement(*both))


def _mean_time(runs: list[StoredRun]) -> float | None:
    return sum(map(ms_per_step, runs)) / len(runs) if runs else None


COLUMNS: list[Column] = [
    Column(
        "regret",
        "Regret",
        "Mean final regret over runs, with its 95 % interval",
        digits=1,
        interval=True,
        task=lambda runs, agent: runs.means[agent].at_least(0.0),
    ),
    Column(
        "normalised",
        "Normalised regret",
        "Regret, where 0 is the oracle and 1 is choosing at random, with its 95 % interval",
        digits=3,
        interval=True,
        task=_normalised,
        overall=_normalised_overall,
    ),
    Column(
        "mean_rank",
        "Mean rank",
        "Rank among the agents in a run, averaged over the runs of all worlds",
        digits=2,
        interval=True,
        overall=_rank,
    ),
    Column(
        "runs",
        "Runs",
        "Number of finished runs",
        digits=0,
        task=lambda runs, agent: len(runs.regrets[agent]),
    ),
    Column(
        "ms_per_step",
        "ms/step",
        "Mean time that the agent needs per step, in milliseconds",
        digits=3,
        task=lambda runs, agent: _mean_time(runs.results.runs_of(agent, runs.track, runs.task)),
        overall=lambda tasks, agent: _mean_time(tasks.results.runs_of(agent, tasks.track)),
    ),
    Column(
        "interactions",
        "Interactions",
        "Number of steps in a run and in training by the harness; other training is not counted",
        digits=0,
        task=TaskRuns.interactions,
        when="pretrained",
    ),
    Column(
        "training_seconds",
        "Training s",
        "Duration of the training in seconds",
        digits=0,
        task=lambda runs, agent: (runs.results.training(runs.task, agent) or (0, None))[1],
        when="pretrained",
    ),
    Column(
        "difference",
        "Minus {baseline}",
        "Regret minus the regret of the baseline on the seeds that both have finished, with its "
        "95 % interval",
        digits=1,
        interval=True,
        task=lambda runs, agent: runs.differences.get(agent),
        when="baseline",
    ),
    Column(
        "p_value",
        "p (Holm)",
        "P-value of the difference, corrected for the number of agents",
        digits=3,
        task=lambda runs, agent: runs.p_values.get(agent),
        when="baseline",
    ),
    Column(
        "better",
        "P(better than {baseline})",
        "Probability that a run of the agent scores higher than a run of the baseline",
        digits=2,
        interval=True,
        overall=_better,
        when="baseline",
    ),
]
"""All columns of all tables, in display order."""
