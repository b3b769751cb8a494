"""ET-GP-UCB, with resets after detected changes."""

from __future__ import annotations

import math
from typing import Any

from agents.arrays import Rng
from agents.base import Problem
from agents.checks import share
from agents.gp import Constant
from agents.zoo.gp.gp_agent import GPAgent


class ETGPUCB(GPAgent):
    """ET-GP-UCB: GP-UCB that forgets all observations when a reward contradicts the belief.

    Pseudo-code::

        for t = 1, 2, ...:
            a_t <- argmax_a mu(a) + sqrt(beta_t) sigma(a)
            observe y_t, the n-th since the last reset;  p <- pi^2 n^2 / 6
            if |y_t - mu(a_t)| > sqrt(2 log(2 p / delta)) {sigma(a_t) + noise deviation}:
                forget all observations before y_t

    Reference: [@brunzema2025event] (first published as arXiv 2208.10790, 2022).

    Recommended parameters: delta = 0.1. By the union bound, delta bounds the probability that the
    trigger ever fires although the belief is correct. The trigger and its bound were compared with
    code by the same research group for event-triggered safe optimisation (repository
    antoHolz/ETSO). That code uses different factors, which suit its task, and delta = 0.01. The
    value delta = 0.1 is quoted from memory.

    Deviations from the paper: the exploration schedule is that of [@cai2021periodic] and continues
    across resets. A reward is ignored if its decision was made before the last reset. The bounds on
    the time between resets, which the later version of the paper contains, are left out.

    Args:
        delta: Upper bound on the probability of a false alarm.
        common: Arguments of every GP agent, see :class:`GPAgent`.
    """

    name = "et-gp-ucb"

    def __init__(self, problem: Problem, rng: Rng, *, delta: float = 0.1, **common: Any) -> None:
        self._delta = share("delta", delta)
        super().__init__(problem, rng, time_kernel=Constant(), **common)

    def start(self) -> None:
        """Create a posterior without observations, and set the number of resets to zero."""
        self.resets, self._start = 0, -math.inf  # number of resets, time of the last reset
        super().start()

    def visit(self, action: Any, t: float) -> None:
        """Observe 0 instead of a reward of unknown scale, without the test for a change."""
        self.posterior.observe(action, t, 0.0)

    def learn(self, action: Any, t: float, y: float) -> None:
        """Reset the posterior if the reward contradicts the belief, then learn from the reward."""
        if t < self._start:
            return
        if self._contradicts(action, t, y):
            self.posterior.reset()
            self.resets, self._start = self.resets + 1, t
        super().learn(action, t, y)

    def _contradicts(self, action: Any, t: float, y: float) -> bool:
        """Return whether a reward lies outside the confidence interval of the belief."""
        mean, variance = self.posterior.predict(t, action)
        p = math.pi**2 * (self.posterior.count + 1) ** 2 / 6.0
        spread = math.sqrt(variance[0]) + math.sqrt(self.posterior.noise_variance)
        bound = math.sqrt(2.0 * math.log(2.0 * p / self._delta)) * spread
        return abs(y - float(mean[0])) > bound
