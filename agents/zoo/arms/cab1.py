"""CAB1, UCB1 on increasingly fine discretisations."""

from __future__ import annotations

import math

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import positive
from agents.zoo.arms.arm_agent import MAX_BOX_ARMS, arms_of
from agents.zoo.arms.ucb1 import UCB1


class CAB1(UCB1):
    """CAB1: UCB1 on a few points of a box, in epochs of doubling length with more and more points.

    Pseudo-code::

        for T = 2, 4, 8, ...:
            n <- ceil((T / log T)^(1 / (2 alpha + d)))
            UCB1 on n evenly spread points for T steps

    Reference: [@kleinberg2004nearly], for d = 1. For other dimensions, the exponent is the one for
    which the same proof holds. The default alpha = 1 is for means that are Lipschitz near the best
    action.

    Deviations from the paper: T = 1 is left out, since log 1 = 0. The points are evenly spaced from
    end to end of a line, and form a Halton sequence in more dimensions. As in UCB1, B is 2 sigma
    instead of the range of the rewards. A finite set is not discretised; the agent then only
    restarts UCB1 at every epoch. Epochs are measured in time steps, not in rewards. The warm start,
    and rewards of decisions in earlier epochs, are used only to set the scale of the rewards.

    Args:
        alpha: Smoothness alpha of the mean near its maximum.
        scale: Standard deviation sigma of the noise. The default is the problem's ``noise_std`` or,
            if that is unknown or 0, the standard deviation of the rewards so far.
    """

    name = "cab1"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        alpha: float = 1.0,
        scale: float | None = None,
    ) -> None:
        self._alpha = positive("alpha", alpha)
        self._epoch: int = 1
        self._begin: float | None = None
        super().__init__(problem, rng, scale=scale)

    def start(self) -> None:
        """Discretise the box for the current epoch, and reset the statistics of UCB1."""
        self._cut()
        super().start()

    def _cut(self) -> None:
        steps = 2.0**self._epoch
        exponent = 1.0 / (2.0 * self._alpha + self._problem.dim)
        points = math.ceil((steps / math.log(steps)) ** exponent)
        self._arms = arms_of(self._problem, min(points, MAX_BOX_ARMS))
        self.n_arms = len(self._arms)

    def choose(self, t: float, observation: Array) -> int:
        """Start the next epoch if the current epoch has ended, then choose as UCB1."""
        if self._begin is None:
            self._begin = t
        while t >= self._begin + 2**self._epoch:
            self._begin += 2**self._epoch
            self._epoch += 1
            self.start()
        return super().choose(t, observation)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Update the mean of the arm if the decision was made in the current epoch."""
        if self._begin is not None and t >= self._begin:
            super().learn(arm, reward, t)
