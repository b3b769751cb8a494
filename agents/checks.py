"""Settings of agents, checked: an error names the setting, the value and what is allowed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agents.base import number

SHORTEST_SEASONAL = 0.01
"""Least l of a periodic kernel: below it needs thousands of harmonics, and sees nothing repeat."""


def positive(name: str, value: Any) -> float:
    """A positive finite number."""
    found = number(name, value)
    if not 0 < found < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    return found


def seasonal_length_scale(value: Any) -> float:
    """The setting ``time_length_scale`` of a periodic kernel."""
    found = positive("time_length_scale", value)
    if found < SHORTEST_SEASONAL:
        raise ValueError(f"time_length_scale must be at least {SHORTEST_SEASONAL}, got {value!r}")
    return found


def several(name: str, value: Any) -> list[float]:
    """Different numbers, one at least; a lone number is a list of one."""
    listed = value if isinstance(value, list | tuple | np.ndarray) else [value]
    if not len(listed) or isinstance(value, str):
        raise ValueError(f"{name} is a list of numbers, [1,2], got {value!r}")
    found = [number(name, one) for one in listed]
    if len(set(found)) < len(found):
        raise ValueError(f"{name} must differ from one another, got {value!r}")
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
