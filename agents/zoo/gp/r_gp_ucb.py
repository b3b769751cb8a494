"""R-GP-UCB, with resets at fixed intervals."""

from __future__ import annotations

import math
from typing import Any

from agents.arrays import Rng
from agents.base import Problem
from agents.checks import share, whole
from agents.gp import Constant
from agents.zoo.gp.gp_agent import GPAgent


class RGPUCB(GPAgent):
    """R-GP-UCB: GP-UCB that restarts every N steps.

    Pseudo-code::

        for t = 1, 2, ...:
            if t is the first step of a block of N: forget all observations
            a_t <- argmax_a mu(a) + sqrt(beta_t) sigma(a)
            observe y_t

    Reference: [@bogunovic2016time]. Blocks of 15 steps as in [@cai2021periodic], or, with
    ``block_size=formula``, N = ceil(min{T, 12 eps^(-1/4)}): the block length that
    [@bogunovic2016time] choose, where eps^(-1/4) is their rate for the squared exponential kernel
    and 12 their constant.

    Deviations from the paper: the exploration schedule is the one of [@cai2021periodic], and
    ``beta_t`` continues across blocks. The warm start is forgotten with the first block. Rewards
    that arrive after the end of their block are ignored.

    Args:
        block_size: N, or "formula".
        eps: Rate of change in the formula.
        common: Arguments of every GP agent, see :class:`GPAgent`.
    """

    name = "r-gp-ucb"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        block_size: int | str = 15,
        eps: float = 0.03,
        **common: Any,
    ) -> None:
        if block_size == "formula":
            rate = share("eps", eps)
            block_size = math.ceil(min(problem.horizon or math.inf, 12.0 * rate**-0.25))
        self.block_size = whole("block_size", block_size, " or 'formula'")
        self._start = -math.inf  # of the block
        super().__init__(problem, rng, time_kernel=Constant(), **common)

    def advance(self, t: float) -> None:
        """Start a new block if it is time."""
        if self._start == -math.inf:
            self._start = t
        elif t >= self._start + self.block_size:
            self._start += self.block_size * ((t - self._start) // self.block_size)
            self.posterior.reset()

    def learn(self, action: Any, t: float, y: float) -> None:
        """Take in a reward, if the decision was made in this block."""
        if t >= self._start:
            super().learn(action, t, y)
