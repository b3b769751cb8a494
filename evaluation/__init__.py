"""Evaluation harness: runs agents in environments and compares them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def _require_our_agents() -> None:
    """Raise ``ImportError`` unless the package ``agents`` belongs to this distribution."""
    try:
        agents = import_module("agents")
        problem = (
            f"a different package was found at {getattr(agents, '__file__', 'an unknown location')}"
        )
    except Exception as error:  # an unrelated package can raise any error when it is imported
        agents, problem = None, f"its import failed: {error}"
    if getattr(agents, "DISTRIBUTION", None) != "periodic-gp":
        raise ImportError(
            f"periodic-gp requires its package 'agents', but {problem}; install periodic-gp in "
            "a separate environment, without other packages that provide 'agents'"
        )


_require_our_agents()

__all__ = ["Protocol", "load", "run"]

_PLACES = {
    "Protocol": "evaluation.protocol",
    "load": "evaluation.results",
    "run": "evaluation.runner",
}


def __getattr__(name: str) -> Any:
    """Return a public object, which is imported on first use so that workers start fast."""
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'evaluation' has no attribute {name!r}")
