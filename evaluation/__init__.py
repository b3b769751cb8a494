"""Evaluation harness: runs agents in environments and compares them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def _require_our_agents() -> None:
    """Raise ``ImportError`` if ``agents`` belongs to another distribution that uses the name."""
    try:
        agents = import_module("agents")
        problem = f"it is another package, at {getattr(agents, '__file__', 'an unknown place')}"
    except Exception as error:  # a foreign package may fail in any way while importing
        agents, problem = None, f"importing it failed: {error}"
    if getattr(agents, "DISTRIBUTION", None) != "periodic-gp":
        raise ImportError(
            f"periodic-gp needs its own package 'agents', but {problem}; install periodic-gp in "
            "an environment of its own, without other packages that provide 'agents'."
        )


_require_our_agents()

__all__ = ["Protocol", "load", "run"]

_PLACES = {
    "Protocol": "evaluation.protocol",
    "load": "evaluation.results",
    "run": "evaluation.runner",
}


def __getattr__(name: str) -> Any:
    """Import public names on first use, which keeps the start of workers fast."""
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'evaluation' has no attribute {name!r}")
