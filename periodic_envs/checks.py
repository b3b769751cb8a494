"""Argument checks that name the argument, the value and what is allowed."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection
from numbers import Real
from typing import Any

import numpy as np


def positive(name: str, value: Any) -> float:
    """Return ``value`` as a float if it is a finite number above zero."""
    return greater(name, value, 0.0)


def greater(name: str, value: Any, low: float) -> float:
    """Return ``value`` as a float if it is a finite number above ``low``."""
    if not _is_number(value) or not value > low:
        raise ValueError(f"{name} must be a finite number greater than {low:g}, got {value!r}")
    return float(value)


def at_least(name: str, value: Any, low: float) -> float:
    """Return ``value`` as a float if it is a finite number not below ``low``."""
    if not _is_number(value) or value < low:
        raise ValueError(f"{name} must be a finite number of at least {low:g}, got {value!r}")
    return float(value)


def within(name: str, value: Any, low: float, high: float) -> float:
    """Return ``value`` as a float if it lies in [low, high]."""
    if not _is_number(value) or not low <= value <= high:
        raise ValueError(f"{name} must be a number in [{low:g}, {high:g}], got {value!r}")
    return float(value)


def whole(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int if it is a whole number in [low, high]."""
    limit = f"of at least {low}" if high is None else f"in [{low}, {high}]"
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if isinstance(value, bool) or number < low or (high is not None and number > high):
        raise ValueError(f"{name} must be a whole number {limit}, got {value!r}")
    return number


def truth(name: str, value: Any) -> bool:
    """Return ``value`` as a bool if it is one, Python's or NumPy's."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def one_of(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return ``value`` if it is one of the allowed words."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(sorted(allowed))}, got {value!r}")
    return str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
