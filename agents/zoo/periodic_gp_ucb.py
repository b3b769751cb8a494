"""The paper's agent."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.base import Problem, number
from agents.gp import Periodic
from agents.zoo.gaussian import GPAgent
from agents.zoo.prior import main_period


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

    Args:
        problem: What is known.
        rng: Breaks ties.
        period: tau; by default the problem's main season.
        time_length_scale: l of the periodic kernel. The default is the paper's; 1 suits worlds
            that change visibly within a season.
        common: Arguments of every GP agent, see :class:`agents.zoo.gaussian.GPAgent`.
    """

    name = "periodic-gp-ucb"

    def __init__(
        self,
        problem: Problem,
        rng: np.random.Generator,
        *,
        period: float | None = None,
        time_length_scale: float = 10.0,
        **common: Any,
    ) -> None:
        length_scale = number("time_length_scale", time_length_scale)
        clock = Periodic(main_period(problem, period), length_scale)
        super().__init__(problem, rng, clock=clock, **common)
