"""Tables of results: DataFrames that print entirely, no wider than the screen."""

from __future__ import annotations

import io
import math
import shutil
from collections.abc import Iterator
from typing import Literal

import pandas as pd
from markupsafe import Markup
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from evaluation.columns import (
    SIMULATED,
    AllTasks,
    Column,
    TaskRuns,
    columns_in,
    columns_of,
    least_runs,
    row_of,
    simulated_tasks,
)
from evaluation.results import Results
from evaluation.specs import REFERENCE_ROWS
from evaluation.statistics import MIN_RUNS, PairedDifference, paired_difference

NO_INTERVALS = f"No intervals: they need at least {MIN_RUNS} runs."
GAP = 3
"""Letters between two columns."""
MIN_NAME_WIDTH = 20
"""Width of the first column where its names are too long for the screen."""


class ResultsTable(pd.DataFrame):  # type: ignore[misc]  # pandas has no types
    """A DataFrame of results that prints entirely, and is formatted in a notebook.

    Rows, columns and sums of it are a plain DataFrame.
    """

    def __repr__(self) -> str:
        """Return the text that ``periodic-gp show`` prints, no wider than the screen."""
        return text_of(self, shutil.get_terminal_size().columns)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        parts = [Markup("<p>{}</p>").format(self.attrs["title"])] if "title" in self.attrs else []
        for title, rows in task_rows(self):
            parts += [Markup("<h4>{}</h4>").format(title)] if title else []
            cells = formatted(rows, self.attrs["baseline"])
            html = cells.loc[:, (cells != "").any()].to_html(index=False, border=0)
            parts.append(Markup('<div style="overflow-x:auto">{}</div>').format(Markup(html)))
        note = note_on_intervals(self, *self.attrs.get("scored", ()))
        return "".join([*parts, Markup("<p>{}</p>").format(note) if note else ""])

    def formatted(self) -> pd.DataFrame:
        """Return the cells as text, with numbers and intervals as they are printed."""
        return formatted(self, self.attrs["baseline"])


def formatted(frame: pd.DataFrame, baseline: str | None) -> pd.DataFrame:
    """Return the cells of a table as text, with headings as column names."""
    names = [name for name in ("task", "agent") if name in frame]
    records = frame.to_dict("records")
    cells = {c.heading(baseline): [c.text(row) for row in records] for c in columns_in(frame)}
    return pd.DataFrame({**{name: frame[name].tolist() for name in names}, **cells})


def task_rows(frame: ResultsTable) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield a title and the rows of each task, the best agent first and references last."""
    if "task" not in frame:
        yield "", frame
        return
    for task, title in frame.attrs["tasks"].items():
        rows = frame[frame["task"] == task].drop(columns="task")
        rows = rows.sort_values("regret", kind="stable") if "regret" in rows else rows
        below = rows["agent"].isin(REFERENCE_ROWS)
        yield title, pd.concat([rows[~below], rows[below]])


def task_table(
    results: Results, *, baseline: str | None = None, track: str = "online", seed: int = 0
) -> ResultsTable:
    """Return one row per task and agent, reference rows last; see ``evaluation.columns``.

    Args:
        results: The runs of a sweep.
        baseline: An agent of the track or a reference row, with which the others are compared;
            ignored if it is neither.
        track: Track of the agents.
        seed: Seed of the bootstrap.
    """
    known = baseline if baseline in (*results.agents(track), *REFERENCE_ROWS) else None
    columns = columns_of("task", track=track, baseline=known, changes=results.has_changes)
    rows = [
        {"task": task, "agent": agent, **row_of(columns, runs, agent)}
        for task in results.tasks
        for runs in [TaskRuns(results, track, known, seed, task)]
        for agent in runs.agents
    ]
    frame = ResultsTable(rows, columns=["task", "agent", *_keys(columns)])
    frame.attrs.update(tasks=_titles(results, track), track=track, baseline=known)
    return frame


def overall_table(
    results: Results, *, baseline: str | None = None, track: str = "online", seed: int = 0
) -> ResultsTable:
    """Return one row per agent over all tasks, the best first; see ``evaluation.columns``.

    Only runs that all agents have finished count, the same number in every task.

    Args:
        results: The runs of a sweep.
        baseline: An agent of the track, with which the others are compared; ignored if it is not.
        track: Track of the agents.
        seed: Seed of the bootstrap.
    """
    scores = results.scores(track)
    agents, (_, runs, scored) = scores.agents, scores.values.shape
    known = baseline if baseline in agents else None
    columns = columns_of("overall", track=track, baseline=known)
    tasks = AllTasks(results, track, known, seed)
    rows = [{"agent": agent, **row_of(columns, tasks, agent)} for agent in agents]
    frame = pd.DataFrame(rows, columns=["agent", *_keys(columns)])
    frame = ResultsTable(frame.sort_values("normalised", ignore_index=True, kind="stable"))
    count = len(results.tasks)
    every = {1: "One task", 2: "Both tasks"}.get(count, f"All {count} tasks")
    title = (
        f"{every} ({track}): 0 = oracle, 1 = choosing at random; normalised regret is an "
        "interquartile mean over runs"
    )
    frame.attrs.update(title=title, track=track, baseline=known, scored=(runs, scored))
    return frame


def pair_table(results: Results, first: str, second: str, *, seed: int = 0) -> ResultsTable:
    """Return first minus second on common runs, a row per task; they may be of two tracks.

    Args:
        results: The runs of a sweep.
        first: An agent or a reference row.
        second: Another one.
        seed: Seed of the bootstrap and of the test.
    """
    rows = []
    for task, runs, gap in paired_differences(results, first, second, seed=seed):
        low, high = (gap.low, gap.high) if runs >= MIN_RUNS else (math.nan, math.nan)
        rows.append([task, first, runs, gap.estimate, low, high, gap.p_value])
    bounds = ["difference", "difference_low", "difference_high"]
    frame = ResultsTable(rows, columns=["task", "agent", "runs", *bounds, "p_value"])
    titles = _titles(results, "common runs")
    frame.attrs.update(tasks={t: titles[t] for t in frame["task"]}, track=None, baseline=second)
    return frame


def paired_differences(
    results: Results, first: str, second: str, *, seed: int = 0
) -> Iterator[tuple[str, int, PairedDifference]]:
    """Yield a task's name, the number of common runs and first minus second, for each task."""
    for task in results.tasks:
        regrets = {
            str(agent): frame[agent]
            for track in reversed(results.tracks)
            for frame in [results.regrets(task, track)]
            for agent in frame
        }
        if first in regrets and second in regrets:
            both = pd.concat([regrets[first], regrets[second]], axis=1, join="inner").dropna()
            if len(both):
                a, b = both.sort_index().to_numpy().T
                yield task, len(both), paired_difference(a, b, seed=seed)


def note_on_intervals(frame: pd.DataFrame, runs: int = MIN_RUNS, tasks: int = 1) -> str | None:
    """Return the note below a table about its intervals, if it needs one.

    Args:
        frame: The rows of a table.
        runs: Runs of each task, if it spans several.
        tasks: Number of tasks that it spans.
    """
    ends = [column.keys[1] for column in columns_in(frame) if column.interval]
    if not ends:
        return None
    without = bool(frame[ends].isna().all(axis=None))
    if tasks < 2:
        return NO_INTERVALS if without else None
    if without:
        return f"No intervals: over {tasks} tasks they need at least {least_runs(tasks)} runs each."
    if runs < MIN_RUNS:
        together = f"the {runs} runs of each of {tasks} tasks count together"
        return f"Intervals over all tasks: {together}. Ranks need {MIN_RUNS} runs of each for one."
    return None


def _titles(results: Results, about: str) -> dict[str, str]:
    simulated = simulated_tasks(results)
    return {
        task: f"{task} ({about}, {SIMULATED})" if task in simulated else f"{task} ({about})"
        for task in results.tasks
    }


def _keys(columns: list[Column]) -> list[str]:
    return [key for column in columns for key in column.keys]


# As text


def rich_tables(frame: ResultsTable, width: int) -> Iterator[RichTable]:
    """Yield a table of results for a screen, as one or several tables for each task.

    Where a world changes, the costs of that have a table of their own: a single one would be too
    wide.
    """
    baseline = frame.attrs["baseline"]
    around = [column.key for column in columns_in(frame) if column.when == "changes"]
    for title, rows in task_rows(frame):
        main = rows.drop(columns=around)
        note = note_on_intervals(main, *frame.attrs.get("scored", ()))
        yield from _fitted(title or frame.attrs["title"], main, baseline, note, width)
        if around and rows[around].notna().to_numpy().any():
            costs = rows[["agent", *around]]
            legend = (f"{c.heading(baseline)}: {c.description}." for c in columns_in(costs))
            yield from _fitted(
                f"{title}, around its changes", costs, baseline, "\n".join(legend), width
            )


def _fitted(
    title: str, rows: pd.DataFrame, baseline: str | None, note: str | None, width: int
) -> Iterator[RichTable]:
    """Yield rows as one or several tables that fit on a screen, with the agents in each.

    Numbers are never cut or folded: they could not be compared. Headings and long names are.
    """
    cells, below = formatted(rows, baseline), rows["agent"].isin(REFERENCE_ROWS).to_numpy()
    groups, widths = _groups(cells, width)
    for number, group in enumerate(groups, 1):
        table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        table.width = sum(GAP + widths[name] for name in group) - GAP
        table.title, table.title_justify = f"{title}\n" if number == 1 else None, "left"
        table.caption, table.caption_justify = note if number == len(groups) else None, "left"
        for name in group:
            justify: Literal["left", "right"] = "left" if name == "agent" else "right"
            table.add_column(name, justify=justify, overflow="fold", width=widths[name])
        for part, style in ((cells[~below], None), (cells[below], "dim")):
            for row in part[group].itertuples(index=False):
                table.add_row(*map(Text, row), style=style)
            table.add_section()
        yield table


def _groups(cells: pd.DataFrame, width: int) -> tuple[list[list[str]], dict[str, int]]:
    """Return the columns of each table that fits on a screen, and the width of each column."""
    numbers = [name for name in cells if name != "agent"]
    least = {
        name: max(map(cell_len, [*cells[name], *([name] if name == "agent" else name.split())]))
        for name in cells
    }
    whole = {name: max(least[name], cell_len(name)) for name in cells}
    if whole["agent"] + sum(GAP + whole[name] for name in numbers) <= width:
        return [["agent", *numbers]], whole
    names = min(least["agent"], MIN_NAME_WIDTH)
    groups: list[list[str]] = [[]]
    for name in numbers:
        if groups[-1] and names + sum(GAP + least[each] for each in (*groups[-1], name)) > width:
            groups.append([])
        groups[-1].append(name)
    # Names may use the space that numbers leave.
    widest = max(sum(GAP + least[name] for name in group) for group in groups)
    least["agent"] = max(names, min(least["agent"], width - widest))
    return [["agent", *group] for group in groups], least


def text_of(frame: ResultsTable, width: int) -> str:
    """Return a table of results as plain text."""
    file = io.StringIO()
    console = Console(
        file=file,
        width=width,
        emoji=False,
        markup=False,
        force_terminal=False,  # this process may write to a terminal
        force_jupyter=False,
    )
    for table in rich_tables(frame, width):
        console.print(table, crop=False)
        console.print()
    return "\n".join(line.rstrip() for line in file.getvalue().rstrip().splitlines())
