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


def not_negative(name: str, value: Any) -> float:
    """A finite number, zero or more."""
    found = number(name, value)
    if not 0 <= found < math.inf:
        raise ValueError(f"{name} must be finite and not negative, got {value!r}")
    return found


def at_least_one(name: str, value: Any) -> float:
    """A finite number, one or more: of steps."""
    found = number(name, value)
    if not 1 <= found < math.inf:
        raise ValueError(f"{name} must be at least 1, got {value!r}")
    return found


def share(name: str, value: Any) -> float:
    """A number in (0, 1)."""
    found = number(name, value)
    if not 0 < found < 1:
        raise ValueError(f"{name} must lie in (0, 1), got {value!r}")
    return found


def share_or_one(name: str, value: Any) -> float:
    """A number in (0, 1]."""
    found = number(name, value)
    if not 0 < found <= 1:
        raise ValueError(f"{name} must lie in (0, 1], got {value!r}")
    return found


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """One of some words."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    return str(value)
