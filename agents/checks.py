"""Checks of arguments and settings; errors name the setting, its value and the allowed values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

MIN_SEASONAL_LENGTH_SCALE = 0.01
"""Smallest length-scale of a periodic kernel, which then has about 830 harmonics. Their number is
inversely proportional to the length-scale."""


def require(true: bool, rule: str, value: Any) -> None:
    """Raise a ValueError with the rule and the value unless a condition is true."""
    if not true:
        raise ValueError(f"{rule}, got {value!r}")


def number(name: str, value: Any) -> float:
    """Return a setting as a float; raise an error unless it is a number."""
    kinds = int | float | np.integer | np.floating
    require(
        isinstance(value, kinds) and not isinstance(value, bool), f"{name} must be a number", value
    )
    return float(value)


def positive(name: str, value: Any) -> float:
    """Return a setting as a float; raise an error unless it is positive and finite."""
    return _number_that(lambda x: 0 < x < math.inf, name, "be positive and finite", value)


def not_negative(name: str, value: Any) -> float:
    """Return a setting as a float; raise an error unless it is finite and not negative."""
    return _number_that(lambda x: 0 <= x < math.inf, name, "be finite and not negative", value)


def at_least_one(name: str, value: Any) -> float:
    """Return a setting as a float; raise an error unless it is finite and at least 1."""
    return _number_that(lambda x: 1 <= x < math.inf, name, "be finite and at least 1", value)


def share(name: str, value: Any) -> float:
    """Return a setting as a float; raise an error unless it lies in (0, 1)."""
    return _number_that(lambda x: 0 < x < 1, name, "lie in (0, 1)", value)


def share_or_one(name: str, value: Any) -> float:
    """Return a setting as a float; raise an error unless it lies in (0, 1]."""
    return _number_that(lambda x: 0 < x <= 1, name, "lie in (0, 1]", value)


def seasonal_length_scale(value: Any) -> float:
    """Return ``time_length_scale`` as a float; raise an error if it is less than 0.01."""
    length_scale, least = positive("time_length_scale", value), MIN_SEASONAL_LENGTH_SCALE
    require(length_scale >= least, f"time_length_scale must be at least {least}", value)
    return length_scale


def whole(name: str, value: Any, otherwise: str = "") -> int:
    """Return a setting as an int; raise an error unless it is a whole number of at least 1.

    Args:
        name: Name of the setting.
        value: Value of the setting.
        otherwise: Text that is added to the error message and names other allowed values.
    """
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    require(fits, f"{name} must be a whole number of at least 1{otherwise}", value)
    return int(value)


def several(name: str, value: Any) -> list[float]:
    """Return a number, or a non-empty list of distinct numbers, as a list of floats."""
    listed = value if isinstance(value, list | tuple | np.ndarray) else [value]
    is_list = len(listed) > 0 and not isinstance(value, str)
    require(is_list, f"{name} must be a number or a list of numbers such as [1,2]", value)
    numbers = [number(name, item) for item in listed]
    require(len(set(numbers)) == len(numbers), f"{name} must not contain a number twice", value)
    return numbers


def flag(name: str, value: Any) -> bool:
    """Return a setting as a bool; raise an error unless it is true or false."""
    require(value in (True, False), f"{name} must be true or false", value)
    return bool(value)


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return a setting; raise an error unless it is one of the allowed words."""
    require(value in allowed, f"{name} must be one of {', '.join(allowed)}", value)
    return str(value)


def finite_observation(t: float, y: float) -> None:
    """Raise an error if time or reward is not finite, which would make a posterior NaN."""
    if not (math.isfinite(t) and math.isfinite(y)):
        raise ValueError(
            f"time and reward of an observation must be finite, got y = {y} at t = {t}"
        )


def positive_weight(weight: float) -> None:
    """Raise an error unless a weight is positive and finite."""
    require(0 < weight < math.inf, "a weight must be positive and finite", weight)


def _number_that(allowed: Callable[[float], bool], name: str, must: str, value: Any) -> float:
    checked = number(name, value)
    require(allowed(checked), f"{name} must {must}", value)
    return checked
