"""Agent of river, a library for online machine learning in Python."""

from __future__ import annotations

from typing import Any

from agents.checks import positive
from periodic_gp_peers.peer import Peer


class RiverLinUCB(Peer):
    """LinUCB of river: a Bayesian linear regression for every arm, with river's defaults.

    ``bandit.LinUCBDisjoint`` compares the means plus one standard deviation of the next reward, and
    breaks ties at random. It has no setting for the width, but the two precisions scale the
    standard deviation: if both are 1 / w^2, the mean is unchanged and the standard deviation is
    multiplied by w.

    Args:
        alpha: Prior precision of the coefficients; the library uses the same name.
        beta: Precision of a reward.
        common: Arguments of :class:`Peer`.
    """

    extra = "river"
    libraries = ("river",)

    def __init__(
        self, problem: Any, rng: Any, *, alpha: float = 1.0, beta: float = 1.0, **common: Any
    ) -> None:
        self._precisions = {"alpha": positive("alpha", alpha), "beta": positive("beta", beta)}
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Create the policy, with a seed drawn from the agent's generator."""
        bandit = self.library("river.bandit")
        self._policy = bandit.LinUCBDisjoint(**self._precisions, seed=self.seed())
        self._arms = list(range(self.n_arms))

    def choose(self, t: float) -> int:
        """Return the arm that the policy chooses at time t."""
        return self._policy.pull(self._arms, context=self._named(t))

    def learn(self, t: float, arm: int, reward: float) -> None:
        """Update the arm's regression with a reward."""
        self._policy.update(arm, self._named(t), reward)

    def _named(self, t: float) -> dict[int, float]:
        return dict(enumerate(self.context(t).tolist()))
