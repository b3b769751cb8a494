"""What an agent is told about the length of a season, and how far it relies on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.base import Problem
from agents.zoo.prior import main_period

SHORTEST = 5.0
"""Shortest period that is looked for, unless another is given."""
LONGEST = (20.0, 200.0)
"""The longest is a quarter of the horizon, but between these; the upper one if there is no end."""


@dataclass(frozen=True)
class Season:
    """A period that is known, or a range in which to look for one.

    Attributes:
        told: What somebody said, or None.
        known: Whether to rely on it.
        low: Shortest period to be looked for.
        high: Longest.
    """

    told: float | None
    known: bool
    low: float = SHORTEST
    high: float = LONGEST[1]


def season_of(problem: Problem, period: float | str | None) -> Season:
    """The setting ``period`` in words and numbers.

    Args:
        problem: Tells periods, or none, and the horizon.
        period: A number, "auto", "auto:LOW:HIGH", "about:TAU", or None.
    """
    if period is None and problem.period is None:
        period = "auto"
    if not isinstance(period, str):
        return Season(main_period(problem, period), known=True)
    kind, *texts = period.split(":")
    low, high = SHORTEST, _longest(problem)
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        numbers = [0.0]
    if kind == "auto" and len(numbers) in (0, 2):
        low, high = numbers or (low, high)
        if 0 < low < high < np.inf:
            return Season(problem.period, known=False, low=low, high=high)
    elif kind == "about" and len(numbers) == 1 and 0 < numbers[0] < np.inf:
        return Season(numbers[0], known=False, low=low, high=high)
    raise ValueError(f"period is a number, auto, auto:LOW:HIGH or about:TAU, got {period!r}")


def _longest(problem: Problem) -> float:
    quarter = np.inf if problem.horizon is None else problem.horizon / 4.0
    return float(np.clip(quarter, *LONGEST))
