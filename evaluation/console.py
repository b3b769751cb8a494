"""Console output: lines, wrapped text and progress."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evaluation.runner import Progress

SECONDS_BETWEEN = {True: 0.25, False: 3.0}
"""Minimum seconds between two reports, by the result of ``on_screen``."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def escaped(text: str) -> str:
    r"""Return a text with control characters escaped.

    >>> escaped("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def say(text: str, *, error: bool = False) -> None:
    """Print a line without wrapping."""
    print(escaped(text), file=sys.stderr if error else sys.stdout, flush=True)


def say_prose(text: str) -> None:
    """Print text, wrapped at the width of the terminal, or unwrapped if there is no terminal."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        width = shutil.get_terminal_size().columns
        wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
        text = "\n".join(wrapper.fill(line) for line in text.split("\n"))
    say(text)


def in_notebook() -> bool:
    """Return True in the kernel of a notebook, without importing IPython."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


def on_screen() -> bool:
    """Return True if standard error is a terminal or notebook, where a line can be overwritten."""
    return sys.stderr.isatty() or in_notebook()


def draw(line: str) -> None:
    """Overwrite the last line of a terminal or notebook; print nothing in a log."""
    if on_screen():
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{escaped(line)[:width]:<{width}}", end="\r", file=sys.stderr, flush=True)


class Reporter:
    """Progress on standard error: one line that is overwritten, or separate lines in a log.

    Args:
        title: Name of the task, shown at the start if standard error is a terminal or notebook.
        things: Plural name of the counted items.
        quiet: If true, nothing is printed.
    """

    def __init__(self, title: str = "", *, things: str = "runs", quiet: bool = False) -> None:
        self._title, self._things, self._quiet = title, things, quiet
        self._start = self._printed = time.monotonic()
        self._first: int | None = None
        self._line = self._logged = ""

    def __enter__(self) -> Reporter:
        if self._title and not self._quiet:
            draw(f"{self._title} ...")
        return self

    def __exit__(self, *_: object) -> None:
        if not self._quiet:
            draw("")
            self._log()

    def __call__(self, progress: Progress) -> None:
        """Report progress, unless the time since the last report is less than the minimum interval.

        ``SECONDS_BETWEEN`` contains the minimum intervals for a log and for a screen.
        """
        if self._first is None:
            self._first = progress.done
        self._line, now = self._text(progress), time.monotonic()
        if not self._quiet and now - self._printed >= SECONDS_BETWEEN[on_screen()]:
            self._printed = now
            draw(self._line)
            if not on_screen():
                self._log()

    def _log(self) -> None:
        """Print the last report, unless it has already been printed."""
        if self._line != self._logged:
            self._logged = self._line
            print(escaped(self._line), file=sys.stderr, flush=True)

    def _text(self, progress: Progress) -> str:
        """Return a text such as "12 of 30 runs, 1 failed, about 5 s left"."""
        spent, made = time.monotonic() - self._start, progress.done - (self._first or 0)
        left = progress.runs - progress.done
        parts = [f"{progress.done:,} of {progress.runs:,} {self._things}"]
        parts += [f"{progress.failed:,} failed"] if progress.failed else []
        parts += [f"about {spent / made * left:,.0f} s left"] if left and made else []
        parts += [progress.run.agent] if left and progress.run is not None else []
        return (f"{self._title}: " if self._title else "") + ", ".join(parts)
