"""Options, output, files and progress, shared by the commands."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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

SECONDS_BETWEEN = {True: 0.25, False: 3.0}
"""Time between two reports of progress, on a terminal and in a log."""
PICTURE_FORMATS = (".jpg", ".pdf", ".png", ".svg")

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class CommandError(UserError):
    """An error in the arguments of a command, or of what they name."""


def escaped(text: str) -> str:
    r"""Return a text with its control characters as escapes.

    >>> escaped("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def say(text: str, *, error: bool = False) -> None:
    """Print a line as it is, not wrapped."""
    print(escaped(text), file=sys.stderr if error else sys.stdout, flush=True)


def screen_width() -> int:
    """Return the width of the terminal; in a file, lines are as long as needed."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 1000


def say_prose(text: str) -> None:
    """Print sentences, wrapped at the width of the terminal; in a pipe one line each."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
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


def draw(line: str) -> None:
    """Draw over the last line of a terminal; print nothing in a log."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{escaped(line)[:width]:<{width}}", end="\r", file=sys.stderr, flush=True)


@contextmanager
def working(what: str, *, quiet: bool = False) -> Iterator[None]:
    """Show the name of the work on a terminal until the block ends.

    Args:
        what: The work, with a capital: "Building the page".
        quiet: Show nothing.
    """
    if quiet:
        yield
        return
    draw(f"{what} ...")
    try:
        yield
    finally:
        draw("")


class Reporter:
    """Progress of runs: one line that is drawn over on a terminal, a line now and then in a log.

    Args:
        quiet: Print nothing.
        title: Name of the work.
        things: Name of the counted things.
    """

    def __init__(self, *, quiet: bool, title: str = "", things: str = "runs") -> None:
        from evaluation.progress import ProgressText

        self._quiet, self._title = quiet, f"{title}: " if title else ""
        self._text = ProgressText(things)
        self._line = ""
        self._printed = time.monotonic()

    def __enter__(self) -> Callable[[Progress], None]:
        return self._report

    def __exit__(self, *_: object) -> None:
        draw("")
        if self._line and not sys.stderr.isatty():
            say(self._line, error=True)

    def _report(self, progress: Progress) -> None:
        if self._quiet:
            return
        self._line = self._title + self._text(progress)
        now, on_terminal = time.monotonic(), sys.stderr.isatty()
        if now - self._printed >= SECONDS_BETWEEN[on_terminal]:
            self._printed = now
            draw(self._line) if on_terminal else say(self._line, error=True)
