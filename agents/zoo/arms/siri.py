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
    """SiRI: a fixed number of random arms, the most promising one played twice as often each time.

    Pseudo-code::

        b <- min(beta, 2);  M <- 2^floor(log2(A(T) T^(b / 2)));  draw M arms, play each once
        L[a] <- log(M^(2 / b) / (n[a] delta))
        a <- argmax_a mean[a] + 2 B sqrt(L[a] / n[a]) + 2 B L[a] / n[a]
        play a as often again as it was played before

    Reference: [@carpentier2015simple]; A(T) = A, A / log(T)^2 or A / log(T) for beta below, at or
    above 2. A = 0.3 and delta = 0.01 are meant to be those of its simulations, which could not be
    confirmed; neither could a second implementation with the same index be found.

    Deviations from the paper: it minimises simple regret, the quality of one final arm, but is
    evaluated here by all its choices. Rewards need not lie in [0, 1]. Instead of
    their range, B is 2 sigma, the width of bounded rewards of the same sub-Gaussian scale. Arms are
    drawn without return: of a finite set, or of ``box_arms`` evenly spread points of a box.

    Args:
        beta: How rare good arms are; by default d / 2 for a box and 1 for a finite set.
        a: A above.
        delta: Confidence.
        scale: sigma of the noise; by default the problem's, or the standard deviation of the
            rewards so far.
        box_arms: Number of points of a box to draw from.
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
        """Draw the arms that will be played."""
        b, log = min(self._beta, 2.0), math.log(max(self.horizon, 3))
        power = 2.0 if self._beta == 2.0 else float(self._beta > 2.0)
        draws = self._a / log**power * self.horizon ** (b / 2.0)
        exponent = max(math.floor(math.log2(max(draws, 1.0))), 0)
        self._drawn = self._rng.permutation(self.n_arms)[: 2**exponent]
        self._level = exponent * 2.0 / b * math.log(2.0) - math.log(self._delta)
        self._count, self._total = np.zeros(self.n_arms), np.zeros(self.n_arms)
        self._arm, self._left = -1, 0

    def choose(self, t: float, observation: Array) -> int:
        """Return the arm that is still to be played, or the next one."""
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
        """Add to the arm's mean; order and delay do not matter."""
        self._count[arm] += 1
        self._total[arm] += reward
        if arm == self._arm and self._left:
            self._left -= 1
