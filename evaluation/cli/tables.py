"""Tables and lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.measure import Measurement
from rich.table import Table

from evaluation import specs
from evaluation.cli.shared import CommandError, console, say, screen
from evaluation.results import Results
from evaluation.specs import REFERENCE_ROWS
from evaluation.statistics import MIN_RUNS
from evaluation.tables import NO_INTERVALS, fitted, paired_differences


def print_table(shown: Table) -> None:
    """As wide as the terminal; in a file, where nothing is wide or narrow, as wide as it is."""
    if console.is_terminal:
        for part in fitted(shown, console.width):
            screen(markup=False).print(part, crop=False)
            say("")
        return
    wide = console.options.update(max_width=1000)
    width = Measurement.get(console, wide, shown).maximum
    wide_enough = screen(width=max(width, console.width), markup=False)
    wide_enough.print(shown, crop=False)


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
