"""Thompson sampling for stationary rewards."""

from __future__ import annotations

from agents.arrays import Array
from agents.zoo.arms.arm_agent import ArmAgent
from agents.zoo.arms.rewards import Means


class Thompson(ArmAgent):
    """Gaussian Thompson sampling: each arm is chosen with the probability that it is the best.

    Pseudo-code::

        try every arm once
        m[a] ~ N(mean[a], sigma^2 / n[a]) for every arm
        a_t <- argmax_a m[a]

    Reference: [@agrawal2013further], [@russo2018tutorial]. The posterior is that of Gaussian
    rewards with known variance under a flat prior.

    Deviations from the paper: Agrawal and Goyal draw from N(mean, 1 / (n + 1)) for rewards in
    [0, 1]. Here, every arm is tried once before the first draw, so that n is positive. The variance
    of a draw is sigma^2 / n, where sigma^2 is the variance of the noise if the problem states it,
    otherwise the variance of the rewards so far.

    Args: the arguments of :class:`ArmAgent`.
    """

    name = "thompson"

    def start(self) -> None:
        """Create the statistics of the arms, without rewards."""
        self._means = Means(self.n_arms)

    def choose(self, t: float, observation: Array) -> int:
        """Return an untried arm, or the arm with the greatest draw."""
        return self.best_draw(self._means, self.scale.sigma)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Update the mean of the arm; the order and the delay of rewards do not matter."""
        self._means.add(arm, reward)
