"""Checks of arguments and settings: an error names the setting, the value and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

MIN_SEASONAL_LENGTH_SCALE = 0.01
"""Least l of a periodic kernel: below it needs thousands of harmonics, and sees nothing repeat."""


def require(true: bool, rule: str, value: Any) -> None:
    """Raise a ValueError that states the rule and the value, unless it is kept."""
    if not true:
        raise ValueError(f"{rule}, got {value!r}")


def number(name: str, value: Any) -> float:
    """A setting as a float, or an error that names it."""
    kinds = int | float | np.integer | np.floating
    require(isinstance(value, kinds) and not isinstance(value, bool), f"{name} is a number", value)
    return float(value)


def positive(name: str, value: Any) -> float:
    """A positive finite number."""
    return _number_that(lambda x: 0 < x < math.inf, name, "be positive and finite", value)


def not_negative(name: str, value: Any) -> float:
    """A finite number, zero or more."""
    return _number_that(lambda x: 0 <= x < math.inf, name, "be finite and not negative", value)


def at_least_one(name: str, value: Any) -> float:
    """A finite number, one or more: of steps."""
    return _number_that(lambda x: 1 <= x < math.inf, name, "be at least 1", value)


def share(name: str, value: Any) -> float:
    """A number in (0, 1)."""
    return _number_that(lambda x: 0 < x < 1, name, "lie in (0, 1)", value)


def share_or_one(name: str, value: Any) -> float:
    """A number in (0, 1]."""
    return _number_that(lambda x: 0 < x <= 1, name, "lie in (0, 1]", value)


def seasonal_length_scale(value: Any) -> float:
    """The setting ``time_length_scale`` of a periodic kernel."""
    found, least = positive("time_length_scale", value), MIN_SEASONAL_LENGTH_SCALE
    require(found >= least, f"time_length_scale must be at least {least}", value)
    return found


def whole(name: str, value: Any, otherwise: str = "") -> int:
    """A whole number, one or more; ``otherwise`` says in an error what else would do."""
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    require(fits, f"{name} must be a whole number of at least 1{otherwise}", value)
    return int(value)


def several(name: str, value: Any) -> list[float]:
    """Different numbers, one at least; a lone number is a list of one."""
    listed = value if isinstance(value, list | tuple | np.ndarray) else [value]
    is_list = len(listed) > 0 and not isinstance(value, str)
    require(is_list, f"{name} is a list of numbers, [1,2]", value)
    found = [number(name, one) for one in listed]
    require(len(set(found)) == len(found), f"{name} must differ from one another", value)
    return found


def flag(name: str, value: Any) -> bool:
    """True or false."""
    require(value in (True, False), f"{name} is true or false", value)
    return bool(value)


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """One of some words."""
    require(value in allowed, f"{name} must be one of {', '.join(allowed)}", value)
    return str(value)


def finite_observation(t: float, y: float) -> None:
    """Refuse what would silently spoil a posterior for good."""
    if not (math.isfinite(t) and math.isfinite(y)):
        raise ValueError(f"an observation must be finite, got y = {y} at t = {t}")


def positive_weight(weight: float) -> None:
    """Refuse a weight that no noise variance belongs to."""
    require(0 < weight < math.inf, "a weight must be positive and finite", weight)


def _number_that(allowed: Callable[[float], bool], name: str, must: str, value: Any) -> float:
    found = number(name, value)
    require(allowed(found), f"{name} must {must}", value)
    return found
