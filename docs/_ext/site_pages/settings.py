"""Settings of agents, with their descriptions from docstrings."""

from __future__ import annotations

import inspect
import re
from typing import Any

from agents.registry import settings_of

_LIST = re.compile(r"^(?:Args|Attributes):\n((?:[ \t]+.*\n?|\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}\*{0,2}(\w+)(?: \([^)]*\))?: ?(.*(?:\n {5,}.*)*)", re.MULTILINE)
INTERNAL = ("problem", "rng", "model", "common", "overrides")
"""Arguments of agents that are not settings."""


def arguments(docstring: str) -> dict[str, str]:
    """Return the descriptions under "Args:" and "Attributes:" in Google style, by name."""
    lists = "\n".join(_LIST.findall(inspect.cleandoc(docstring)))
    return {name: " ".join(text.split()) for name, text in _ENTRY.findall(lists)}


def described_settings(cls: type) -> dict[str, str]:
    """Return the descriptions of settings in a class and its bases; the nearest class wins."""
    texts: dict[str, str] = {}
    for base in reversed(inspect.getmro(cls)):
        texts |= arguments(base.__doc__ or "")
    return {name: text for name, text in texts.items() if name not in INTERNAL}


def named_settings(cls: Any) -> dict[str, Any]:
    """Return the settings that the signature of an agent names, with their defaults."""
    settings = settings_of(cls)
    if settings is not None:
        return settings
    parameters = inspect.signature(cls).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}
