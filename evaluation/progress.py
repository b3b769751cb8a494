"""Progress of a sweep as text, and as a bar in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

if TYPE_CHECKING:
    from evaluation.runner import Progress

SECONDS_BETWEEN = 0.25
"""Time between two drawings: each is a message to the browser."""
_BAR = Markup(
    '<div style="display:flex;gap:0.8em;align-items:center;font-variant-numeric:tabular-nums">'
    '<progress max="{}" value="{}" style="width:16em"></progress><span>{}</span></div>'
)


def in_notebook() -> bool:
    """Return whether this is the kernel of a notebook; nothing is imported to find out."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


def default_reporter() -> Callable[[Progress], object]:
    """Return a bar in a notebook; elsewhere nothing is reported."""
    return NotebookBar() if in_notebook() else lambda progress: None


class ProgressText:
    """Progress as text, with the time that is left.

    Args:
        things: Name of the counted things.
    """

    def __init__(self, things: str = "runs") -> None:
        self._things, self._start = things, time.monotonic()
        self._first: int | None = None

    def __call__(self, progress: Progress) -> str:
        """Return "12 of 30 runs, 1 failed, about 5 s left"."""
        if self._first is None:
            self._first = progress.done
        spent, made = time.monotonic() - self._start, progress.done - self._first
        left = progress.runs - progress.done
        parts = [f"{progress.done:,} of {progress.runs:,} {self._things}"]
        parts += [f"{progress.failed:,} failed"] if progress.failed else []
        parts += [f"about {spent / made * left:,.0f} s left"] if left and made else []
        parts += [progress.run.agent] if left and progress.run is not None else []
        return ", ".join(parts)


class NotebookBar:
    """A bar in a notebook, shown with the first report."""

    def __init__(self) -> None:
        self._text = ProgressText()
        self._handle: Any = None
        self._drawn = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        """Draw the progress, unless that has just been done."""
        now, last = time.monotonic(), progress.done == progress.runs
        if self._handle is not None and not last and now - self._drawn < SECONDS_BETWEEN:
            return
        self._drawn = now
        display: Any = import_module("IPython.display")  # there in a notebook, and not needed else
        bar = _BAR.format(max(progress.runs, 1), progress.done, self._text(progress))
        if self._handle is None:
            self._handle = display.display(display.HTML(bar), display_id=True)
        else:
            self._handle.update(display.HTML(bar))
