"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from rich import box
from rich.measure import Measurement
from rich.table import Table

from evaluation.cli.shared import CommandError, console, screen
from evaluation.columns import columns_in
from evaluation.protocol.tracks import REFERENCE_ROWS
from evaluation.results import Results
from evaluation.statistics import MIN_RUNS
from evaluation.summary import overall, paired, table

NO_INTERVALS = f"No intervals: they need at least {MIN_RUNS} runs."


def task_tables(results: Results, *, baseline: str | None, track: str) -> Iterator[Table]:
    """One table per task: the best agent first, reference rows below a line.

    Where a world changes, what that costs has a table of its own: one were too wide for a screen.
    """
    frame = table(results, baseline=baseline, track=track)
    around = [column.key for column in columns_in(frame) if column.when == "changes"]
    for task in results.tasks:
        rows = frame[frame["task"] == task].sort_values("regret")
        yield _task_table(f"{task} ({track})", rows.drop(columns=around), baseline)
        if results.changes(task):
            title = f"{task} ({track}), around its changes"
            yield _task_table(title, rows[["agent", *around]], baseline)


def _task_table(title: str, rows: pd.DataFrame, baseline: str | None) -> Table:
    shown = _table(title, rows, baseline)
    below = rows["agent"].isin(REFERENCE_ROWS)
    _add_rows(shown, rows[~below])
    shown.add_section()
    _add_rows(shown, rows[below], style="dim")
    return shown


def overall_table(results: Results, *, baseline: str | None, track: str) -> Table | None:
    """All tasks together; None where there are fewer than two, or nothing to say."""
    frame = overall(results, baseline=baseline, track=track)
    if frame.empty or len(results.tasks) < 2:
        return None
    title = (
        f"All {len(results.tasks)} tasks ({track}): 0 = oracle, 1 = choosing at random; normalised "
        "regret is an interquartile mean"
    )
    shown = _table(title, frame, baseline)
    _add_rows(shown, frame)
    return shown


def print_table(shown: Table) -> None:
    """As wide as it is: folded numbers cannot be compared."""
    wide = console.options.update(max_width=1000)
    width = Measurement.get(console, wide, shown).maximum
    wide_enough = screen(width=max(width, console.width), markup=False)
    wide_enough.print(shown, crop=False)


def _table(title: str, frame: pd.DataFrame, baseline: str | None) -> Table:
    """An empty table with the headings of a DataFrame."""
    shown = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    if _has_no_intervals(frame):
        shown.caption, shown.caption_justify = NO_INTERVALS, "left"
    shown.add_column("agent", no_wrap=True)
    for column in columns_in(frame):
        shown.add_column(column.heading(baseline), justify="right", no_wrap=True)
    return shown


def _has_no_intervals(frame: pd.DataFrame) -> bool:
    ends = [column.keys[1] for column in columns_in(frame) if column.interval]
    return bool(ends) and bool(frame[ends].isna().all(axis=None))


def _add_rows(shown: Table, frame: pd.DataFrame, style: str | None = None) -> None:
    for row in frame.to_dict("records"):
        cells = {str(key): cell for key, cell in row.items()}
        shown.add_row(cells["agent"], *(c.text(cells) for c in columns_in(frame)), style=style)


def comparison_lines(results: Results, first: str, second: str) -> Iterator[str]:
    """First minus second, task by task."""
    for agent in (first, second):
        check_known(results, agent, *results.tracks)
    yield f"{first} minus {second}, regret on common runs (negative: {first} is better)"
    rows = list(paired(results, first, second))
    if not rows:
        yield "  no world and seed on which both are finished"
    for task, runs, gap in rows:
        bounds = f" [{gap.low:,.1f}, {gap.high:,.1f}]" if runs >= MIN_RUNS else ""
        test = f"{runs} runs, sign-flip p = {gap.p_value:.3g}"
        yield f"  {task}: {gap.estimate:,.1f}{bounds}, {test}"
    if rows and max(runs for _, runs, _ in rows) < MIN_RUNS:
        yield NO_INTERVALS


def check_known(results: Results, agent: str | None, *tracks: str) -> None:
    """Refuse a name that is not in the sweep."""
    known = [name for track in tracks for name in results.agents(track)] + list(REFERENCE_ROWS)
    if agent is not None and agent not in known:
        raise CommandError(f"there is no {agent!r} in this sweep; there are {', '.join(known)}")
