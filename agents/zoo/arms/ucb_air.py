"""UCB-AIR, for more arms than can be tried."""

from __future__ import annotations

import math

import numpy as np

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import positive
from agents.zoo.arms.arm_agent import ArmAgent


def rarity(problem: Problem, beta: float | None) -> float:
    """Return beta in P(a random arm is within eps of the best) ~ eps^beta.

    The default is d / 2 for a box, which holds for a smooth maximum inside the box, and 1 for a
    finite set.
    """
    if beta is not None:
        return positive("beta", beta)
    return 1.0 if problem.n_actions is not None else problem.dim / 2.0


class UCBAIR(ArmAgent):
    """UCB-AIR: UCB-V on the arms drawn so far, and a new arm by the arm-increasing rule.

    Pseudo-code::

        K <- arms drawn so far
        if K < t^(beta / 2) if beta < 1 else K < t^(beta / (beta + 1)): draw and play a new arm
        E <- 2 log(10 log t)
        else a_t <- argmax_a mean[a] + sqrt(2 var[a] E / n[a]) + 3 B E / n[a]

    Reference: [@wang2009algorithms], for the case in which the best mean is below the upper bound
    of the rewards. E is the smallest exploration sequence that the paper allows. The rule and the
    index agree with a second, independent implementation.

    Deviations from the paper: rewards need not lie in [0, 1]. Instead of the range of the rewards,
    B is 2 sigma, because rewards in an interval of width 2 sigma are sigma-sub-Gaussian. Arms are
    drawn without replacement, from a finite set or from ``box_arms`` evenly spread points of a box.
    The time t in the rules is the number of rewards.

    Args:
        beta: Rarity of good arms: a random arm is within eps of the best with
            probability ~ eps^beta. The default is d / 2 for a box and 1 for a finite set.
        scale: Standard deviation sigma of the noise. The default is the problem's ``noise_std`` or,
            if that is unknown or 0, the standard deviation of the rewards so far.
        box_arms: Number of points of a box from which arms are drawn.
    """

    name = "ucb-air"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        beta: float | None = None,
        scale: float | None = None,
        box_arms: int = 1000,
    ) -> None:
        self._beta = rarity(problem, beta)
        super().__init__(problem, rng, scale=scale, box_arms=box_arms)

    def start(self) -> None:
        """Draw the order of the arms, and reset counts, means and sums of squares."""
        self._order = self._rng.permutation(self.n_arms)
        self._count, self._mean = np.zeros(self.n_arms), np.zeros(self.n_arms)
        self._squares = np.zeros(self.n_arms)

    def choose(self, t: float, observation: Array) -> int:
        """Return a new arm, or the drawn arm with the greatest bound."""
        drawn = np.flatnonzero(self._count)
        n = float(self._count.sum()) + 1.0
        power = self._beta / 2.0 if self._beta < 1.0 else self._beta / (self._beta + 1.0)
        if len(drawn) < min(n**power, self.n_arms) or not len(drawn):
            return int(self._order[np.flatnonzero(self._count[self._order] == 0)[0]])
        count = self._count[drawn]
        explore = 2.0 * math.log(10.0 * math.log(n))
        spread = np.sqrt(2.0 * self._squares[drawn] / count * explore / count)
        bound = self._mean[drawn] + spread + 3.0 * self.scale.width * explore / count
        return int(drawn[self.best_of(bound)])

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Update the mean and the variance of the arm.

        The order and the delay of rewards do not matter.
        """
        self._count[arm] += 1
        step = reward - self._mean[arm]
        self._mean[arm] += step / self._count[arm]
        self._squares[arm] += step * (reward - self._mean[arm])
