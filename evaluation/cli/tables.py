"""Tables and lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from evaluation.cli.shared import console, screen
from evaluation.results import Results
from evaluation.specs import REFERENCE_ROWS, check_known
from evaluation.statistics import MIN_RUNS
from evaluation.tables import NO_INTERVALS, ResultsTable, paired_differences, rich_tables

LOG_WIDTH = 1000
"""Largest width of a table in a file."""


def print_table(frame: ResultsTable) -> None:
    """Print a table of results, in parts that fit the terminal."""
    for table in rich_tables(frame, console.width if console.is_terminal else LOG_WIDTH):
        print_rich(table)
        console.print()


def print_rich(table: Table) -> None:
    """Print a table as wide as the terminal; in a file, as wide as needed."""
    wide = console if console.is_terminal else screen(width=LOG_WIDTH)
    wide.print(table, crop=False)


def comparison_lines(results: Results, first: str, second: str) -> Iterator[str]:
    """Yield first minus second, task by task."""
    for agent in (first, second):
        check_agent(results, agent)
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


def check_agent(results: Results, agent: str) -> None:
    """Refuse a name that is not in the sweep."""
    agents = [name for track in results.tracks for name in results.agents(track)]
    check_known("agent", agent, [*agents, *REFERENCE_ROWS], "in this sweep")
