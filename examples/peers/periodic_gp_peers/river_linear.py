"""river: online machine learning in Python."""

from __future__ import annotations

from typing import Any

from agents.checks import positive
from periodic_gp_peers.peer import Peer


class RiverLinUCB(Peer):
    """LinUCB of river: a Bayesian linear regression for every arm, at river's defaults.

    ``bandit.LinUCBDisjoint`` compares the mean plus one deviation of the next reward, and breaks
    ties at random. It has no width, but one deviation is as much as its two precisions say: with
    both of them 1 / w^2 the mean is the same, and the deviation w times as large.

    Args:
        alpha: Precision of the coefficients beforehand, which is the library's name for it.
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
        """The policy, with a seed of its own."""
        bandit = self.library("river.bandit")
        self._policy = bandit.LinUCBDisjoint(**self._precisions, seed=self.seed())
        self._arms = list(range(self.n_arms))

    def choose(self, t: float) -> int:
        """The policy's choice."""
        return self._policy.pull(self._arms, context=self._named(t))

    def learn(self, t: float, arm: int, reward: float) -> None:
        """A step of the arm's regression."""
        self._policy.update(arm, self._named(t), reward)

    def _named(self, t: float) -> dict[int, float]:
        return dict(enumerate(self.context(t).tolist()))
