"""Imported by the server that workers are forked from: what all of them need is done here once."""

from __future__ import annotations

import contextlib
import sys
from types import TracebackType

from evaluation.running.process import hide_from_others
from evaluation.running.worker import prepare

hide_from_others()  # its memory is what workers begin with
with contextlib.suppress(Exception):  # a worker does it again, and its error can be read
    prepare()


def _quiet(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
    """A worker that starts while its pool is being closed finds nothing there: no news."""
    if not issubclass(kind, OSError | EOFError):
        sys.__excepthook__(kind, error, at)


sys.excepthook = _quiet
