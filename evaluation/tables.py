"""Tables of results: DataFrames that print entirely, no wider than the screen."""

from __future__ import annotations

import io
import math
import shutil
from collections.abc import Iterable, Iterator

import pandas as pd
from markupsafe import Markup
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Column as RichColumn
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
GAP, EDGES = 3, 2
"""Letters between two columns, and beside the first and the last."""
MIN_NAME_WIDTH = 20
"""Width of the first column where its names are too long for the screen."""


class ResultsTable(pd.DataFrame):  # type: ignore[misc]  # pandas has no types
    """A DataFrame of results that prints entirely, and is formatted in a notebook.

    Rows, columns and sums of it are a plain DataFrame.
    """

    def __repr__(self) -> str:
        """Return the text that ``periodic-gp show`` prints, no wider than the screen."""
        return text_of(rich_tables(self), shutil.get_terminal_size().columns)

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


# For the terminal


def rich_tables(frame: ResultsTable) -> Iterator[RichTable]:
    """Yield a table of results for the screen, or one for each task.

    Where a world changes, the costs of that have a table of their own: a single one would be too
    wide for a screen.
    """
    baseline = frame.attrs["baseline"]
    around = [column.key for column in columns_in(frame) if column.when == "changes"]
    for title, rows in task_rows(frame):
        main = rows.drop(columns=around)
        note = note_on_intervals(main, *frame.attrs.get("scored", ()))
        yield _rich_table(title or frame.attrs["title"], main, baseline, note)
        if around and rows[around].notna().to_numpy().any():
            legend = (f"{c.heading(baseline)}: {c.description}." for c in columns_in(rows[around]))
            costs = rows[["agent", *around]]
            yield _rich_table(f"{title}, around its changes", costs, baseline, "\n".join(legend))


def _rich_table(
    title: str, rows: pd.DataFrame, baseline: str | None, caption: str | None
) -> RichTable:
    table = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.caption, table.caption_justify = caption, "left"
    cells = formatted(rows, baseline)
    for name in cells:
        table.add_column(name, justify="left" if name == "agent" else "right", no_wrap=True)
    below = rows["agent"].isin(REFERENCE_ROWS).to_numpy()
    for part, style in ((cells[~below], None), (cells[below], "dim")):
        for row in part.itertuples(index=False):
            table.add_row(*row, style=style)
        table.add_section()
    return table


def fitted(table: RichTable, width: int) -> Iterator[RichTable]:
    """Yield a table as one or several that fit on a screen, the first column in each.

    Numbers are never cut or folded: they could not be compared. Headings and long names are.
    """
    whole = [max(_width(column), cell_len(str(column.header))) for column in table.columns]
    if EDGES + sum(whole) + GAP * (len(whole) - 1) <= width:
        yield table
        return
    first, *others = table.columns
    names = min(_width(first), MIN_NAME_WIDTH)
    groups: list[list[RichColumn]] = [[]]
    for column in others:
        if groups[-1] and names + _total_width([*groups[-1], column]) > width:
            groups.append([])
        groups[-1].append(column)
    # Names may use the space that numbers leave.
    names = max(names, min(_width(first), width - max(map(_total_width, groups))))
    for number, group in enumerate(groups, 1):
        part = _part(table, [first, *group], names)
        part.title = table.title if number == 1 else None
        part.caption = table.caption if number == len(groups) else None
        yield part


def _total_width(columns: list[RichColumn]) -> int:
    """Return the width of columns of numbers, with a gap before each."""
    return sum(GAP + _width(column) for column in columns)


def _width(column: RichColumn) -> int:
    """Return the width of the widest cell, or of the longest word of the heading."""
    texts = [*str(column.header).split(), *map(str, column.cells)]
    return max(map(cell_len, texts), default=0)


def _part(table: RichTable, columns: list[RichColumn], names: int) -> RichTable:
    """Return some columns of a table, with names folded to a width."""
    part = RichTable(box=table.box, pad_edge=False, show_edge=False)
    part.width = names + _total_width(columns[1:])
    part.title_justify, part.caption_justify = table.title_justify, table.caption_justify
    for place, column in enumerate(columns):
        width = _width(column) if place else names
        part.add_column(column.header, justify=column.justify, overflow="fold", width=width)
    for row, *cells in zip(table.rows, *(column.cells for column in columns), strict=True):
        name, *numbers = cells
        kept = (Text(str(number), no_wrap=True) for number in numbers)  # as wide as its column
        part.add_row(name, *kept, style=row.style, end_section=row.end_section)
    return part


def text_of(tables: Iterable[RichTable], width: int) -> str:
    """Return tables as plain text."""
    file = io.StringIO()
    console = Console(
        file=file,
        width=width,
        emoji=False,
        markup=False,
        force_terminal=False,  # this process may write to a terminal
        force_jupyter=False,
    )
    for table in tables:
        for part in fitted(table, width):
            console.print(part, crop=False)
            console.print()
    return "\n".join(line.rstrip() for line in file.getvalue().rstrip().splitlines())
