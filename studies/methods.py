"""The paper's five methods, by their names there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PERIODIC, GP = "Periodic-GP-UCB", "GP-UCB"
METHODS = {
    PERIODIC: "periodic-gp-ucb",
    GP: "gp-ucb",
    "TV-GP-UCB": "tv-gp-ucb",
    "R-GP-UCB": "r-gp-ucb",
    "C-GP-UCB": "c-gp-ucb",
}
Settings = Mapping[str, Mapping[str, Any]]


def entries(settings: Settings | None = None, **common: Any) -> list[dict[str, Any]]:
    """The five methods for a protocol.

    Args:
        settings: Of each method, by its name.
        common: Settings of all, which count more.
    """
    return [
        {"name": name, "label": method, "settings": {**(settings or {}).get(method, {}), **common}}
        for method, name in METHODS.items()
    ]
