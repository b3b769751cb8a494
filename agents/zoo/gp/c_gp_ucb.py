"""C-GP-UCB, with time as a context."""

from __future__ import annotations

from typing import Any

from agents.arrays import Rng
from agents.base import Problem
from agents.checks import positive
from agents.gp import TimeSquaredExponential
from agents.zoo.gp.gp_agent import GPAgent


class CGPUCB(GPAgent):
    """C-GP-UCB: contextual GP bandit with time as the context.

    Pseudo-code::

        k{(a, t), (b, s)} = k_A(a, b) exp{-(t - s)^2 / (2 l^2)}
        for t = 1, 2, ...:
            a_t <- argmax_a mu(a, t) + sqrt(beta_t) sigma(a, t)
            observe y_t

    Reference: [@krause2011contextual], with time as the context, as in [@cai2021periodic].

    Deviations from the paper: the exploration schedule is that of [@cai2021periodic]. Observations
    are forgotten when they are so old that they have no influence, not even through the
    observations in between. This changes the posterior only by round-off, and it bounds the cost.

    Args:
        time_length_scale: Length-scale l in steps; the default is that of [@cai2021periodic].
        common: Arguments of every GP agent, see :class:`GPAgent`.
    """

    name = "c-gp-ucb"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        time_length_scale: float = 10.0,
        **common: Any,
    ) -> None:
        clock = TimeSquaredExponential(positive("time_length_scale", time_length_scale))
        super().__init__(problem, rng, time_kernel=clock, **common)
