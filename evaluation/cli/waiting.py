"""Display of work without a count: a clock on a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from evaluation.cli.shared import lines_in_a_log, screen


@contextmanager
def working(what: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Show the current work and its time until the block ends.

    Args:
        what: The work, with a capital: "Building the page".
        quiet: Print nothing.

    Yields:
        A function that takes the next work.
    """
    errors, start, works = screen(stderr=True), time.monotonic(), [what]
    if quiet:
        yield works.append
    elif errors.is_terminal:
        columns = SpinnerColumn(), TextColumn("{task.description}", markup=False)
        with Bar(*columns, TimeElapsedColumn(), console=errors, transient=True) as clock:
            task = clock.add_task(what, total=None)
            yield lambda work: clock.update(task, description=work)
    else:
        with lines_in_a_log(errors, lambda: f"{works[-1]} ... {time.monotonic() - start:,.0f} s"):
            yield works.append
