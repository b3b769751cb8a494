"""What takes a while says so: by a clock on a terminal, by a line now and then in a log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from evaluation.cli.shared import screen

SECONDS_BETWEEN_LINES = 3.0
"""Nobody should wonder for longer whether anything is being done."""


@contextmanager
def working(what: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Say what is being done, and for how long, until it is done.

    Args:
        what: In words, with a capital: "Building the page".
        quiet: Say nothing.

    Yields:
        A function that takes what is being done now, instead.
    """
    news = _News(what)
    if quiet:
        yield news.set
        return
    watcher = threading.Thread(target=_tell, args=(news,), daemon=True)
    watcher.start()
    try:
        yield news.set
    finally:
        news.over.set()
        watcher.join()


class _News:
    """What is being done, and since when."""

    def __init__(self, what: str) -> None:
        self.what, self.begun, self.over = what, time.monotonic(), threading.Event()

    def set(self, what: str) -> None:
        self.what = what

    def line(self) -> str:
        return f"{self.what} ... {time.monotonic() - self.begun:,.0f} s"


def _tell(news: _News) -> None:
    """Until it is over."""
    errors = screen(stderr=True)
    if errors.is_terminal:
        with errors.status(news.line()) as status:
            while not news.over.wait(0.5):
                status.update(news.line())
        return
    while not news.over.wait(SECONDS_BETWEEN_LINES):
        errors.print(news.line(), highlight=False, markup=False, soft_wrap=True)
