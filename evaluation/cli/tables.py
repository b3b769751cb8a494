"""Tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from rich import box
from rich.measure import Measurement
from rich.table import Table

from evaluation.cli.shared import CommandError, console, screen
from evaluation.protocol.protocol import REFERENCE_ROWS
from evaluation.results import Results
from evaluation.summary import overall, paired, table

Row = Any


def task_tables(results: Results, *, baseline: str | None, track: str) -> Iterator[Table]:
    """One table per task: the best agent first, reference rows below a line."""
    check_known(results, baseline, track)
    frame = table(results, baseline=baseline, track=track)
    for task in results.tasks:
        rows = frame[frame["task"] == task].sort_values("regret") if len(frame) else frame
        ranked = [row for row in rows.itertuples() if row.agent not in REFERENCE_ROWS]
        references = [row for row in rows.itertuples() if row.agent in REFERENCE_ROWS]
        shown = _table(f"{task} ({track})")
        for name in ("regret [95 %]", "normalised", "runs", "ms/step"):
            shown.add_column(name, justify="right", no_wrap=True)
        if track == "pretrained":
            for name in ("interactions", "training s"):
                shown.add_column(name, justify="right", no_wrap=True)
        if baseline is not None:
            shown.add_column(f"minus {baseline} [95 %]", justify="right", no_wrap=True)
            shown.add_column("p (Holm)", justify="right", no_wrap=True)
        for row in ranked:
            shown.add_row(*_cells(row, baseline, track))
        shown.add_section()
        for row in references:
            shown.add_row(*_cells(row, baseline, track), style="dim")
        yield shown


def overall_table(results: Results, *, baseline: str | None, track: str) -> Table | None:
    """All tasks together."""
    frame = overall(results, baseline=baseline, track=track)
    if frame.empty or len(results.tasks) < 2:
        return None
    shown = _table(f"All {len(results.tasks)} tasks ({track}): 0 = oracle, 1 = choosing at random")
    for name in ("normalised regret, IQM [95 %]", "mean rank [95 %]", "ms/step"):
        shown.add_column(name, justify="right", no_wrap=True)
    if baseline in list(frame["agent"]):
        shown.add_column(f"P(better than {baseline})", justify="right", no_wrap=True)
    for row in frame.itertuples():
        cells = [
            row.agent,
            _interval(row.normalised, row.normalised_low, row.normalised_high, 3),
            _interval(row.rank, row.rank_low, row.rank_high, 2),
            _number(row.ms_per_step, 2),
        ]
        if baseline in list(frame["agent"]):
            mine = (row.better, row.better_low, row.better_high) if row.agent != baseline else None
            cells.append(_interval(*mine, 2) if mine else "")
        shown.add_row(*cells)
    return shown


def print_table(shown: Table) -> None:
    """As wide as it is: folded numbers cannot be compared."""
    wide = console.options.update(max_width=1000)
    width = Measurement.get(console, wide, shown).maximum
    wide_enough = screen(width=max(width, console.width), markup=False)
    wide_enough.print(shown, crop=False)


def _table(title: str) -> Table:
    shown = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    shown.add_column("agent", no_wrap=True)
    return shown


def comparison_lines(results: Results, first: str, second: str) -> Iterator[str]:
    """First minus second, task by task."""
    for agent in (first, second):
        check_known(results, agent, *results.tracks)
    yield f"{first} minus {second}, regret on common runs (negative: {first} is better)"
    for task, runs, gap in paired(results, first, second):
        difference = _interval(gap.estimate, gap.low, gap.high, 1)
        yield f"  {task}: {difference}, {runs} runs, sign-flip p = {gap.p_value:.3g}"


def check_known(results: Results, agent: str | None, *tracks: str) -> None:
    """Refuse a name that is not in the run."""
    known = [name for track in tracks for name in results.agents(track)] + list(REFERENCE_ROWS)
    if agent is not None and agent not in known:
        raise CommandError(f"there is no {agent!r} in this run; there are {', '.join(known)}")


def _cells(row: Row, baseline: str | None, track: str) -> list[str]:
    cells = [
        row.agent,
        _interval(row.regret, row.low, row.high, 1),
        _number(getattr(row, "normalised", math.nan), 3),
        str(row.runs),
        _number(row.ms_per_step, 2),
    ]
    if track == "pretrained":
        reference = row.agent in REFERENCE_ROWS
        cells += ["" if reference else _number(row.interactions, 0)]
        cells += [_number(row.training_seconds, 0)]
    if baseline is not None:
        cells += [_difference(row), _number(getattr(row, "p_value", math.nan), 3)]
    return cells


def _difference(row: Row) -> str:
    estimate = getattr(row, "difference", math.nan)
    if math.isnan(estimate):
        return ""
    return _interval(estimate, row.difference_low, row.difference_high, 1)


def _interval(estimate: float, low: float, high: float, digits: int) -> str:
    if math.isnan(low):
        return _number(estimate, digits)
    return f"{estimate:,.{digits}f} [{low:,.{digits}f}, {high:,.{digits}f}]"


def _number(value: float | None, digits: int) -> str:
    return "" if value is None or math.isnan(value) else f"{value:,.{digits}f}"
