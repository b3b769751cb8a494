"""How far a sweep is, in a notebook: one line with a bar that is drawn over."""

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
"""Between two drawings: each is a message to the browser."""
_BAR = Markup(
    '<div style="display:flex;gap:0.8em;align-items:center;font-variant-numeric:tabular-nums">'
    '<progress max="{}" value="{}" style="width:16em"></progress><span>{}</span></div>'
)


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook; nothing is imported to find out."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


def default_reporter() -> Callable[[Progress], object]:
    """A bar in a notebook, elsewhere nothing."""
    return NotebookBar() if in_notebook() else lambda progress: None


class NotebookBar:
    """Shows itself with the first news, and says at the end how long it took."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._drawn = -SECONDS_BETWEEN
        self._first = 0
        self._handle: Any = None

    def __call__(self, progress: Progress) -> None:
        """Draw how far it is, unless that has just been done."""
        now = time.monotonic() - self._begun
        last = progress.done == progress.runs
        if self._handle is not None and not last and now - self._drawn < SECONDS_BETWEEN:
            return
        self._drawn = now
        self._show(Markup(_BAR).format(max(progress.runs, 1), progress.done, self._text(progress)))

    def _text(self, progress: Progress) -> str:
        spent = time.monotonic() - self._begun
        if self._handle is None:
            self._first = progress.done
        made, left = progress.done - self._first, progress.runs - progress.done
        parts = [f"{progress.done:,} of {progress.runs:,} runs"]
        parts += [f"{progress.failed:,} failed"] if progress.failed else []
        if not left:
            parts.append(f"{spent:,.1f} s" if made else "nothing was left to run")
        else:
            parts += [f"about {spent / made * left:,.0f} s left"] if made else []
            parts += [progress.run.agent] if progress.run is not None else []
        return ", ".join(parts)

    def _show(self, html: str) -> None:
        shown = import_module("IPython.display")  # there in a notebook, and nowhere else needed
        if self._handle is None:
            self._handle = shown.display(shown.HTML(html), display_id=True)
        else:
            self._handle.update(shown.HTML(html))
