"""The columns of the tables of results, each declared once.

The DataFrames, the terminal, ``--json``, the page and its CSV files all read ``COLUMNS``. A new
statistic is one more entry::

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
"""The table of a task has a row for each agent and reference; the overall one spans all tasks."""
Value = Interval | float | None
SIMULATED = "simulated"
"""Mark of a task whose rewards were simulated instead of measured."""


@dataclass(frozen=True)
class TableRuns:
    """The runs behind a table.

    Attributes:
        results: All runs of the sweep.
        track: Track of the agents.
        baseline: The row that the others are compared with, or None.
    """

    results: Results
    track: str
    baseline: str | None


@dataclass(frozen=True)
class TaskRuns(TableRuns):
    """The runs of one task, whose name is ``task``."""

    task: str

    @cached_property
    def regrets(self) -> dict[str, Array]:
        """Total regrets of the runs of each row: the protocol's agents, then the references."""
        by_run = self.results.by_task[self.task]
        rows = [*self.results.agents(self.track), *REFERENCE_ROWS]
        return {agent: common_runs(by_run, [agent])[0] for agent in rows if agent in by_run}

    def common(self, agent: str, other: str) -> Array:
        """Return the regrets of two rows, shape (2, runs), in the runs that both have finished."""
        return common_runs(self.results.by_task[self.task], [agent, other])

    @cached_property
    def means(self) -> dict[str, Interval]:
        """Mean regret of each row."""
        rows = self.regrets.items()
        return {
            agent: if_enough(mean_interval(runs), len(runs) >= MIN_RUNS) for agent, runs in rows
        }

    @cached_property
    def differences(self) -> dict[str, PairedDifference]:
        """Each row minus the baseline on common runs, where there are any."""
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
        """P-values corrected for the number of agents; computed references are not tested."""
        tested = [agent for agent in self.differences if agent not in REFERENCE_ROWS]
        corrected = holm([self.differences[agent].p_value for agent in tested])
        return dict(zip(tested, corrected.tolist(), strict=True))

    def interactions(self, agent: str) -> float | None:
        """Return the interactions of an agent, those of its training included."""
        if agent in REFERENCE_ROWS:
            return None
        training = self.results.training(self.task, agent) or (0, 0.0)
        steps = max(run.steps for run in self.results.runs_of(agent, self.track, self.task))
        return float(steps + training[0])


@dataclass(frozen=True)
class AllTasks(TableRuns):
    """The runs of all tasks together."""

    @property
    def scores(self) -> Scores:
        """Scores of the agents that are in the table."""
        return self.results.scores(self.track)

    def score(self, agent: str) -> Array:
        """Return the scores of an agent, shape (runs, tasks)."""
        return np.asarray(self.scores.values[self.scores.agents.index(agent)])

    @property
    def is_enough(self) -> bool:
        """Whether there are enough runs, all tasks together, for an interval.

        Over all tasks runs are resampled within each and count together: there must be as many
        degrees of freedom, ``tasks * (runs - 1)``, as ``MIN_RUNS`` runs of one task have.
        """
        _, runs, tasks = self.scores.values.shape
        return bool(runs >= least_runs(tasks))

    def if_counted(self, interval: Interval) -> Interval:
        """Return an interval that counts how often agents are better: it needs more runs.

        Fewer than ``MIN_RUNS`` of each task can be resampled in so few ways that it may have no
        width at all.
        """
        return if_enough(interval, self.scores.values.shape[1] >= MIN_RUNS)

    @cached_property
    def ranks(self) -> Band:
        """Mean rank of each agent."""
        return mean_ranks(self.scores.values)


def least_runs(tasks: int) -> int:
    """Return the runs of each task that an interval over several tasks needs."""
    return 1 + math.ceil((MIN_RUNS - 1) / tasks)


@dataclass(frozen=True)
class Column:
    """A column of the table of a task, of the overall table, or of both.

    Attributes:
        key: Its name in DataFrames, JSON and CSV; with an interval there are ``{key}_low`` and
            ``{key}_high``, too.
        label: Its heading; ``{baseline}`` stands for the row that others are compared with.
        description: One sentence, the tooltip of the heading on the page.
        digits: Decimals.
        interval: True if it has a 95 % interval.
        task: Computes it for a row of the table of a task.
        overall: Computes it for a row of the overall table.
        when: Condition to be in a table: always, in the track "pretrained", or with a baseline.
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
        """Names of its columns in a DataFrame."""
        bounds = [f"{self.key}_low", f"{self.key}_high"] if self.interval else []
        return [self.key, *bounds]

    def cells(self, value: Value) -> dict[str, float | None]:
        """Return a value as the cells of a row."""
        if isinstance(value, Interval):
            return dict(zip(self.keys, (value.estimate, value.low, value.high), strict=True))
        return {**dict.fromkeys(self.keys), self.key: value}

    def values(self, row: Mapping[str, Any]) -> tuple[float, float, float]:
        """Return the value of a row and the ends of its interval; NaN where they are missing."""
        cells = [row.get(key) for key in self.keys]
        numbers = [math.nan if x is None else float(x) for x in cells]
        value, low, high = (*numbers, math.nan, math.nan)[:3]
        return value, low, high

    def text(self, row: Mapping[str, Any]) -> str:
        """Return a row's cell as text."""
        value, low, high = (f"{x:,.{self.digits}f}" for x in self.values(row))
        if value == "nan":
            return ""
        return value if low == "nan" else f"{value} [{low}, {high}]"

    def heading(self, baseline: str | None) -> str:
        """Return its heading as text."""
        return self.label.replace("{baseline}", str(baseline)) + " [95 %]" * self.interval

    def about(self) -> dict[str, Any]:
        """Return its description for the page, as plain data."""
        names = {"key": self.key, "label": self.label, "title": self.description}
        return {**names, "digits": self.digits, "interval": self.interval}


def columns_of(table: TableKind, *, track: str, baseline: str | None = None) -> list[Column]:
    """Return the columns of a table, in their order."""
    applying = {"always", track} | ({"baseline"} if baseline is not None else set())
    return [c for c in COLUMNS if getattr(c, table) is not None and c.when in applying]


def page_columns(table: TableKind) -> list[Column]:
    """Return the columns of a table of the page, which has no baseline.

    Times are in the overall table only, where the maintainers' own measurement may replace them.
    """
    columns = columns_of(table, track="online")
    return [column for column in columns if table == "overall" or column.key != "ms_per_step"]


def row_of(columns: list[Column], runs: TaskRuns | AllTasks, agent: str) -> dict[str, float | None]:
    """Return the cells of an agent's row of a table."""
    table: TableKind = "task" if isinstance(runs, TaskRuns) else "overall"
    cells: dict[str, float | None] = {}
    for column in columns:
        cells |= column.cells(getattr(column, table)(runs, agent))
    return cells


def simulated_tasks(results: Results) -> list[str]:
    """Return the tasks with a world whose rewards were simulated instead of measured."""
    data = results.sweep.data
    return [
        task
        for task, envs in results.tasks.items()
        if any(data.get(env) == "simulator" for env in envs)
    ]


def _normalised(runs: TaskRuns, agent: str) -> Interval:
    """Return the mean regret and its interval in units of the regret of choosing at random."""
    # On the runs that this agent has: others may have finished more.
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
        "Mean over runs of the regret at the end, with its 95 % interval",
        digits=1,
        interval=True,
        task=lambda runs, agent: runs.means[agent].at_least(0.0),
    ),
    Column(
        "normalised",
        "Normalised regret",
        "0: the oracle, 1: choosing at random; with its 95 % interval",
        digits=3,
        interval=True,
        task=_normalised,
        overall=_normalised_overall,
    ),
    Column(
        "mean_rank",
        "Mean rank",
        "Rank within a world, averaged over worlds",
        digits=2,
        interval=True,
        overall=_rank,
    ),
    Column(
        "runs",
        "Runs",
        "Runs that have finished",
        digits=0,
        task=lambda runs, agent: len(runs.regrets[agent]),
    ),
    Column(
        "ms_per_step",
        "ms/step",
        "The agent's own time per step, in milliseconds",
        digits=3,
        task=lambda runs, agent: _mean_time(runs.results.runs_of(agent, runs.track, runs.task)),
        overall=lambda tasks, agent: _mean_time(tasks.results.runs_of(agent, tasks.track)),
    ),
    Column(
        "interactions",
        "Interactions",
        "Steps of one run, and those that the harness's training used before; not what an agent "
        "learned elsewhere",
        digits=0,
        task=TaskRuns.interactions,
        when="pretrained",
    ),
    Column(
        "training_seconds",
        "Training s",
        "Seconds that the training took",
        digits=0,
        task=lambda runs, agent: (runs.results.training(runs.task, agent) or (0, None))[1],
        when="pretrained",
    ),
    Column(
        "difference",
        "Minus {baseline}",
        "Regret minus the baseline's on common runs, with its 95 % interval",
        digits=1,
        interval=True,
        task=lambda runs, agent: runs.differences.get(agent),
        when="baseline",
    ),
    Column(
        "p_value",
        "p (Holm)",
        "How surprising the difference is, corrected for the number of agents",
        digits=3,
        task=lambda runs, agent: runs.p_values.get(agent),
        when="baseline",
    ),
    Column(
        "better",
        "P(better than {baseline})",
        "Chance that a run scores higher than one of the baseline",
        digits=2,
        interval=True,
        overall=_better,
        when="baseline",
    ),
]
"""Every column of every table, in the order of display."""
