"""Tables of results as DataFrames, text and HTML, and remarks on excluded results."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from markupsafe import Markup

from evaluation.columns import (
    COLUMNS,
    SIMULATED,
    AllTasks,
    Column,
    TaskRuns,
    columns_of,
    least_runs,
    row_of,
    simulated_tasks,
)
from evaluation.results import Results, common_runs
from evaluation.specs import REFERENCE_ROWS
from evaluation.statistics import MIN_RUNS, if_enough, paired_difference
from evaluation.store import StoredRun

NO_INTERVALS = f"Intervals are omitted, because they require at least {MIN_RUNS} runs."
MAX_FAILURES = 10
"""Maximum number of different failures that are listed."""
GAP = "   "

Cells = dict[str, list[str]]
"""Columns of a table as text, by heading."""


@dataclass(frozen=True)
class Table:
    """Content of a table of results.

    Attributes:
        rows: Cells of each row by key: the agent, the task (only in task tables) and the numbers.
        columns: Numeric columns.
        titles: Title of each task. A table over all tasks has a single title, with the key None.
        baseline: Agent or reference row with which the other rows are compared, or None.
        note: Note on intervals, by default derived from the rows.
    """

    rows: list[dict[str, Any]]
    columns: list[Column]
    titles: dict[str | None, str]
    baseline: str | None = None
    note: str = ""

    def frame(self) -> ResultsTable:
        """Return the numbers as a DataFrame."""
        names = ["agent"] if None in self.titles else ["task", "agent"]
        keys = [key for column in self.columns for key in column.keys]
        frame = ResultsTable(self.rows, columns=[*names, *keys])
        frame.content = self
        return frame

    def text(self, width: int) -> str:
        """Return the table as text, split into several parts if it is wider than ``width``."""
        parts = []
        for title, cells, note in self._sections():
            grids = _grids(cells, width) if cells["agent"] else ["No finished runs."]
            parts += [textwrap.fill(title, width), *grids]
            parts += [textwrap.fill(note, width)] if note else []
        return "\n\n".join(parts)

    def html(self) -> Markup:
        """Return the table as HTML."""
        parts = []
        for title, cells, note in self._sections():
            table = Markup(pd.DataFrame(cells).to_html(index=False, border=0))
            part = Markup('<h4>{}</h4><div style="overflow-x:auto">{}</div>').format(title, table)
            parts += [part, Markup("<p>{}</p>").format(note) if note else ""]
        return Markup("").join(parts)

    def latex(self) -> str:
        """Return the table in LaTeX, in the style of the package booktabs."""
        tasks = {"task": [row["task"] for row in self.rows]}
        return str(pd.DataFrame(tasks | self._cells(self.rows)).to_latex(index=False, escape=True))

    def _sections(self) -> Iterator[tuple[str, Cells, str]]:
        """Yield the title, cells and note of each task.

        The best agent is first, and the references are last.
        """
        with_interval = [column for column in self.columns if column.interval]
        for task, title in self.titles.items():
            rows = [row for row in self.rows if row.get("task") == task]
            rows.sort(key=lambda row: (row["agent"] in REFERENCE_ROWS, row.get("regret", 0.0)))
            # NaN is not equal to itself.
            lows = [column.values(row)[1] for column in with_interval for row in rows]
            without = lows and all(low != low for low in lows)
            yield title, self._cells(rows), self.note or (NO_INTERVALS if without else "")

    def _cells(self, rows: list[dict[str, Any]]) -> Cells:
        numbers = {c.heading(self.baseline): [c.text(row) for row in rows] for c in self.columns}
        return {"agent": [row["agent"] for row in rows], **numbers}


class ResultsTable(pd.DataFrame):  # type: ignore[misc]  # pandas has no types
    """DataFrame of results that is printed without truncation and formatted in notebooks.

    Operations on the table return plain DataFrames.
    """

    _metadata = ["content"]  # noqa: RUF012 (convention of pandas)
    content: Table

    def __repr__(self) -> str:
        """Return the table as ``periodic-gp show`` prints it, split to fit the terminal."""
        return self._table().text(shutil.get_terminal_size().columns)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return self._table().html()

    def _table(self) -> Table:
        """Return the content with the current rows and columns, which the user may have changed."""
        columns = [column for column in self.content.columns if column.key in self]
        return replace(self.content, rows=self.to_dict("records"), columns=columns)


def _grids(cells: Cells, width: int) -> Iterator[str]:
    """Yield text tables that fit the width; the first column is repeated in each table."""
    columns = []
    for heading, texts in cells.items():
        wide = max(map(len, [heading, *texts]))
        lines = [heading, "-" * wide, *texts]
        left = heading == "agent"
        columns.append([line.ljust(wide) if left else line.rjust(wide) for line in lines])
    names, *numbers = columns
    group = [names]
    for column in numbers:
        if len(group) > 1 and sum(len(GAP + each[0]) for each in [*group, column]) > width:
            yield _joined(group)
            group = [names]
        group.append(column)
    yield _joined(group)


def _joined(columns: list[list[str]]) -> str:
    return "\n".join(GAP.join(line).rstrip() for line in zip(*columns, strict=True))


def tables_of(results: Results, *, baseline: str | None = None) -> Iterator[Table]:
    """Yield the task table of each track, and its overall table if the track has a ranking."""
    for track in results.tracks:
        yield task_table(results, baseline=baseline, track=track)
        overall = overall_table(results, baseline=baseline, track=track)
        if len(results.tasks) > 1 and overall.rows:
            yield overall


def task_table(results: Results, *, baseline: str | None = None, track: str = "online") -> Table:
    """Return a table with one row per task and agent, reference rows last.

    Args:
        results: The runs of a sweep.
        baseline: Agent of the track, or reference row, with which the other rows are compared;
            unknown names are ignored.
        track: Track of the agents.
    """
    known = baseline if baseline in (*results.agents(track), *REFERENCE_ROWS) else None
    columns = columns_of("task", track=track, baseline=known)
    tasks = {task: TaskRuns(results, track, known, task) for task in results.tasks}
    rows = [
        {"task": task, "agent": agent, **row_of(columns, runs, agent)}
        for task, runs in tasks.items()
        for agent in runs.regrets
    ]
    return Table(rows, columns, _titles(results, track), known)


def overall_table(results: Results, *, baseline: str | None = None, track: str = "online") -> Table:
    """Return a table with one row per agent over all tasks, best first.

    The table includes only runs that all ranked agents have finished, and the same number of runs
    for every task.

    Args:
        results: The runs of a sweep.
        baseline: Ranked agent with which the other agents are compared; all other names are
            ignored.
        track: Track of the agents.
    """
    scores = results.scores(track)
    known = baseline if baseline in scores.agents else None
    columns = columns_of("overall", track=track, baseline=known)
    runs = AllTasks(results, track, known)
    rows: list[dict[str, Any]] = [
        {"agent": agent, **row_of(columns, runs, agent)} for agent in scores.agents
    ]
    rows.sort(key=lambda row: row["normalised"])
    count = len(results.tasks)
    every = {1: "One task", 2: "Both tasks"}.get(count, f"All {count} tasks")
    title = (
        f"{every} ({track}): normalised regret is an interquartile mean over runs, where 0 is the "
        "oracle and 1 is choosing at random"
    )
    return Table(rows, columns, {None: title}, known, _overall_note(runs))


def _overall_note(runs: AllTasks) -> str:
    """Return the note on the intervals of the overall table, or an empty string."""
    _, count, tasks = runs.scores.values.shape
    if tasks < 2 or count >= MIN_RUNS:
        return ""
    if not runs.is_enough:
        needed = f"require at least {least_runs(tasks)} runs of each task."
        return f"Intervals are omitted, because intervals over {tasks} tasks {needed}"
    together = f"pool the {count} runs of each of the {tasks} tasks"
    return f"Intervals {together}. Intervals of ranks require {MIN_RUNS} runs of each task."


def pair_table(results: Results, first: str, second: str) -> Table:
    """Return the regret of ``first`` minus that of ``second``, one row per task.

    Only the worlds and seeds that both have finished are compared. The two agents may belong to
    different tracks.
    """
    columns = {c.key: c for c in COLUMNS if c.key in ("runs", "difference", "p_value")}
    rows: list[dict[str, Any]] = []
    for task, regrets in results.by_task.items():
        if {first, second} <= regrets.keys():
            common = common_runs(regrets, [first, second])
            runs = common.shape[1]
            if runs:
                gap = if_enough(paired_difference(*common), runs >= MIN_RUNS)
                numbers = columns["difference"].cells(gap) | {"p_value": gap.p_value}
                rows.append({"task": task, "agent": first, "runs": runs, **numbers})
    titles = _titles(results, "common runs")
    used = {row["task"]: titles[row["task"]] for row in rows}
    return Table(rows, list(columns.values()), used, second)


def _titles(results: Results, about: str) -> dict[str | None, str]:
    simulated = simulated_tasks(results)
    return {
        task: f"{task} ({about}, {SIMULATED})" if task in simulated else f"{task} ({about})"
        for task in results.tasks
    }


def remarks(
    results: Results, *, more: str = "see .failures", again: str = "retry_failed=True"
) -> Iterator[str]:
    """Yield remarks on excluded agents, unfinished runs and failures.

    Args:
        results: The runs of a sweep.
        more: Text that refers to the list of all failures; it is printed if there are more than ten
            different failures.
        again: Option that repeats failed runs.
    """
    yield from excluded(results)
    unfinished = results.size - len(results.runs) - len(results.trainings)
    if unfinished:
        yield f"{unfinished:,} of {results.size:,} runs are not finished yet."
    alike: dict[tuple[str, str | None], list[StoredRun]] = {}
    for failed in results.failures:
        alike.setdefault((failed.agent, failed.reason), []).append(failed)
    for (agent, reason), runs in list(alike.items())[:MAX_FAILURES]:
        where = f"{runs[0].env}, seed {runs[0].seed}"
        often = "" if len(runs) == 1 else f"{len(runs):,} runs, the first of them in "
        yield f"Failed: {agent} in {often}{where}: {reason}"
    others = sum(map(len, list(alike.values())[MAX_FAILURES:]))
    if others:
        yield f"... and {others:,} more failures ({more})"
    if alike:
        yield f"Failed runs are repeated if their code has changed, or on request ({again})."


def excluded(results: Results) -> Iterator[str]:
    """Yield remarks on the agents that are not ranked over all tasks."""
    for track in results.tracks if len(results.tasks) > 1 else []:
        missing = {
            agent: [task for task, runs in results.by_task.items() if agent not in runs]
            for agent in results.agents(track)
        }
        others = {agent: tasks for agent, tasks in missing.items() if tasks}
        if others and len(others) == len(missing):
            yield (
                f"No agent of the track {track} has finished a run in every task, so the track has "
                "no ranking over all tasks."
            )
        else:
            for agent, tasks in others.items():
                where = ", ".join(tasks)
                yield (
                    f"{agent} is not ranked over all tasks, because it has no finished run in "
                    f"{where}."
                )
        if others:
            yield (
                "The tables of tasks include all agents; results.select(envs=[...]).overall() "
                "ranks the agents on a selection of tasks."
            )
