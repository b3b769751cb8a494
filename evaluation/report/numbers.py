"""Numbers as JSON has them: short, finite or nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evaluation.columns import Column
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


def cells(columns: Sequence[Column], row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row of a table: of each column its number, or the number with the ends of its interval."""
    found: dict[str, Any] = {}
    for column in columns:
        shown = numbers(column.shown(row))
        found[column.key] = shown if column.interval else shown[0]
    return found


def band(found: Band) -> dict[str, Any]:
    """A curve with its band."""
    parts = {"mean": found.estimate, "low": found.low, "high": found.high}
    return {name: numbers(part) for name, part in parts.items()}
