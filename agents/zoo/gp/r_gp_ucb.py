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

    Reference: [@bogunovic2016time]. By default, a block has 15 steps, as in [@cai2021periodic].
    With ``block_size=formula``, the length of a block is N = ceil(min{T, 12 eps^(-1/4)}), as chosen
    in [@bogunovic2016time], where eps^(-1/4) is the rate for the squared exponential kernel and 12
    is the constant factor.

    Deviations from the paper: the exploration schedule is that of [@cai2021periodic], and
    ``beta_t`` continues across blocks. The warm start belongs to the first block and is forgotten
    when this block ends. Rewards that arrive after the end of their block are ignored.

    Args:
        block_size: Length N of a block in steps, or "formula".
        eps: Rate of change eps in the formula.
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
        self._start = -math.inf  # time of the first step of the current block
        super().__init__(problem, rng, time_kernel=Constant(), **common)

    def advance(self, t: float) -> None:
        """Start a new block if the current block has ended."""
        if self._start == -math.inf:
            self._start = t
        elif t >= self._start + self.block_size:
            self._start += self.block_size * ((t - self._start) // self.block_size)
            self.posterior.reset()

    def learn(self, action: Any, t: float, y: float) -> None:
        """Learn from a reward if its decision was made in the current block."""
        if t >= self._start:
            super().learn(action, t, y)
