"""Thompson sampling for stationary rewards."""

from __future__ import annotations

from agents.arrays import Array
from agents.zoo.arms.arm_agent import ArmAgent
from agents.zoo.arms.rewards import Means


class Thompson(ArmAgent):
    """Gaussian Thompson sampling: each arm as often as it may be the best.

    Pseudo-code::

        try every arm once
        m[a] ~ N(mean[a], sigma^2 / n[a]) for every arm
        a_t <- argmax_a m[a]

    Reference: [@agrawal2013further], [@russo2018tutorial]; the posterior of a Gaussian reward of
    known variance under a flat prior.

    Deviations from the paper: Agrawal and Goyal draw from N(mean, 1 / (n + 1)) for rewards in [0,
    1]; here every arm is tried once instead, and the variance is that of the noise: the problem's,
    or that of the rewards so far.

    Args: those of :class:`ArmAgent`.
    """

    name = "thompson"

    def start(self) -> None:
        """Begin without any rewards."""
        self._means = Means(self.n_arms)

    def choose(self, t: float, observation: Array) -> int:
        """Return an untried arm, or the best of one draw."""
        return self.best_draw(self._means, self.scale.sigma)

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Add to the arm's mean; order and delay do not matter."""
        self._means.add(arm, reward)
