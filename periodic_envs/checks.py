"""Argument checks whose messages name the argument, the value and the allowed values."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection
from numbers import Real
from typing import Any

import numpy as np


def positive(name: str, value: Any) -> float:
    """Return ``value`` as a float; raise a ValueError unless it is a finite number above 0."""
    return greater(name, value, 0.0)


def greater(name: str, value: Any, low: float) -> float:
    """Return ``value`` as a float; raise a ValueError unless it is finite and above ``low``."""
    if not _is_number(value) or not value > low:
        raise ValueError(f"{name} must be a finite number greater than {low:g}, got {value!r}")
    return float(value)


def at_least(name: str, value: Any, low: float) -> float:
    """Return ``value`` as a float; raise a ValueError unless it is finite and at least ``low``."""
    if not _is_number(value) or value < low:
        raise ValueError(f"{name} must be a finite number of at least {low:g}, got {value!r}")
    return float(value)


def within(name: str, value: Any, low: float, high: float) -> float:
    """Return ``value`` as a float; raise a ValueError unless it is a number in [low, high]."""
    if not _is_number(value) or not low <= value <= high:
        raise ValueError(f"{name} must be a number in [{low:g}, {high:g}], got {value!r}")
    return float(value)


def whole(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int; raise a ValueError unless it is a whole number in [low, high].

    A ``high`` of None means that there is no upper limit.
    """
    limit = f"of at least {low}" if high is None else f"in [{low}, {high}]"
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1  # not a whole number: fails the next test
    if isinstance(value, bool) or number < low or (high is not None and number > high):
        raise ValueError(f"{name} must be a whole number {limit}, got {value!r}")
    return number


def truth(name: str, value: Any) -> bool:
    """Return ``value`` as a Python bool; raise a ValueError unless it is a Python or NumPy bool."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def one_of(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return ``value`` as a str; raise a ValueError unless it is one of the allowed words."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(sorted(allowed))}, got {value!r}")
    return str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
