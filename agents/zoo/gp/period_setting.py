"""The setting of a season's length: a number to rely on, or where to look for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.base import Problem
from agents.gp import PeriodSearch, Posterior
from agents.gp.posteriors.period_search import usual_range
from agents.zoo.gp.parts import Prior
from agents.zoo.gp.prior import main_period


@dataclass(frozen=True)
class PeriodSetting:
    """A period that is known, or a range in which to look for one.

    Attributes:
        given: What the setting or the problem says, or None.
        relied_on: Whether that is taken to be right; otherwise the period is searched for.
        low: Shortest period to be looked for.
        high: Longest period to be looked for.
    """

    given: float | None
    relied_on: bool
    low: float
    high: float

    def posterior(self, prior: Prior) -> Posterior:
        """One kernel if the period is relied on, otherwise a mixture over periods."""
        if self.relied_on:
            return prior.posterior()
        return PeriodSearch(
            prior.kernel,
            prior.actions,
            prior.noise_variance,
            low=self.low,
            high=self.high,
            given_period=self.given,
            horizon=prior.horizon,
            engine=prior.engine,
        )


def parse_period(problem: Problem, period: float | str | None) -> PeriodSetting:
    """The setting ``period`` in words and numbers.

    Args:
        problem: Its main period, if it has one, and its horizon.
        period: A number, "auto", "auto:LOW:HIGH", "about:TAU", or None.
    """
    if period is None and problem.period is None:
        period = "auto"
    low, high = usual_range(problem.horizon)
    if not isinstance(period, str):
        return PeriodSetting(main_period(problem, period), relied_on=True, low=low, high=high)
    kind, numbers = _words(period)
    if kind == "about":
        return PeriodSetting(numbers[0], relied_on=False, low=low, high=high)
    low, high = numbers or (low, high)
    if not low < high:
        raise _wrong("needs LOW below HIGH", period)
    return PeriodSetting(problem.period, relied_on=False, low=low, high=high)


def _words(period: str) -> tuple[str, list[float]]:
    """The word of a setting, and its numbers."""
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
    return kind, numbers


def _wrong(rule: str, period: str) -> ValueError:
    return ValueError(f"period {rule}, got {period!r}")
