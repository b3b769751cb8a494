"""SiRI, for more arms than can be tried."""

from __future__ import annotations

import math

import numpy as np

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import positive, share
from agents.zoo.arms.arm_agent import ArmAgent
from agents.zoo.arms.ucb_air import rarity


class SiRI(ArmAgent):
    """SiRI: UCB on a fixed number of random arms; each choice doubles the plays of the chosen arm.

    Pseudo-code::

        b <- min(beta, 2);  M <- 2^floor(log2(A(T) T^(b / 2)));  draw M arms, play each once
        L[a] <- log(M^(2 / b) / (n[a] delta))
        a <- argmax_a mean[a] + 2 B sqrt(L[a] / n[a]) + 2 B L[a] / n[a]
        play a as often again as it was played before

    Reference: [@carpentier2015simple]. A(T) is A, A / log(T)^2 or A / log(T) for beta below, at or
    above 2. The values A = 0.3 and delta = 0.01 are intended to be those of the paper's
    simulations, but we could not confirm them. We also found no second implementation with the same
    index.

    Deviations from the paper: the paper minimises simple regret, which depends only on one final
    arm, but here all choices of the agent are evaluated. Rewards need not lie in [0, 1]. Instead of
    the range of the rewards, B is 2 sigma, because rewards in an interval of width 2 sigma are
    sigma-sub-Gaussian. Arms are drawn without replacement, from a finite set or from ``box_arms``
    evenly spread points of a box.

    Args:
        beta: Rarity of good arms: a random arm is within eps of the best with
            probability ~ eps^beta. The default is d / 2 for a box and 1 for a finite set.
        a: Factor A in the number of arms.
        delta: Confidence parameter delta of the bounds.
        scale: Standard deviation sigma of the noise. The default is the problem's ``noise_std`` or,
            if that is unknown or 0, the standard deviation of the rewards so far.
        box_arms: Number of points of a box from which arms are drawn.
    """

    name = "siri"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        beta: float | None = None,
        a: float = 0.3,
        delta: float = 0.01,
        scale: float | None = None,
        box_arms: int = 1000,
    ) -> None:
        self._beta, self._a = rarity(problem, beta), positive("a", a)
        self._delta = share("delta", delta)
        super().__init__(problem, rng, scale=scale, box_arms=box_arms)

    def start(self) -> None:
        """Draw the arms that will be played, and reset all statistics."""
        b, log = min(self._beta, 2.0), math.log(max(self.horizon, 3))
        power = 2.0 if self._beta == 2.0 else float(self._beta > 2.0)
        draws = self._a / log**power * self.horizon ** (b / 2.0)
        exponent = max(math.floor(math.log2(max(draws, 1.0))), 0)
        self._drawn = self._rng.permutation(self.n_arms)[: 2**exponent]
        self._level = exponent * 2.0 / b * math.log(2.0) - math.log(self._delta)
        self._count, self._total = np.zeros(self.n_arms), np.zeros(self.n_arms)
        self._arm, self._left = -1, 0

    def choose(self, t: float, observation: Array) -> int:
        """Return the current arm while it has plays left, then the arm with the greatest bound."""
        if not self._left:
            count = self._count[self._drawn]
            self._arm = int(self._drawn[self._next(count)])
            self._left = max(int(self._count[self._arm]), 1)
        return self._arm

    def _next(self, count: Array) -> int:
        untried = np.flatnonzero(count == 0)
        if len(untried):
            return int(untried[0])
        level = np.maximum(self._level - np.log(count), 0.0) / count
        bound = 2.0 * self.scale.width * (np.sqrt(level) + level)
        return self.best_of(self._total[self._drawn] / count + bound)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Update the mean of the arm; the order and the delay of rewards do not matter."""
        self._count[arm] += 1
        self._total[arm] += reward
        if arm == self._arm and self._left:
            self._left -= 1
