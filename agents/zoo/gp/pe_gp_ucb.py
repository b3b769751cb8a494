"""Several periods, until they are refuted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from agents.base import Problem
from agents.checks import positive, seasonal_length_scale, several, share
from agents.gp import (
    UCB,
    Periodic,
    Posterior,
    Sum,
    TimeKernel,
    argmax,
    from_state,
    make_posterior,
    to_state,
)
from agents.zoo.gp.gp_agent import GPAgent
from agents.zoo.gp.prior import FINDERS

SHARES = (1 / 2, 2 / 3, 1.0, 3 / 2, 2.0)
"""Candidates as shares of the period that is told, where none are given."""
PENDING = 1000
"""Decisions without a reward that are remembered."""


class PEGPUCB(GPAgent):
    """PE-GP-UCB: the most optimistic of several periods decides; one that errs too much is out.

    Pseudo-code::

        U <- all candidate periods;  S_u, E_u, B_u <- 0 for u in U
        for t = 1, 2, ...:
            a_t, u <- argmax over a and u in U of mu_u(a, t) + sqrt(beta_t) sigma_u(a, t)
            observe y_t
            S_u += 1;  E_u += y_t - mu_u(a_t, t);  B_u += sqrt(b_t) sigma_u(a_t, t)
            if |E_u| > B_u + sqrt(S_u b_t) (noise deviation):  U <- U without u

    Here b_t = 2 log(|U| pi^2 t^2 / (3 delta)): by the union bound the right candidate goes with a
    probability of at most delta, half of it for the function and half for the noise.

    Reference: [@ziomek2025time] (first as arXiv 2402.01632), for any set of priors.

    Recommended parameters: delta = 0.1. The rule of elimination is quoted from memory; neither its
    constants nor delta could be confirmed, since the paper's text could not be opened.

    Deviations from the paper: ``beta_t``, by which actions are chosen, is the schedule of
    [@cai2021periodic], and apart from b_t (it starts at 0, which would drop all in a step or two).
    The last candidate stays, whatever it does. Where no candidates are given they are 1/2, 2/3, 1,
    3/2 and 2 times the problem's main season, as if it were known to a factor of two. A late reward
    is compared with what is believed when it comes. In a box the candidates' bounds are compared on
    a grid, and only the highest is searched further.

    Args:
        problem: What is known.
        rng: Breaks ties.
        periods: Candidates.
        delta: Probability that the right one is dropped.
        time_length_scale: l of the periodic kernel, the same for all. (The 10 of [@cai2021periodic]
            would make all periods alike.)
        common: Arguments of every GP agent, see :class:`GPAgent`.
    """

    name = "pe-gp-ucb"
    family = "GP, periodic"

    def __init__(
        self,
        problem: Problem,
        rng: np.random.Generator,
        *,
        periods: Sequence[float] | None = None,
        delta: float = 0.1,
        time_length_scale: float = 1.0,
        **common: Any,
    ) -> None:
        self._candidates, self._delta = _candidates(problem, periods), share("delta", delta)
        self._chosen: dict[float, int] = {}
        if common.get("context_length_scale") is not None:
            raise ValueError("this agent looks at no contexts: leave out context_length_scale")
        clock = Periodic(self._candidates[0], seasonal_length_scale(time_length_scale))
        super().__init__(problem, rng, clock=clock, **common)

    @property
    def periods(self) -> list[float]:
        """The candidates that are left."""
        return [self._candidates[i] for i in np.flatnonzero(self._alive)]

    def _begin(self) -> None:
        """All candidates, nothing seen."""
        self._priors: list[Posterior] = []
        super()._begin()
        self._alive = np.ones(len(self._candidates), dtype=bool)
        self._record = np.zeros((len(self._candidates), 3))  # S, E and B of each
        self._searches = [UCB(each, self._rng) for each in self._priors]

    def prior(self, noise_variance: float) -> Posterior:
        """One belief for each candidate; the first is returned."""
        horizon, engine = self._problem.horizon, self._engine
        for period in self._candidates:
            kernel = Sum(
                tuple(replace(p, clocks=_at(p.clocks, period)) for p in self._kernel.terms)
            )
            self._priors.append(
                make_posterior(
                    kernel, self._actions, noise_variance, horizon=horizon, engine=engine
                )
            )
        return self._priors[0]

    def choose(self, t: float, beta: float) -> Any:
        """The best action of the most optimistic candidate."""
        left = np.flatnonzero(self._alive)
        peaks = np.array([self._searches[i].peak(t, beta) for i in left])
        best = argmax(peaks, self._rng)
        self._turn_to(int(left[best]))
        self._chosen[t] = int(left[best])
        if len(self._chosen) > PENDING:
            del self._chosen[min(self._chosen)]
        return super().choose(t, beta)

    def observe(self, action: Any, t: float, y: float) -> None:
        """Judge the candidate that decided, then let all of them learn."""
        who = self._chosen.pop(t, None) if self._normaliser is not None else None
        if who is not None and self._alive[who] and self._alive.sum() > 1:
            self._judge(who, action, t, y)
        for i in np.flatnonzero(self._alive):
            self._priors[i].observe(action, t, y)

    def _judge(self, who: int, action: Any, t: float, y: float) -> None:
        mean, variance = self._priors[who].predict(t, action)
        chance = 3.0 * self._delta / (len(self._candidates) * math.pi**2 * max(self._steps, 1) ** 2)
        b = -2.0 * math.log(chance)
        self._record[who] += (1.0, y - mean[0], math.sqrt(b * variance[0]))
        count, error, bound = self._record[who]
        if abs(error) > bound + math.sqrt(count * b * self._priors[who].noise_variance):
            self._alive[who] = False
            self._turn_to(int(self._alive.argmax()))

    def _turn_to(self, which: int) -> None:
        self.posterior, self._ucb = self._priors[which], self._searches[which]
        self._view = self.posterior

    def state(self) -> dict[str, Any]:
        """All candidates, and their records."""
        current = next(i for i, each in enumerate(self._priors) if each is self.posterior)
        return {
            **super().state(),
            "priors": [to_state(self._priors[i]) for i in np.flatnonzero(self._alive)],
            "alive": self._alive.astype(np.int64),
            "record": self._record.copy(),
            "chosen": [list(pair) for pair in self._chosen.items()],
            "current": current,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put ``state()`` back."""
        super().restore(state)
        self._alive, self._record = np.array(state["alive"], dtype=bool), np.array(state["record"])
        for i, own in zip(np.flatnonzero(self._alive), state["priors"], strict=True):
            self._priors[i] = from_state(own)
            self._searches[i] = UCB(self._priors[i], self._rng)
        self._chosen = {float(t): int(who) for t, who in state["chosen"]}
        self._turn_to(int(state["current"]))


def _candidates(problem: Problem, periods: Sequence[float] | None) -> list[float]:
    if periods is None and problem.period is None:
        raise ValueError(
            "this agent needs candidate periods and the problem tells none: give them by writing "
            f":periods=[12,24] behind its name, or choose {FINDERS}"
        )
    if periods is None:
        return [part * float(problem.period or 0.0) for part in SHARES]
    return [positive("periods", period) for period in several("periods", periods)]


def _at(clocks: tuple[TimeKernel, ...], period: float) -> tuple[TimeKernel, ...]:
    return tuple(replace(k, period=period) if isinstance(k, Periodic) else k for k in clocks)
