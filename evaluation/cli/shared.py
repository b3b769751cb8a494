"""Screen, options, pictures and progress, shared by the commands."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
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
from rich.segment import Segment

from evaluation.errors import UserError

if TYPE_CHECKING:  # a sweep needs SciPy and pandas: too long for a version
    from evaluation.runner import Progress

StoreOption = Annotated[Path, typer.Option("--store", help="File with the results.")]
ProcessesOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Number of worker processes; 0 runs everything in this one. By default one per core.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]

SECONDS_BETWEEN_LINES = 3.0
"""Time between two lines of progress in a log."""
PICTURE_FORMATS = (".jpg", ".pdf", ".png", ".svg")

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class CommandError(UserError):
    """An error in the arguments of a command, or of what they name."""


class Screen(Console):
    """Console that prints users' text as it is; control characters are printed as escapes."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(emoji=False, markup=False, highlight=False, **settings)

    def render(self, *arguments: Any, **options: Any) -> Iterable[Segment]:
        """Yield the segments of something, without control characters in their text."""
        for segment in super().render(*arguments, **options):
            yield segment if segment.control else segment._replace(text=escaped(segment.text))


def escaped(text: str) -> str:
    r"""Return a text with its control characters as escapes.

    >>> escaped("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def screen(**settings: Any) -> Screen:
    """Return a console."""
    return Screen(**settings)


console = screen()


def say(text: str) -> None:
    """Print a line as it is, not wrapped."""
    console.print(text, soft_wrap=True)


def say_prose(text: str) -> None:
    """Print sentences, wrapped at the width of the terminal; in a pipe one line each."""
    if console.is_terminal or "COLUMNS" in os.environ:
        width = shutil.get_terminal_size().columns
        wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
        text = "\n".join(wrapper.fill(line) for line in text.split("\n"))
    say(text)


# Files


def check_folder(path: Path) -> None:
    """Refuse a file whose folder is missing or read-only, before the work."""
    if not path.parent.is_dir():
        raise CommandError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK):
        raise CommandError(f"cannot write {str(path)!r}: its folder cannot be written")


def check_picture(path: Path, *, also: tuple[str, ...] = ()) -> None:
    """Refuse a picture that cannot be written, before the work.

    Args:
        path: The file.
        also: Endings that the command takes besides those of pictures.
    """
    known = sorted((*PICTURE_FORMATS, *also))
    if path.suffix.lower() not in known:
        raise CommandError(f"a picture's name must end in {', '.join(known)}, got {str(path)!r}")
    check_folder(path)


def save_picture(figure: Any, path: Path) -> None:
    """Write a figure into a file."""
    from periodic_envs.files import write_figure  # the package brings Gymnasium with it

    check_picture(path)
    with writing(path):
        write_figure(figure, path)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Report errors of the system as errors of the user."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


# Progress


def bar(*columns: ProgressColumn, quiet: bool = False) -> Bar:
    """Return a bar on a terminal, with these columns behind it; nothing in a log."""
    errors = screen(stderr=True)
    hidden = quiet or not errors.is_terminal
    if hidden:  # before rich 14.3 even a disabled bar ends with an empty line
        errors = screen(quiet=True)
    first = (TextColumn("{task.description}", markup=False), BarColumn(errors.width // 5))
    return Bar(*first, *columns, console=errors, transient=True, disable=hidden)


@contextmanager
def working(what: str, *, quiet: bool = False) -> Iterator[None]:
    """Show a clock on a terminal until the block ends.

    Args:
        what: The work, with a capital: "Building the page".
        quiet: Show nothing.
    """
    with bar(TimeElapsedColumn(), quiet=quiet) as clock:
        clock.add_task(what, total=None)
        yield


class Reporter:
    """Progress of runs: a bar on a terminal, a line now and then in a log.

    Args:
        quiet: Print nothing.
        title: Name of the work.
        things: Name of the counted things.
    """

    def __init__(self, *, quiet: bool, title: str = "", things: str = "runs") -> None:
        self._quiet, self._title, self._things = quiet, f"{title}: " if title else "", things
        left = TextColumn("left"), TimeRemainingColumn()
        self._bar = bar(MofNCompleteColumn(), TimeElapsedColumn(), *left, quiet=quiet)
        self._last: Progress | None = None
        self._printed = time.monotonic()

    def __enter__(self) -> Callable[[Progress], None]:
        self._bar.start()
        self._task = self._bar.add_task(self._title or "Running", total=None)
        return self._report

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        self._print()

    def _report(self, progress: Progress) -> None:
        self._last = progress
        failed = f"{progress.failed:,} failed, " if progress.failed else ""
        label = f"{failed}{self._title}{progress.run.agent if progress.run else ''}"
        label = label[: self._bar.console.width // 4]  # the bar and the counts need the rest
        self._bar.update(
            self._task, completed=progress.done, total=progress.runs, description=label
        )
        if time.monotonic() - self._printed >= SECONDS_BETWEEN_LINES:
            self._print()

    def _print(self) -> None:
        self._printed = time.monotonic()
        if self._last is not None and self._bar.disable and not self._quiet:
            failed = f", {self._last.failed:,} failed" if self._last.failed else ""
            line = f"{self._last.done:,} of {self._last.runs:,} {self._things}{failed}"
            screen(stderr=True).print(f"{self._title}{line}", soft_wrap=True)
