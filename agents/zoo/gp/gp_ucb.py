"""GP-UCB, the stationary baseline."""

from __future__ import annotations

from typing import Any

from agents.arrays import Rng
from agents.base import Problem
from agents.gp import Constant
from agents.zoo.gp.gp_agent import GPAgent


class GPUCB(GPAgent):
    """GP-UCB: upper confidence bounds of a Gaussian process over the actions; time is ignored.

    Pseudo-code::

        k{(a, t), (b, s)} = k_A(a, b)
        for t = 1, 2, ...:
            a_t <- argmax_a mu(a) + sqrt(beta_t) sigma(a)
            observe y_t

    Reference: [@srinivas2009gaussian].

    Deviations from the paper: the exploration schedule is that of [@cai2021periodic],
    ``beta_t = 0.8 log(0.4 t)`` clipped at 0. The settings ``beta=finite`` and ``beta=box`` select
    the schedules of the theory.

    Args:
        common: Arguments of every GP agent, see :class:`GPAgent`.
    """

    name = "gp-ucb"

    def __init__(self, problem: Problem, rng: Rng, **common: Any) -> None:
        super().__init__(problem, rng, time_kernel=Constant(), **common)
