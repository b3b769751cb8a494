"""PE-GP-UCB, with elimination of candidate periods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from agents.arrays import Rng
from agents.base import Problem
from agents.checks import positive, seasonal_length_scale, several, share
from agents.gp import UCB, Periodic, Prediction, argmax
from agents.gp.posteriors.period_search import with_period
from agents.zoo.gp.gp_agent import GPAgent
from agents.zoo.gp.prior import FINDERS

SHARES = (1 / 2, 2 / 3, 1.0, 3 / 2, 2.0)
"""Candidates as shares of the problem's period, where none are given."""
MAX_PENDING = 1000
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
        periods: Candidates.
        delta: Probability that the right one is dropped.
        time_length_scale: l of the periodic kernel, the same for all. (The 10 of [@cai2021periodic]
            would make all periods alike.)
        common: Arguments of every GP agent, see :class:`GPAgent`.
    """

    name = "pe-gp-ucb"
    takes_contexts = False

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        periods: Sequence[float] | None = None,
        delta: float = 0.1,
        time_length_scale: float = 1.0,
        **common: Any,
    ) -> None:
        self.candidates, self._delta = _candidates(problem, periods), share("delta", delta)
        self._chosen: dict[float, float] = {}  # who decided, by the time of the decision
        self._decisions = 0
        clock = Periodic(self.candidates[0], seasonal_length_scale(time_length_scale))
        super().__init__(problem, rng, time_kernel=clock, **common)

    @property
    def periods(self) -> list[float]:
        """The candidates that are left."""
        return [self.candidates[i] for i in np.flatnonzero(self.alive)]

    def start(self) -> None:
        """Start with all candidates, without observations."""
        kernels = [with_period(self.kernel, period) for period in self.candidates]
        self._posteriors = [self.new_posterior(kernel) for kernel in kernels]
        self.alive = np.ones(len(self.candidates), dtype=bool)
        self._record = np.zeros((len(self.candidates), 3))  # S, E and B of each
        self._turn_to(0)

    def rebuild(self) -> None:
        """Choose by the current posteriors from now on."""
        self._rules = [UCB(posterior, self._rng) for posterior in self._posteriors]

    def choose(self, t: float, beta: float) -> Any:
        """Return the best action of the most optimistic candidate, which is remembered."""
        left = np.flatnonzero(self.alive)
        peaks = np.array([self._rules[i].peak(t, beta) for i in left])
        self._turn_to(int(left[argmax(peaks, self._rng)]))
        self._decisions += 1
        self._chosen[t] = self._current
        if len(self._chosen) > MAX_PENDING:
            del self._chosen[min(self._chosen)]
        return self._rules[self._current].choose(t, beta)

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Return the belief of the candidate that decided last."""
        return self.posterior.predict(t, actions)

    def visit(self, action: Any, t: float) -> None:
        """Update all candidates with the place of an action, without evaluating them."""
        self._learn(action, t, 0.0)

    def learn(self, action: Any, t: float, y: float) -> None:
        """Judge the candidate that decided, then let all of them learn."""
        who = int(self._chosen.pop(t, -1))
        if who >= 0 and self.alive[who] and self.alive.sum() > 1:
            self._judge(who, action, t, y)
        self._learn(action, t, y)

    def _learn(self, action: Any, t: float, y: float) -> None:
        for i in np.flatnonzero(self.alive):
            self._posteriors[i].observe(action, t, y)

    def _judge(self, who: int, action: Any, t: float, y: float) -> None:
        mean, variance = self._posteriors[who].predict(t, action)
        decisions = max(self._decisions, 1)
        chance = 3.0 * self._delta / (len(self.candidates) * math.pi**2 * decisions**2)
        b = -2.0 * math.log(chance)
        self._record[who] += (1.0, y - mean[0], math.sqrt(b * variance[0]))
        count, error, bound = self._record[who]
        if abs(error) > bound + math.sqrt(count * b * self._posteriors[who].noise_variance):
            self.alive[who] = False
            self._turn_to(int(self.alive.argmax()))

    def _turn_to(self, which: int) -> None:
        self._current, self.posterior = which, self._posteriors[which]


def _candidates(problem: Problem, periods: Sequence[float] | None) -> list[float]:
    if periods is None and problem.period is None:
        raise ValueError(
            "this agent needs candidate periods and the problem has none: add "
            f":periods=[12,24] to its name, or choose {FINDERS}"
        )
    if periods is None:
        return [part * float(problem.period or 0.0) for part in SHARES]
    return [positive("periods", period) for period in several("periods", periods)]
