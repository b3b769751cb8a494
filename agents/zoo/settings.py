"""Settings of agents, checked: an error names the setting, the value and what is allowed."""

from __future__ import annotations

import math
from typing import Any

from agents.base import number


def positive(name: str, value: Any) -> float:
    """A positive finite number."""
    found = number(name, value)
    if not 0 < found < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    return found


def between(name: str, value: Any, low: float, high: float) -> float:
    """A number in the open interval (low, high)."""
    found = number(name, value)
    if not low < found < high:
        raise ValueError(f"{name} must lie between {low:g} and {high:g}, got {value!r}")
    return found


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """One of some words."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    return str(value)
