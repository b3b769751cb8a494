"""What all commands share: the screen, the errors, the pictures, and how far a sweep is."""

from __future__ import annotations

import os
import shutil
import textwrap
import threading
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

from evaluation.specs import TRAINING

if TYPE_CHECKING:  # a sweep needs SciPy and pandas: too long for a version
    from evaluation.runner import Progress


def screen(**settings: Any) -> Console:
    """A console that leaves users' words as they are: ``:-1:`` is no emoji."""
    return Console(emoji=False, **settings)


console = screen()

StoreOption = Annotated[Path, typer.Option("--store", help="The file that results are kept in.")]
ProcessesOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Number of worker processes; 0 runs everything in this one. By default one per core.",
    ),
]

SECONDS_BETWEEN_COUNTS = (3.0, 10.0)
"""Between two lines of a log, where there is no bar: in the first minute, and later."""
COUNTS_WIDTH = 56
"""Signs of a line of progress that tell how far it is, and how long it takes."""
PICTURE_FORMATS = (".jpg", ".pdf", ".png", ".svg")


class CommandError(Exception):
    """What the user can mend: shown as one sentence, without a traceback."""


def say(text: str) -> None:
    """A line as it is: not wrapped, not coloured."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def say_prose(text: str) -> None:
    """Sentences, wrapped between words at the width of the terminal; in a pipe one line.

    For what nobody copies into a shell: a command is said as it is.
    """
    if console.is_terminal or "COLUMNS" in os.environ:
        width = shutil.get_terminal_size().columns
        wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
        text = "\n".join(wrapper.fill(line) for line in text.split("\n"))
    say(text)


def show_version() -> None:
    """The package and its version."""
    say(f"periodic-gp {version('periodic-gp')}")


def check_picture(path: Path, *, also: tuple[str, ...] = ()) -> None:
    """Before a long run, not after it; ``also`` are endings that this command knows besides."""
    known = sorted((*PICTURE_FORMATS, *also))
    if path.suffix.lower() not in known:
        raise CommandError(f"a picture's name must end in {', '.join(known)}, got {str(path)!r}")
    if not path.parent.is_dir():
        raise CommandError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK):
        raise CommandError(f"cannot write {str(path)!r}: its folder cannot be written")


def save_picture(figure: Any, path: Path) -> None:
    """Write a figure, or say why not."""
    from periodic_envs.files import write_figure  # the package brings Gymnasium with it

    check_picture(path)
    try:
        write_figure(figure, path)
    except OSError as error:
        raise CommandError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def bar(*columns: ProgressColumn, quiet: bool = False, width: int = 40) -> Bar:
    """A bar of a width on a terminal, with these columns behind it; nothing in a log."""
    errors = screen(stderr=True)
    first = (TextColumn("{task.description}", markup=False), BarColumn(width))
    hidden = quiet or not errors.is_terminal
    if hidden:  # before rich 14.3 even a bar that is disabled ends with an empty line
        errors = screen(quiet=True)
    return Bar(*first, *columns, console=errors, transient=True, disable=hidden)


class Reporter:
    """Progress on a terminal as a bar, in a log as a line now and then.

    Args:
        quiet: Say nothing.
        title: Of what is done.
        things: What is counted.
    """

    def __init__(self, *, quiet: bool, title: str = "", things: str = "runs") -> None:
        self._screen = screen(stderr=True)
        self._title = f"{title}: " if title else ""
        room = self._screen.width - COUNTS_WIDTH
        bar_width = min(max(room // 3, 5), 40)
        self._title_width = min(max(room - bar_width, 8), 40)
        self._bar = bar(
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            quiet=quiet,
            width=bar_width,
        )
        self._quiet, self._things = quiet, things
        self._last = self._begun = self._entered = time.monotonic()
        self._first: int | None = None
        self._known: Progress | None = None
        self._over, self._printing = threading.Event(), threading.Lock()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Callable[[Progress], None]:
        self._bar.start()
        self._task = self._bar.add_task("Running", total=None, rate="")
        if self._bar.disable and not self._quiet:
            self._watcher.start()
        return self._report

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._watcher.is_alive():
            self._watcher.join()
        self._bar.stop()

    def _report(self, progress: Progress) -> None:
        if self._first is None or _is_training(progress):  # it says nothing of how long others take
            self._first, self._begun = progress.done, time.monotonic()
        self._known = progress
        if not self._bar.disable:
            agent = progress.run.agent if progress.run else ""
            self._bar.update(
                self._task,
                completed=progress.done,
                total=progress.runs,
                description=(self._title + agent)[: self._title_width].ljust(self._title_width),
                rate=self._speed(progress),
            )
        elif not self._quiet:
            self._print(progress)

    def _watch(self) -> None:
        """Long runs, trainings above all, end long after the line before: say that they go on."""
        while not self._over.wait(SECONDS_BETWEEN_COUNTS[0] / 10):
            if self._known is not None and self._known.done < self._known.runs:
                self._print(self._known)

    def _rate(self, progress: Progress) -> float:
        seconds = time.monotonic() - self._begun
        return (progress.done - (self._first or 0)) / max(seconds, 1e-9)

    def _speed(self, progress: Progress) -> str:
        """Runs per second, as far as that is known, and failures."""
        shown = "training" if _is_training(progress) else f"{self._rate(progress):.1f}/s"
        return f"{shown}, {progress.failed:,} failed" if progress.failed else shown

    def _print(self, progress: Progress) -> None:
        """A line at the end, and not too often before."""
        with self._printing:
            if progress is self._known:  # else somebody else has printed a later one
                self._print_alone(progress)

    def _print_alone(self, progress: Progress) -> None:
        now, left = time.monotonic(), progress.runs - progress.done
        early, late = SECONDS_BETWEEN_COUNTS
        if left and now - self._last < (early if now - self._entered < 60.0 else late):
            return
        self._last, rate = now, self._rate(progress)
        expected = f", {left / rate:,.0f} s left" if rate > 0 else ""
        line = f"{progress.done:,} of {progress.runs:,} {self._things}, {self._speed(progress)}"
        line += f"{expected}, {now - self._entered:,.0f} s so far" if left else ""
        self._screen.print(f"{self._title}{line}", highlight=False, soft_wrap=True)


def _is_training(progress: Progress) -> bool:
    return progress.run is not None and progress.run.track == TRAINING
