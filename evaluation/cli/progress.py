"""How far a sweep is: a bar on a terminal, lines in a log."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

from evaluation.cli.shared import screen
from evaluation.protocol.tracks import TRAINING
from evaluation.running.sweep import Progress

SECONDS_BETWEEN_LINES = 10.0
"""Seconds between two lines where the progress is a log and not a terminal."""


def bar(*columns: ProgressColumn, quiet: bool = False) -> Bar:
    """A bar on a terminal, with these columns behind it; nothing in a log."""
    errors = screen(stderr=True)
    first = (TextColumn("{task.description}", markup=False), BarColumn())
    hidden = quiet or not errors.is_terminal
    return Bar(*first, *columns, console=errors, transient=True, disable=hidden)


class Reporter:
    """Progress on a terminal as a bar, in a log as a line now and then."""

    def __init__(self, *, quiet: bool, title: str = "") -> None:
        self._screen = screen(stderr=True)
        self._title = f"{title}: " if title else ""
        self._bar = bar(
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            quiet=quiet,
        )
        self._quiet = quiet
        self._last = self._begun = time.monotonic()
        self._first: int | None = None

    def __enter__(self) -> Callable[[Progress], None]:
        self._bar.start()
        self._task = self._bar.add_task("Running", total=None, rate="")
        return self._report

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def _report(self, progress: Progress) -> None:
        training = progress.run is not None and progress.run.track == TRAINING
        if self._first is None or training:  # trainings take longer: they say nothing of the rest
            self._first, self._begun = progress.done, time.monotonic()
        rate = (progress.done - self._first) / max(time.monotonic() - self._begun, 1e-9)
        shown = "training" if training else f"{rate:.1f}/s"
        failed = f", {progress.failed:,} failed" if progress.failed else ""
        if not self._bar.disable:
            agent = progress.run.agent if progress.run else ""
            self._bar.update(
                self._task,
                completed=progress.done,
                total=progress.runs,
                description=f"{(self._title + agent)[:40]:<40}",
                rate=f"{shown}{failed}",
            )
        elif not self._quiet:
            self._print(progress, f"{failed}, {shown}", rate)

    def _print(self, progress: Progress, state: str, rate: float) -> None:
        """A line at the end, and not too often before."""
        now, left = time.monotonic(), progress.runs - progress.done
        if left and now - self._last <= SECONDS_BETWEEN_LINES:
            return
        self._last = now
        expected = f", {left / rate:,.0f} s left" if left and rate > 0 else ""
        line = f"{self._title}{progress.done:,} of {progress.runs:,} runs{state}{expected}"
        self._screen.print(line, highlight=False, soft_wrap=True)
