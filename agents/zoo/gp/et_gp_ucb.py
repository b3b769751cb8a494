"""Forgetting everything when the world has changed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agents.base import Problem
from agents.checks import share
from agents.gp import Constant
from agents.zoo.gp.gp_agent import GPAgent


class ETGPUCB(GPAgent):
    """ET-GP-UCB: GP-UCB that starts afresh when a reward contradicts the belief.

    Pseudo-code::

        for t = 1, 2, ...:
            a_t <- argmax_a mu(a) + sqrt(beta_t) sigma(a)
            observe y_t, the n-th since the last reset;  p <- pi^2 n^2 / 6
            if |y_t - mu(a_t)| > sqrt(2 log(2 p / delta)) {sigma(a_t) + noise deviation}:
                forget all observations before y_t

    Reference: [@brunzema2025event] (first as arXiv 2208.10790, 2022).

    Recommended parameters: delta = 0.1; by the union bound it is the probability that the trigger
    ever fires where the belief is right. The trigger and its bound were compared with the code of
    the same group's event-triggered safe optimisation (repository antoHolz/ETSO, which has other
    factors for its task and delta = 0.01); delta = 0.1 is quoted from memory.

    Deviations from the paper: the exploration schedule is the one of [@cai2021periodic] and goes
    on across resets. A reward that arrives when its decision was made before the last reset is
    ignored. The later version's bounds on the time between resets are left out.

    Args:
        problem: What is known.
        rng: Breaks ties.
        delta: Probability of a false alarm.
        common: Arguments of every GP agent, see :class:`GPAgent`.
    """

    name = "et-gp-ucb"
    family = "GP, forgetting"

    def __init__(
        self, problem: Problem, rng: np.random.Generator, *, delta: float = 0.1, **common: Any
    ) -> None:
        self._delta = share("delta", delta)
        super().__init__(problem, rng, clock=Constant(), **common)

    def _begin(self) -> None:
        """Nothing seen, and no reset yet."""
        self._start, self.resets = -math.inf, 0
        super()._begin()

    def observe(self, action: Any, t: float, y: float) -> None:
        """Start afresh if the reward contradicts the belief; then take it in."""
        if t < self._start:
            return
        # Before the scale of the rewards is known there is nothing to contradict.
        if self._normaliser is not None and self._contradicts(action, t, y):
            self.posterior.reset()
            self._start, self.resets = t, self.resets + 1
        super().observe(action, t, y)

    def _contradicts(self, action: Any, t: float, y: float) -> bool:
        """The trigger."""
        mean, variance = self.posterior.predict(t, action)
        p = math.pi**2 * (self.posterior.count + 1) ** 2 / 6.0
        spread = math.sqrt(variance[0]) + math.sqrt(self.posterior.noise_variance)
        bound = math.sqrt(2.0 * math.log(2.0 * p / self._delta)) * spread
        return abs(y - float(mean[0])) > bound

    def state(self) -> dict[str, Any]:
        """Also when the last reset was, and how many there were."""
        start = self._start if math.isfinite(self._start) else None
        return {**super().state(), "start": start, "resets": self.resets}

    def restore(self, state: dict[str, Any]) -> None:
        """Put ``state()`` back."""
        super().restore(state)
        self._start = -math.inf if state["start"] is None else float(state["start"])
        self.resets = int(state["resets"])
