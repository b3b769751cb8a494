"""MABWiser: contextual bandits with the manners of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.checks import not_negative, positive
from periodic_gp_peers.peer import Peer


class _Linear(Peer):
    """A ridge regression for every arm. Scores are asked for, and ties broken at random.

    MABWiser's own ``predict`` takes the first of equal arms, which favours low numbers.

    Args:
        alpha: How widely to explore, in deviations of the mean, which is the library's name for it.
        common: Arguments of :class:`Peer`.
    """

    extra = "mabwiser"
    libraries = ("mabwiser",)

    def __init__(self, problem: Any, rng: Any, *, alpha: float = 1.0, **common: Any) -> None:
        self.alpha = self.checked("alpha", alpha)
        super().__init__(problem, rng, **common)

    def checked(self, name: str, value: Any) -> float:
        """A width: what the library allows."""
        return not_negative(name, value)

    def policy(self, policies: Any) -> Any:
        """The rule by which arms are compared."""
        raise NotImplementedError

    def start(self) -> None:
        """The bandit, without any data yet."""
        mab = self.library("mabwiser.mab")
        arms = list(range(self.n_arms))
        self._mab = mab.MAB(arms, self.policy(mab.LearningPolicy), seed=self.seed())
        self._fitted = False

    def choose(self, t: float) -> int:
        """The best by what is expected; any before the first reward, which makes the models."""
        if not self._fitted:
            return int(self.rng.integers(self.n_arms))
        expected = self._mab.predict_expectations([self.context(t).tolist()])
        return self.best_of(np.array([expected[arm] for arm in range(self.n_arms)]))

    def learn(self, t: float, arm: int, reward: float) -> None:
        """``fit`` makes the models, ``partial_fit`` adds to them."""
        learn = self._mab.partial_fit if self._fitted else self._mab.fit
        learn([arm], [reward], [self.context(t).tolist()])
        self._fitted = True


class MABWiserLinUCB(_Linear):
    """LinUCB of MABWiser, with its own alpha = 1 and l2_lambda = 1."""

    def policy(self, policies: Any) -> Any:
        """Mean and alpha deviations of it."""
        return policies.LinUCB(alpha=self.alpha)


class MABWiserLinTS(_Linear):
    """Linear Thompson sampling of MABWiser, with its own alpha = 1 and l2_lambda = 1."""

    def checked(self, name: str, value: Any) -> float:
        """Return the scale of draws, which must be positive in this library."""
        return positive(name, value)

    def policy(self, policies: Any) -> Any:
        """A draw of the coefficients."""
        return policies.LinTS(alpha=self.alpha)
