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
    """Known period, or a range in which to search for one.

    Attributes:
        value: Period of the setting or the problem, or None.
        relied_on: True if that period is assumed to be correct; otherwise it is searched for.
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
        problem: Problem, for its main period and horizon.
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
    """Return the word of a setting, and its numbers."""
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


class PeriodicGPUCB(GPAgent):
    """Periodic-GP-UCB: a Gaussian process that knows the season, and optimism.

    Pseudo-code (Algorithm 1)::

        k{(a, t), (b, s)} = k_A(a, b) exp{-2 sin^2(pi |t - s| / tau) / l^2}      Eq. (2), (3)
        for t = 1, 2, ...:
            mu, sigma <- posterior of f(., t) given all rewards so far           Eq. (5)
            a_t <- argmax_a mu(a) + sqrt(beta_t) sigma(a)                        Eq. (6)
            observe y_t

    Reference: [@cai2021periodic].

    Deviations from the paper:
        1. ``sqrt(beta_t)``, as in its proofs, where Eq. (6) and Algorithm 1 print
           ``beta_t^(-1/2)``.
        2. ``beta_t = 0.8 log(0.4 t)`` is clipped at 0; it is negative for t = 1, 2.
        3. Section 4.1 writes ``2 tau`` in the periodic kernel; Eq. (2), followed here, ``tau``.
        4. The posterior is computed in a finite state, exactly but for round-off.
        5. Where the period is not known it is learned (the paper takes it as known): a belief over
           candidate periods, each with its own posterior, weighed by evidence, and one upper
           confidence bound from the mean and variance of the mixture
           (:mod:`agents.gp.posteriors.period_search`, :meth:`period_belief`).

    Args:
        period: tau, to be relied on; "auto" to learn it; "auto:LOW:HIGH" to say where it may lie
            (by default 5 steps to a quarter of the horizon, but 20 to 200); "about:TAU" to learn it
            with a hint: one third that it is TAU, one third that it is near, one third for all
            others. "auto" takes the problem's main season, if it has one, for a hint. By default
            that season is relied on, or the period learned if there is none.
        time_length_scale: l of the periodic kernel. The default is the paper's; 1 suits worlds
            that change visibly within a season.
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
        """Return one kernel if the period is relied on, otherwise a mixture over periods."""
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
