"""Periodic-GP-UCB, the agent of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.arrays import Rng
from agents.base import Problem
from agents.checks import seasonal_length_scale
from agents.gp import Array, Kernel, Periodic, PeriodSearch, Posterior
from agents.gp.posteriors.period_search import usual_range
from agents.zoo.gp.gp_agent import GPAgent
from agents.zoo.gp.prior import main_period


@dataclass(frozen=True)
class PeriodSetting:
    """Known period, or range in which the period is searched for.

    Attributes:
        value: Period from the setting or the problem; None if neither states a period.
        relied_on: True if this period is assumed to be correct, False if the period is searched
            for.
        low: Shortest candidate period.
        high: Longest candidate period.
    """

    value: float | None
    relied_on: bool
    low: float
    high: float


def parse_period(problem: Problem, period: float | str | None) -> PeriodSetting:
    """Return the parsed setting ``period``.

    Args:
        problem: Problem, which provides the main period and the horizon.
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
        raise _wrong("must have LOW below HIGH", period)
    return PeriodSetting(problem.period, relied_on=False, low=low, high=high)


def _words(period: str) -> tuple[str, list[float]]:
    """Return the keyword, "auto" or "about", and the checked numbers of a ``period`` setting."""
    kind, *texts = period.split(":")
    if (kind, len(texts)) not in (("auto", 0), ("auto", 2), ("about", 1)):
        raise _wrong("must be a number, auto, auto:LOW:HIGH or about:TAU", period)
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        raise _wrong("must have numbers in auto:LOW:HIGH and about:TAU", period) from None
    if not all(0 < number < np.inf for number in numbers):
        names = "TAU" if kind == "about" else "LOW and HIGH"
        raise _wrong(f"must have positive and finite {names}", period)
    return kind, numbers


def _wrong(rule: str, period: str) -> ValueError:
    return ValueError(f"period {rule}, got {period!r}")


class PeriodicGPUCB(GPAgent):
    """Periodic-GP-UCB: GP-UCB with a kernel that is periodic in time.

    Pseudo-code (Algorithm 1)::

        k{(a, t), (b, s)} = k_A(a, b) exp{-2 sin^2(pi |t - s| / tau) / l^2}      Eq. (2), (3)
        for t = 1, 2, ...:
            mu, sigma <- posterior of f(., t) given all rewards so far           Eq. (5)
            a_t <- argmax_a mu(a) + sqrt(beta_t) sigma(a)                        Eq. (6)
            observe y_t

    Reference: [@cai2021periodic].

    Deviations from the paper:
        1. The standard deviation has the weight ``sqrt(beta_t)``, as in the proofs of the paper.
           Eq. (6) and Algorithm 1 print ``beta_t^(-1/2)``.
        2. ``beta_t = 0.8 log(0.4 t)`` is clipped at 0, because it is negative for t = 1, 2.
        3. The periodic kernel contains ``tau``, as in Eq. (2). Section 4.1 writes ``2 tau``.
        4. The posterior is computed with a state of finite size. It is exact up to round-off.
        5. An unknown period is learned, whereas the paper assumes a known period. Each candidate
           period has a posterior, and the posteriors are weighted by evidence. The upper confidence
           bound is computed from the mean and variance of this mixture
           (:mod:`agents.gp.posteriors.period_search`, :meth:`period_belief`).

    Args:
        period: A number tau, which is assumed to be correct; "auto" to learn the period;
            "auto:LOW:HIGH" to learn it within these bounds; or "about:TAU" to learn it with the
            hint TAU. The default bounds are 5 steps and a quarter of the horizon, but the upper
            bound is at least 20 and at most 200 steps. With a hint, the prior probability is one
            third for exactly TAU, one third for periods near TAU, and one third spread over the
            whole range. "auto" uses the period of the problem's main season, if the problem has a
            season, as a hint. By default, the period of the main season is assumed to be correct;
            if the problem has no season, the period is learned.
        time_length_scale: Length-scale l of the periodic kernel. The default is that of the paper;
            1 suits worlds that change visibly within a season.
        common: Arguments of every GP agent, see :class:`GPAgent`.
    """

    name = "periodic-gp-ucb"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        period: float | str | None = None,
        time_length_scale: float = 10.0,
        **common: Any,
    ) -> None:
        self._season = parse_period(problem, period)
        length_scale = seasonal_length_scale(time_length_scale)
        clock = Periodic(self._season.value or self._season.low, length_scale)
        super().__init__(problem, rng, time_kernel=clock, **common)

    def new_posterior(self, kernel: Kernel | None = None) -> Posterior:
        """Return one posterior if the period is assumed to be correct, otherwise a mixture."""
        if self._season.relied_on:
            return super().new_posterior(kernel)
        return PeriodSearch(
            kernel or self.kernel,
            self.coordinates.actions,
            self.noise_variance,
            low=self._season.low,
            high=self._season.high,
            given_period=self._season.value,
            horizon=self._problem.horizon,
            engine=self._engine,
        )

    def period_belief(self) -> tuple[Array, Array]:
        """Return the candidate periods, ascending, and their probabilities."""
        if not isinstance(self.posterior, PeriodSearch):
            return np.array([self._season.value]), np.ones(1)
        order = np.argsort(self.posterior.periods)
        return self.posterior.periods[order], self.posterior.weights[order]
