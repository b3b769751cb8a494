"""The columns of the tables of results, each declared once.

The DataFrames, the terminal, ``--json``, the page and its CSV files all read ``COLUMNS``. A new
statistic is one more entry::

    Column(
        "median_regret",
        "Median regret",
        "Median over runs of the regret at the end",
        digits=1,
        task=lambda runs, agent: float(runs.regrets[agent].median()),
    )
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from evaluation.column import Column, Table
from evaluation.compared import AllTasks, Compared, TaskRuns
from evaluation.few_runs import enough_runs, shown_difference
from evaluation.results import UNIFORM
from evaluation.statistics import Interval, iqm, normalised_regret, probability_of_improvement
from evaluation.statistics.changes import FACTOR

PER_STEP = "Regret per step in the season"
UNTIL_BACK = (
    f"until a season begins with at most {FACTOR} times the regret before the first one; "
    "all until the next change or the end if none does"
)


def columns_of(
    table: Table, *, track: str, baseline: str | None = None, changes: bool = False
) -> list[Column]:
    """The columns of a table, in their order."""
    held = {"always", track} | ({"baseline"} if baseline is not None else set())
    held |= {"changes"} if changes else set()
    return [c for c in COLUMNS if getattr(c, table) is not None and c.when in held]


def columns_in(frame: pd.DataFrame) -> list[Column]:
    """The columns that a table has."""
    return [column for column in COLUMNS if column.key in frame]


def page_columns(table: Table, *, track: str, changes: bool = False) -> list[Column]:
    """The columns of a table of the page, which has no baseline."""
    shown = columns_of(table, track=track, changes=changes)
    return [column for column in shown if table in column.page]


def row_of(columns: list[Column], runs: TaskRuns | AllTasks, agent: str) -> dict[str, float | None]:
    """The cells of an agent's row of a table."""
    table: Table = "task" if isinstance(runs, TaskRuns) else "overall"
    cells: dict[str, float | None] = {}
    for column in columns:
        enough = enough_runs(runs, agent, counted=column.counted)
        cells |= column.cells(getattr(column, table)(runs, agent), enough=enough)
    return cells


def _normalised(runs: TaskRuns, agent: str) -> Interval:
    """The mean regret and its interval in units of what choosing at random loses."""
    if UNIFORM not in runs.regrets:
        return Interval(math.nan, math.nan, math.nan)
    # On the runs that this agent has: others may have finished more.
    mine, uniform = (runs.regrets[row].to_numpy() for row in (agent, UNIFORM))
    common = ~np.isnan(mine + uniform)
    share = float(normalised_regret(mine[common].mean(), uniform=uniform[common].mean()))
    mean = runs.means[agent]
    unit = mean.estimate / share if share > 0 else math.nan
    return Interval(share, mean.low / unit, mean.high / unit)


def _normalised_overall(tasks: AllTasks, agent: str) -> Interval:
    score = iqm(tasks.score(agent), seed=tasks.seed)
    return Interval(1.0 - score.estimate, 1.0 - score.high, 1.0 - score.low)


def _better(tasks: AllTasks, agent: str) -> Interval | None:
    if tasks.baseline is None or agent == tasks.baseline:
        return None
    baseline = tasks.score(tasks.baseline)
    return probability_of_improvement(tasks.score(agent), baseline, seed=tasks.seed)


def _of_changes(
    key: str, label: str, digits: int, description: str, *, cost: str | None = None
) -> Column:
    """The mean over runs of something that changes of the world cost, by its key if not named."""

    def mean(runs: TaskRuns, agent: str) -> float | None:
        found = runs.change_costs.get(agent)
        return None if found is None or found.empty else float(found[cost or key].mean())

    return Column(key, label, description, digits, task=mean, when="changes")


def _ms_per_step(runs: Compared, agent: str) -> float:
    return runs.ms_per_step[agent]


COLUMNS: list[Column] = [
    Column(
        "regret",
        "Regret",
        "Mean over runs of the regret at the end, with its 95 % interval",
        digits=1,
        interval=True,
        task=lambda runs, agent: runs.means[agent],
        least=0.0,  # an interval for its mean may reach below
    ),
    Column(
        "normalised",
        "Normalised regret",
        "0: the oracle, 1: choosing at random; with its 95 % interval",
        digits=3,
        interval=True,
        task=_normalised,
        overall=_normalised_overall,
        least=0.0,
    ),
    Column(
        "mean_rank",
        "Mean rank",
        "Rank within a world, averaged over worlds",
        digits=2,
        interval=True,
        counted=True,
        overall=lambda tasks, agent: tasks.ranks[tasks.scores.agents.index(agent)],
    ),
    Column(
        "runs",
        "Runs",
        "Runs that have finished",
        digits=0,
        task=lambda runs, agent: int(runs.regrets[agent].count()),
    ),
    Column(
        "ms_per_step",
        "ms/step",
        "The agent's own time per step, in milliseconds",
        digits=3,
        task=_ms_per_step,
        overall=_ms_per_step,
        page=("overall",),  # where the maintainers' own measurement may stand in for it
    ),
    _of_changes("before_change", "Before", 2, f"{PER_STEP} before the first change", cost="before"),
    _of_changes("after_first", "After 1st", 2, f"{PER_STEP} after the first change"),
    _of_changes("recovery_first", "Recovery 1st", 1, f"Steps from the first change {UNTIL_BACK}"),
    _of_changes("recovered_first", "Back 1st", 2, "Share of first changes that are recovered from"),
    _of_changes(
        "recovery",
        "Recovery all",
        1,
        f"Steps from a change, averaged over all, {UNTIL_BACK}, or did after an earlier change",
    ),
    _of_changes(
        "recovered", "Back all", 2, "Share of changes recovered from; none after one that is not"
    ),
    _of_changes(
        "worst_window",
        "Worst",
        1,
        "Largest regret over as many steps as the season has at the start",
        cost="worst",
    ),
    Column(
        "interactions",
        "Interactions",
        "Steps of one run, and those that the harness's training used before; not what an agent "
        "learned elsewhere",
        digits=0,
        task=TaskRuns.interactions,
        when="pretrained",
        page=(),
    ),
    Column(
        "training_seconds",
        "Training s",
        "Seconds that the training took",
        digits=0,
        task=lambda runs, agent: (runs.results.training(runs.task, agent) or (0, None))[1],
        when="pretrained",
        page=(),
    ),
    Column(
        "difference",
        "Minus {baseline}",
        "Regret minus the baseline's on common runs, with its 95 % interval",
        digits=1,
        interval=True,
        task=shown_difference,
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
        counted=True,
        overall=_better,
        when="baseline",
    ),
]
"""Every column of every table, in the order in which they are shown."""
