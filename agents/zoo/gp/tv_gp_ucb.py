"""TV-GP-UCB, for drifting functions."""

from __future__ import annotations

from typing import Any

from agents.arrays import Rng
from agents.base import Problem
from agents.checks import number
from agents.gp import Decay
from agents.zoo.gp.gp_agent import GPAgent


class TVGPUCB(GPAgent):
    """TV-GP-UCB: GP-UCB for a function that drifts, so that old rewards have less influence.

    Pseudo-code::

        k{(a, t), (b, s)} = k_A(a, b) (1 - eps)^(|t - s| / 2)
        for t = 1, 2, ...:
            a_t <- argmax_a mu(a, t) + sqrt(beta_t) sigma(a, t)
            observe y_t

    Reference: [@bogunovic2016time].

    Deviations from the paper: the exploration schedule is that of [@cai2021periodic]. That paper
    takes eps "from the pre-trained model" but does not report its value. The default here, 0.03, is
    our choice: the correlation in time falls to one half after about 45 steps.

    For a past t, the state-space engine does not compute the exact posterior; see
    :meth:`GPAgent.belief`.

    Args:
        eps: Rate of change in (0, 1); ``fit_warm_start=true`` fits the rate to the warm start.
        common: Arguments of every GP agent, see :class:`GPAgent`.
    """

    name = "tv-gp-ucb"

    def __init__(self, problem: Problem, rng: Rng, *, eps: float = 0.03, **common: Any) -> None:
        super().__init__(problem, rng, time_kernel=Decay(number("eps", eps)), **common)
