"""Evaluation harness: runs agents in environments and compares them."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def _require_our_agents() -> None:
    """Refuse another distribution's package ``agents``: a well-known one has that name, too."""
    try:
        found = import_module("agents")
    except Exception as error:  # a foreign package may fail in any way while importing
        problem = f"importing it failed: {error}"
    else:
        if getattr(found, "DISTRIBUTION", None) == "periodic-gp":
            return
        problem = f"it is another package, at {getattr(found, '__file__', 'an unknown place')}"
    message = (
        "periodic-gp needs its own package 'agents', but "
        f"{problem}; install periodic-gp in an environment of its own, "
        "without other packages that provide 'agents'."
    )
    if _is_command_line():
        raise SystemExit(message)
    raise ImportError(message)


def _is_command_line() -> bool:
    """Return whether this import is the start of ``periodic-gp`` or of its module."""
    if sys.argv[:1] == ["-m"]:
        return bool({"evaluation", "periodic_decisions"} & {*sys.orig_argv})
    return bool(sys.argv) and Path(sys.argv[0]).stem == "periodic-gp"


def _leave_current_folder() -> None:
    """Remove the current folder from ``sys.path``: ``python -m`` would import its files first."""
    if sys.argv[:1] == ["-m"]:
        here = {"", os.getcwd()}
        ours = str(Path(__file__).resolve().parent.parent)
        sys.path[:] = [*(place for place in sys.path if place not in here), ours]


_leave_current_folder()
_require_our_agents()

__all__ = ["Protocol", "load", "run"]

_PLACES = {
    "Protocol": "evaluation.protocol",
    "load": "evaluation.results",
    "run": "evaluation.runner",
}


def __getattr__(name: str) -> Any:
    """Load ``evaluation.run`` and the others when they are first used: workers need less."""
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'evaluation' has no attribute {name!r}")
