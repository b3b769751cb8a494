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
"""Default candidates, as multiples of the problem's main period."""
MAX_PENDING = 1000
"""Maximum number of stored decisions whose reward has not arrived."""


class PEGPUCB(GPAgent):
    """PE-GP-UCB: optimism over candidate periods, with elimination of inaccurate candidates.

    Pseudo-code::

        U <- all candidate periods;  S_u, E_u, B_u <- 0 for u in U
        for t = 1, 2, ...:
            a_t, u <- argmax over a and u in U of mu_u(a, t) + sqrt(beta_t) sigma_u(a, t)
            observe y_t
            S_u += 1;  E_u += y_t - mu_u(a_t, t);  B_u += sqrt(b_t) sigma_u(a_t, t)
            if |E_u| > B_u + sqrt(S_u b_t) (noise deviation):  U <- U without u

    Here b_t = 2 log(|U| pi^2 t^2 / (3 delta)). By the union bound, the true period is eliminated
    with a probability of at most delta. Half of delta covers the uncertainty of the function, and
    the other half covers the noise.

    Reference: [@ziomek2025time] (first published as arXiv 2402.01632), where the candidates can be
    any set of priors.

    Recommended parameters: delta = 0.1. The elimination rule, its constants and delta are quoted
    from memory. They have not been checked against the text of the paper, which was not available.

    Deviations from the paper: actions are chosen with ``beta_t``, the schedule of
    [@cai2021periodic], which is separate from b_t. If b_t were this schedule, which starts at 0,
    all candidates would be eliminated within a step or two. The last remaining candidate is never
    eliminated. The default candidates are 1/2, 2/3, 1, 3/2 and 2 times the problem's main period.
    They suit a period that is known up to a factor of two. A late reward is compared with the
    prediction at the time of its arrival. In a box, the bounds of the candidates are compared on a
    grid, and only the bound of the best candidate is maximised further.

    Args:
        periods: Candidate periods in steps.
        delta: Upper bound on the probability that the true period is eliminated.
        time_length_scale: Length-scale l of the periodic kernel, the same for all candidates. (With
            the value 10 of [@cai2021periodic], the candidates could hardly be distinguished.)
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
        self._chosen: dict[float, float] = {}  # index of the deciding candidate, by time
        self._decisions = 0
        clock = Periodic(self.candidates[0], seasonal_length_scale(time_length_scale))
        super().__init__(problem, rng, time_kernel=clock, **common)

    @property
    def periods(self) -> list[float]:
        """Candidate periods that have not been eliminated."""
        return [self.candidates[i] for i in np.flatnonzero(self.alive)]

    def start(self) -> None:
        """Create a posterior without observations for every candidate."""
        kernels = [with_period(self.kernel, period) for period in self.candidates]
        self._posteriors = [self.new_posterior(kernel) for kernel in kernels]
        self.alive = np.ones(len(self.candidates), dtype=bool)
        self._record = np.zeros((len(self.candidates), 3))  # S, E and B of each candidate
        self._turn_to(0)

    def rebuild(self) -> None:
        """Create the acquisition rules of the current posteriors."""
        self._rules = [UCB(posterior, self._rng) for posterior in self._posteriors]

    def choose(self, t: float, beta: float) -> Any:
        """Return the best action of the most optimistic candidate, and store the candidate."""
        left = np.flatnonzero(self.alive)
        peaks = np.array([self._rules[i].peak(t, beta) for i in left])
        self._turn_to(int(left[argmax(peaks, self._rng)]))
        self._decisions += 1
        self._chosen[t] = self._current
        if len(self._chosen) > MAX_PENDING:
            del self._chosen[min(self._chosen)]
        return self._rules[self._current].choose(t, beta)

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Return mean and variance of f(., t) for the current candidate.

        The current candidate made the latest decision; after an elimination, it is the first
        remaining candidate.
        """
        return self.posterior.predict(t, actions)

    def visit(self, action: Any, t: float) -> None:
        """Let all remaining candidates observe 0 instead of a reward of unknown scale."""
        self._learn(action, t, 0.0)

    def learn(self, action: Any, t: float, y: float) -> None:
        """Test the candidate that chose the action; then all remaining candidates learn from y."""
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
            "this agent needs candidate periods, but the problem has no period: add "
            f":periods=[12,24] to the name of the agent, or choose {FINDERS}"
        )
    if periods is None:
        return [part * float(problem.period or 0.0) for part in SHARES]
    return [positive("periods", period) for period in several("periods", periods)]
