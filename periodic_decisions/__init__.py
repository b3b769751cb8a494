"""Tools for users' own data: tables, logs, seasons, backtests and the decider.

This package imports ``periodic_envs``, ``agents`` and ``evaluation``; none of them imports this
package.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import evaluation  # noqa: F401  (raises ImportError if another package is named agents)

__all__ = ["Decider", "DeciderError"]

_PLACES = {
    "Decider": "periodic_decisions.decider.decider",
    "DeciderError": "periodic_decisions.decider.settings",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, since importing pandas takes half a second."""
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'periodic_decisions' has no attribute {name!r}")
