"""Numbers as JSON has them: short, finite or nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from evaluation.statistics import Band

DIGITS = 5


def number(value: Any) -> float | None:
    """Short and finite, or nothing: JSON knows no NaN."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{DIGITS}g}")


def numbers(values: Any) -> list[float | None]:
    """One for each value."""
    return [number(value) for value in np.asarray(values, dtype=np.float64).tolist()]


def triple(estimate: float, low: float, high: float) -> list[float | None]:
    """A value with its interval."""
    return [number(estimate), number(low), number(high)]


def band(found: Band) -> dict[str, Any]:
    """A curve with its band."""
    return {
        "mean": numbers(found.estimate),
        "low": numbers(found.low),
        "high": numbers(found.high),
    }
