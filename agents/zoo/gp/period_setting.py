"""What an agent is told about the length of a season, and how far it relies on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.base import Problem
from agents.gp.posteriors.period_search import usual_range
from agents.zoo.gp.prior import main_period


@dataclass(frozen=True)
class PeriodSetting:
    """A period that is known, or a range in which to look for one.

    Attributes:
        told: What somebody said, or None.
        known: Whether to rely on it.
        low: Shortest period to be looked for.
        high: Longest.
    """

    told: float | None
    known: bool
    low: float
    high: float


def parse_period(problem: Problem, period: float | str | None) -> PeriodSetting:
    """The setting ``period`` in words and numbers.

    Args:
        problem: Tells periods, or none, and the horizon.
        period: A number, "auto", "auto:LOW:HIGH", "about:TAU", or None.
    """
    if period is None and problem.period is None:
        period = "auto"
    low, high = usual_range(problem.horizon)
    if not isinstance(period, str):
        return PeriodSetting(main_period(problem, period), known=True, low=low, high=high)
    kind, *texts = period.split(":")
    if (kind, len(texts)) not in (("auto", 0), ("auto", 2), ("about", 1)):
        raise _wrong("is a number, auto, auto:LOW:HIGH or about:TAU", period)
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        raise _wrong("has numbers in auto:LOW:HIGH and about:TAU", period) from None
    if not all(0 < number < np.inf for number in numbers):
        names = "TAU" if kind == "about" else "LOW and HIGH"
        raise _wrong(f"needs {names} positive and finite", period)
    if kind == "about":
        return PeriodSetting(numbers[0], known=False, low=low, high=high)
    low, high = numbers or (low, high)
    if not low < high:
        raise _wrong("needs LOW below HIGH", period)
    return PeriodSetting(problem.period, known=False, low=low, high=high)


def _wrong(rule: str, period: str) -> ValueError:
    return ValueError(f"period {rule}, got {period!r}")
