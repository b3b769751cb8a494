"""Tables and lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from evaluation import specs
from evaluation.cli.shared import CommandError, console, say, screen
from evaluation.results import Results
from evaluation.specs import REFERENCE_ROWS
from evaluation.statistics import MIN_RUNS
from evaluation.tables import (
    NO_INTERVALS,
    ResultsTable,
    paired_differences,
    rich_tables,
    text_of,
)

LOG_WIDTH = 1000
"""Largest width of a table in a file."""


def print_table(frame: ResultsTable) -> None:
    """Print a table as wide as the terminal; in a file, as wide as needed."""
    if not console.is_terminal:
        say(text_of(frame, LOG_WIDTH) + "\n")
        return
    for table in rich_tables(frame, console.width):
        screen(markup=False).print(table, crop=False)
        say("")


def comparison_lines(results: Results, first: str, second: str) -> Iterator[str]:
    """First minus second, task by task."""
    for agent in (first, second):
        check_known(results, agent, *results.tracks)
    yield f"{first} minus {second}, regret on common runs (negative: {first} is better)"
    rows = list(paired_differences(results, first, second))
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
    if agent is not None:
        try:
            specs.check_known("agent", agent, known, "in this sweep")
        except ValueError as error:
            raise CommandError(str(error)) from error
