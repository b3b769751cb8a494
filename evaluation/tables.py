"""Tables of results as text, as DataFrames, and as HTML; remarks on what they leave out."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from markupsafe import Markup

from agents.registry import is_built_in
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
from evaluation.entries import taken_by
from evaluation.results import Results, common_runs
from evaluation.specs import REFERENCE_ROWS
from evaluation.statistics import MIN_RUNS, paired_difference
from evaluation.store import StoredRun

NO_INTERVALS = f"No intervals: they need at least {MIN_RUNS} runs."
GAP = "   "
MAX_FAILURES = 10
"""Failures that are listed, those of one kind as one."""

Cells = dict[str, list[str]]
"""The columns of a table as text, by their headings."""


@dataclass(frozen=True)
class TableContent:
    """Content of a table of results.

    Attributes:
        rows: The cells of each row by key: its agent, its task in a table of tasks, and numbers.
        columns: Columns of the numbers.
        titles: Title of each task; of a table over all tasks, the one of None.
        baseline: The row that the others are compared with, or None.
        scored: Runs of each task, and tasks, if it spans several.
    """

    rows: list[dict[str, Any]]
    columns: list[Column]
    titles: dict[str | None, str]
    baseline: str | None = None
    scored: tuple[int, int] = (MIN_RUNS, 1)

    def sections(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield a title and the rows of each task, the best agent first and references last."""
        for task, title in self.titles.items():
            rows = [row for row in self.rows if row.get("task") == task]
            rows.sort(key=lambda row: (row["agent"] in REFERENCE_ROWS, row.get("regret", 0.0)))
            yield title, rows

    def frame(self) -> ResultsTable:
        """Return the numbers as a DataFrame."""
        names = ["agent"] if None in self.titles else ["task", "agent"]
        keys = [key for column in self.columns for key in column.keys]
        frame = ResultsTable(self.rows, columns=[*names, *keys])
        frame.content = self
        return frame

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as plain data: None where a number is missing."""
        return [
            {key: None if value != value else value for key, value in row.items()}
            for row in self.rows
        ]

    def text(self, width: int) -> str:
        """Return the table as text, in several tables for each task if it is wider than allowed.

        Where a world changes, the costs of that have a table of their own.
        """
        around = [column for column in self.columns if column.when == "changes"]
        main = [column for column in self.columns if column not in around]
        parts = []
        for title, rows in self.sections():
            parts += [textwrap.fill(title, width), *_grids(self._cells(rows, main), width)]
            parts += (textwrap.fill(note, width) for note in self._note(rows, main))
            costs = self._cells(rows, around)
            if any(text for heading in list(costs)[1:] for text in costs[heading]):
                legend = [f"{c.heading(self.baseline)}: {c.description}." for c in around]
                lines = (textwrap.fill(line, width) for line in legend)
                parts += [f"{title}, around its changes", *_grids(costs, width), "\n".join(lines)]
        return "\n\n".join(parts)

    def html(self) -> Markup:
        """Return the table as HTML."""
        parts = []
        for title, rows in self.sections():
            cells = {k: texts for k, texts in self._cells(rows, self.columns).items() if any(texts)}
            table = Markup(pd.DataFrame(cells).to_html(index=False, border=0))
            part = Markup('<h4>{}</h4><div style="overflow-x:auto">{}</div>').format(title, table)
            notes = (Markup("<p>{}</p>").format(note) for note in self._note(rows, self.columns))
            parts += [part, *notes]
        return Markup("").join(parts)

    def latex(self) -> str:
        """Return the table in LaTeX, with the rules of the package booktabs."""
        names = {"task": [row["task"] for row in self.rows]}
        cells = pd.DataFrame(names | self._cells(self.rows, self.columns))
        return str(cells.to_latex(index=False, escape=True))

    def _cells(self, rows: Sequence[dict[str, Any]], columns: Iterable[Column]) -> Cells:
        numbers = {c.heading(self.baseline): [c.text(row) for row in rows] for c in columns}
        return {"agent": [row["agent"] for row in rows], **numbers}

    def _note(self, rows: Sequence[dict[str, Any]], columns: Iterable[Column]) -> list[str]:
        """Return the note on intervals that rows need, if any."""
        with_interval = [column for column in columns if column.interval]
        if not with_interval:
            return []
        # NaN is not equal to itself.
        ends = [column.values(row)[1] for column in with_interval for row in rows]
        without = all(end != end for end in ends)
        runs, tasks = self.scored
        if without and tasks < 2:
            return [NO_INTERVALS]
        if without:
            needed = f"over {tasks} tasks they need at least {least_runs(tasks)} runs each."
            return [f"No intervals: {needed}"]
        if runs < MIN_RUNS:
            together = f"the {runs} runs of each of {tasks} tasks count together"
            needed = f"Ranks need {MIN_RUNS} runs of each for one."
            return [f"Intervals over all tasks: {together}. {needed}"]
        return []


class ResultsTable(pd.DataFrame):  # type: ignore[misc]  # pandas has no types
    """A DataFrame of results that prints entirely, and is formatted in a notebook.

    Rows, columns and sums of it are a plain DataFrame.
    """

    _metadata = ["content"]  # noqa: RUF012 (convention of pandas)

    def __repr__(self) -> str:
        """Return the text that ``periodic-gp show`` prints, as wide as the screen at most."""
        return self._now().text(shutil.get_terminal_size().columns)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return self._now().html()

    def _now(self) -> TableContent:
        """Return the content with changes that the user has made."""
        content: TableContent = self.content
        columns = [column for column in content.columns if column.key in self]
        return replace(content, rows=self.to_dict("records"), columns=columns)


def _grids(cells: Cells, width: int) -> Iterator[str]:
    """Yield cells as one or several tables, the first column in each; numbers are never cut."""
    columns = [_lines(heading, texts, fold=False) for heading, texts in cells.items()]
    if sum(len(GAP) + len(column[0]) for column in columns) - len(GAP) > width:
        columns = [_lines(heading, texts, fold=True) for heading, texts in cells.items()]
    height = max(map(len, columns))
    names, *numbers = (
        [" " * len(column[0])] * (height - len(column)) + column for column in columns
    )
    groups: list[list[list[str]]] = [[names]]
    for column in numbers:
        used = sum(len(GAP) + len(each[0]) for each in groups[-1])
        if len(groups[-1]) > 1 and used + len(column[0]) > width:
            groups.append([names])
        groups[-1].append(column)
    for group in groups:
        yield "\n".join(GAP.join(line).rstrip() for line in zip(*group, strict=True))


def _lines(heading: str, texts: list[str], *, fold: bool) -> list[str]:
    """Return a column as lines of equal width, names to the left and numbers to the right."""
    words = heading.split() if fold else [heading]
    width = max(map(len, [*words, *texts]))
    lines = [*textwrap.wrap(heading, width), "-" * width, *texts]
    return [line.ljust(width) if heading == "agent" else line.rjust(width) for line in lines]


def tables_of(results: Results, *, baseline: str | None = None) -> Iterator[TableContent]:
    """Yield the tables of each track: of all tasks, and over them."""
    for track in results.tracks:
        yield task_table(results, baseline=baseline, track=track)
        yield from rankings(results, baseline=baseline, track=track)


def task_table(
    results: Results, *, baseline: str | None = None, track: str = "online"
) -> TableContent:
    """Return one row per task and agent, reference rows last; see ``evaluation.columns``.

    Args:
        results: The runs of a sweep.
        baseline: An agent of the track or a reference row, with which the others are compared;
            ignored if it is neither.
        track: Track of the agents.
    """
    known = baseline if baseline in (*results.agents(track), *REFERENCE_ROWS) else None
    columns = columns_of("task", track=track, baseline=known, changes=bool(results.change_rows))
    rows: list[dict[str, Any]] = [
        {"task": task, "agent": agent, **row_of(columns, runs, agent)}
        for task in results.tasks
        for runs in [TaskRuns(results, track, known, task)]
        for agent in runs.regrets
    ]
    return TableContent(rows, columns, _titles(results, track), known)


def overall_table(
    results: Results, *, baseline: str | None = None, track: str = "online", more: str = ""
) -> TableContent:
    """Return one row per agent over all tasks, the best first; see ``evaluation.columns``.

    Only runs that all agents have finished count, the same number in every task.

    Args:
        results: The runs of a sweep.
        baseline: An agent of the track, with which the others are compared; ignored if it is not.
        track: Track of the agents.
        more: An addition to the title.
    """
    scores = results.scores(track)
    _, runs, scored = scores.values.shape
    known = baseline if baseline in scores.agents else None
    columns = columns_of("overall", track=track, baseline=known)
    tasks = AllTasks(results, track, known)
    rows: list[dict[str, Any]] = [
        {"agent": agent, **row_of(columns, tasks, agent)} for agent in scores.agents
    ]
    rows.sort(key=lambda row: row["normalised"])
    count = len(results.tasks)
    every = {1: "One task", 2: "Both tasks"}.get(count, f"All {count} tasks")
    title = (
        f"{every} ({track}): 0 = oracle, 1 = choosing at random; normalised regret is an "
        f"interquartile mean over runs{more}"
    )
    return TableContent(rows, columns, {None: title}, known, (runs, scored))


def pair_table(results: Results, first: str, second: str) -> TableContent:
    """Return first minus second on common runs, a row per task; they may be of two tracks."""
    columns = {c.key: c for c in COLUMNS if c.key in ("runs", "difference", "p_value")}
    rows: list[dict[str, Any]] = []
    for task, regrets in results.by_task.items():
        if {first, second} <= set(regrets) and (
            common := common_runs(regrets, [first, second])
        ).size:
            gap = paired_difference(*common)
            cells = columns["difference"].cells(gap, enough=common.shape[1] >= MIN_RUNS)
            numbers = {"runs": common.shape[1], **cells, "p_value": gap.p_value}
            rows.append({"task": task, "agent": first, **numbers})
    titles = _titles(results, "common runs")
    shown = {row["task"]: titles[row["task"]] for row in rows}
    return TableContent(rows, list(columns.values()), shown, second)


def _titles(results: Results, about: str) -> dict[str | None, str]:
    simulated = simulated_tasks(results)
    return {
        task: f"{task} ({about}, {SIMULATED})" if task in simulated else f"{task} ({about})"
        for task in results.tasks
    }


# Agents that take part in some tasks only, and remarks


def tasks_of(results: Results, track: str) -> dict[str, tuple[str, ...]]:
    """Return the tasks that each agent of a track takes part in."""
    return {
        entry["label"]: tuple(
            task
            for task, worlds in results.tasks.items()
            if not entry["envs"] or {*entry["envs"]} & {*worlds}
        )
        for entry in results.entries
        if entry["track"] == track
    }


def part_of(results: Results, tasks: Collection[str]) -> Results:
    """Return the results in some tasks of the agents that take part in all of these."""
    agents = [
        agent
        for track in results.tracks
        for agent, own in tasks_of(results, track).items()
        if {*tasks} <= {*own}
    ]
    return Results(results.source, agents=agents, tasks=tasks)


def parts(results: Results, track: str) -> Iterator[tuple[str, Results]]:
    """Yield the tasks that some agents are limited to: a title, and the results in them."""
    agents, every = tasks_of(results, track), tuple(results.tasks)
    for tasks in dict.fromkeys(agents.values()):
        if tasks and tasks != every:
            own = [agent for agent, mine in agents.items() if mine == tasks]
            named = ", ".join(own[:3]) + (f" and {len(own) - 3} more" if len(own) > 3 else "")
            title = f"{len(tasks)} of {len(every)} tasks, in which {named} can take part"
            yield title, part_of(results, tasks)


def rankings(
    results: Results, *, baseline: str | None = None, track: str = "online"
) -> Iterator[TableContent]:
    """Yield the table over all tasks, then one for each part that some agents are limited to.

    Nothing is ranked with fewer than two tasks or without finished runs.
    """
    for title, part in [("", results), *parts(results, track)]:
        table = overall_table(part, baseline=baseline, track=track)
        if len(results.tasks) > 1 and table.rows:
            yield replace(table, titles={None: f"{title} ({track})"}) if title else table


def remarks(
    results: Results, *, more: str = "see .failures", again: str = "retry_failed=True"
) -> Iterator[str]:
    """Yield remarks that tables lack: excluded agents, unfinished runs and failures.

    Args:
        results: The runs of a sweep.
        more: Where to find failures beyond the first ten.
        again: How to run failed runs again.
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
        yield f"They are run again when their code has changed, or if asked for ({again})."


def excluded(results: Results) -> Iterator[str]:
    """Yield a sentence for each agent that is not run or ranked in all tasks."""
    kinds = excluded_kinds(results)
    for track in results.tracks:
        ranked = results.scores(track).agents
        for agent, tasks in tasks_of(results, track).items():
            out = [task for task in results.tasks if task not in tasks]
            missing = [task for task in tasks if agent not in results.by_task[task]]
            if out:
                apart = "; it is ranked apart" if tasks and len(results.tasks) > 1 else ""
                why = f" ({kinds[agent]})" if agent in kinds else ""
                yield f"Left out: {agent}{why} in {', '.join(out)}{apart}."
            elif ranked and agent not in ranked and len(results.tasks) > 1 and missing:
                where = ", ".join(missing)
                yield f"Not ranked over all tasks: {agent} has not finished any run in {where}."


def excluded_kinds(results: Results) -> dict[str, str]:
    """Return "arms only" or "boxes only" for agents that some tasks leave out for that reason.

    Only this package's own agents are looked up: results may come from anywhere, and must not
    choose the code that is read.
    """
    found = {}
    for entry in results.entries:
        tasks = tasks_of(results, entry["track"])[entry["label"]]
        if len(tasks) < len(results.tasks) and is_built_in(entry["name"]):
            takes = taken_by(entry["name"])
            if takes is not None:
                found[entry["label"]] = f"{'boxes' if takes == 'box' else takes} only"
    return found
