"""Tables of results as text: whole, and no wider than the screen."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

import pandas as pd
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from evaluation.columns import columns_in
from evaluation.few_runs import note
from evaluation.results import Results
from evaluation.specs import REFERENCE_ROWS
from evaluation.statistics import MIN_RUNS
from evaluation.summary import ResultsTable, table

GAP, EDGES = 3, 2
"""Letters between two columns, and beside the first and the last."""
MIN_NAME_WIDTH = 20
"""Of the first column, if its names are longer."""


def task_tables(results: Results, *, baseline: str | None, track: str) -> Iterator[Table]:
    """One table per task: the best agent first, reference rows below a line."""
    yield from tables_of(table(results, baseline=baseline, track=track))


def tables_of(frame: ResultsTable) -> Iterator[Table]:
    """A table of results for the screen; one for each task.

    Where a world changes, what that costs has a table of its own: one were too wide for a screen.
    """
    baseline = frame.attrs["baseline"]
    if "task" not in frame:
        shown = _table(frame.attrs["title"], frame, baseline)
        _add_rows(shown, frame)
        yield shown
        return
    around = [column.key for column in columns_in(frame) if column.when == "changes"]
    for task, title in frame.attrs["tasks"].items():
        rows = frame[frame["task"] == task]
        rows = rows.sort_values("regret", kind="stable") if "regret" in rows else rows
        yield _task_table(title, rows.drop(columns=around), baseline)
        if around and rows[around].notna().to_numpy().any():
            shown = _task_table(f"{title}, around its changes", rows[["agent", *around]], baseline)
            shown.caption = "\n".join(_legend(rows[around], baseline))
            shown.caption_justify = "left"
            yield shown


def _legend(frame: pd.DataFrame, baseline: str | None) -> Iterator[str]:
    """A line for each column: its heading, and what it is."""
    for column in columns_in(frame):
        yield f"{column.heading(baseline)}: {column.description}."


def _task_table(title: str, rows: pd.DataFrame, baseline: str | None) -> Table:
    shown = _table(title, rows, baseline)
    below = rows["agent"].isin(REFERENCE_ROWS)
    _add_rows(shown, rows[~below])
    shown.add_section()
    _add_rows(shown, rows[below], style="dim")
    return shown


def fitted(shown: Table, width: int) -> Iterator[Table]:
    """A table as one or several that are no wider than a screen, the first column in each.

    Numbers are never cut or folded: they could not be compared. Headings are, and long names.

    Args:
        shown: The table; its cells are texts.
        width: Of the screen, in letters.
    """
    whole = [max(_width(column), cell_len(str(column.header))) for column in shown.columns]
    if sum(whole) + GAP * (len(whole) - 1) + EDGES <= width:
        yield shown
        return
    first, *others = shown.columns
    # Long names are folded where that saves a table.
    fewest = range(min(_width(first), MIN_NAME_WIDTH), _width(first) + 1)
    widest = max(map(_width, others), default=0)

    def cost(names: int) -> tuple[int, int]:
        """Tables, and letters beyond the screen."""
        return len(_groups(others, width - names)), max(0, names + GAP + widest - width)

    names = min(reversed(fewest), key=cost)
    groups = _groups(others, width - names)
    for number, group in enumerate(groups, 1):
        part = _part(shown, [first, *group], names)
        part.title = shown.title if number == 1 else None
        part.caption = shown.caption if number == len(groups) else None
        yield part


def _groups(columns: list[Column], room: int) -> list[list[Column]]:
    """Columns that have room side by side, in their order."""
    groups: list[list[Column]] = [[]]
    left = room
    for column in columns:
        left -= GAP + _width(column)
        if left < 0 and groups[-1]:
            groups.append([])
            left = room - GAP - _width(column)
        groups[-1].append(column)
    return groups


def _width(column: Column) -> int:
    """That of its widest cell, or of the longest word of its heading."""
    texts = [*str(column.header).split(), *map(str, column.cells)]
    return max(map(cell_len, texts), default=0)


def _part(shown: Table, columns: list[Column], names: int) -> Table:
    """Some columns of a table, in which names are folded that are too long."""
    part = Table(box=shown.box, pad_edge=False, show_edge=False)
    part.width = names + sum(GAP + _width(column) for column in columns[1:])
    part.title_justify, part.caption_justify = shown.title_justify, shown.caption_justify
    for place, column in enumerate(columns):
        part.add_column(
            column.header,
            justify=column.justify,
            overflow="fold",
            width=_width(column) if place else names,
        )
    for row, *cells in zip(shown.rows, *(column.cells for column in columns), strict=True):
        name, *numbers = cells
        kept = (Text(str(number), no_wrap=True) for number in numbers)  # as wide as its column
        part.add_row(name, *kept, style=row.style, end_section=row.end_section)
    return part


def text_of(tables: Iterable[Table], width: int) -> str:
    """Tables as plain text."""
    file = io.StringIO()
    console = Console(
        file=file,
        width=width,
        emoji=False,
        markup=False,
        force_terminal=False,  # whatever this process writes to
        force_jupyter=False,
    )
    for shown in tables:
        for part in fitted(shown, width):
            console.print(part, crop=False)
            console.print()
    return "\n".join(line.rstrip() for line in file.getvalue().rstrip().splitlines())


def _table(title: str, frame: pd.DataFrame, baseline: str | None) -> Table:
    """An empty table with the headings of a DataFrame."""
    shown = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    shown.caption, shown.caption_justify = about_intervals(frame), "left"
    shown.add_column("agent", no_wrap=True)
    for column in columns_in(frame):
        shown.add_column(column.heading(baseline), justify="right", no_wrap=True)
    return shown


def about_intervals(frame: pd.DataFrame) -> str | None:
    """What is said below a table about its intervals, if anything is."""
    ends = [column.keys[1] for column in columns_in(frame) if column.interval]
    if not ends:
        return None
    runs, tasks = frame.attrs.get("scored", (MIN_RUNS, 1))  # of a table over all tasks
    return note(without=bool(frame[ends].isna().all(axis=None)), runs=runs, tasks=tasks)


def _add_rows(shown: Table, frame: pd.DataFrame, style: str | None = None) -> None:
    for row in frame.to_dict("records"):
        cells = {str(key): cell for key, cell in row.items()}
        shown.add_row(cells["agent"], *(c.text(cells) for c in columns_in(frame)), style=style)
