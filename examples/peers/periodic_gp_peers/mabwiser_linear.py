"""Agents of MABWiser: contextual bandits in the style of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.checks import not_negative, positive
from periodic_gp_peers.peer import Peer


class _Linear(Peer):
    """Base class of agents with a ridge regression for every arm.

    The agent requests the scores of the arms and breaks ties at random, since ``predict`` of
    MABWiser returns the first of several equal arms, which favours low numbers.

    Args:
        alpha: Width of exploration in standard deviations of the mean; the library uses the same
            name.
        common: Arguments of :class:`Peer`.
    """

    extra = "mabwiser"
    libraries = ("mabwiser",)

    def __init__(self, problem: Any, rng: Any, *, alpha: float = 1.0, **common: Any) -> None:
        self.alpha = self.checked("alpha", alpha)
        super().__init__(problem, rng, **common)

    def checked(self, name: str, value: Any) -> float:
        """Return the width after checking that the library allows it."""
        return not_negative(name, value)

    def policy(self, policies: Any) -> Any:
        """Return the library's rule by which arms are compared."""
        raise NotImplementedError

    def start(self) -> None:
        """Create the bandit, without data."""
        mab = self.library("mabwiser.mab")
        arms = list(range(self.n_arms))
        self._mab = mab.MAB(arms, self.policy(mab.LearningPolicy), seed=self.seed())
        self._fitted = False

    def choose(self, t: float) -> int:
        """Return the arm with the highest score; a random arm before the first reward."""
        if not self._fitted:
            return int(self.rng.integers(self.n_arms))
        expected = self._mab.predict_expectations([self.context(t).tolist()])
        return self.best_of(np.array([expected[arm] for arm in range(self.n_arms)]))

    def learn(self, t: float, arm: int, reward: float) -> None:
        """Create the models from the first reward (``fit``), then update them (``partial_fit``)."""
        learn = self._mab.partial_fit if self._fitted else self._mab.fit
        learn([arm], [reward], [self.context(t).tolist()])
        self._fitted = True


class MABWiserLinUCB(_Linear):
    """LinUCB of MABWiser, with the library's defaults alpha = 1 and l2_lambda = 1."""

    def policy(self, policies: Any) -> Any:
        """Return the rule that compares the means plus alpha standard deviations."""
        return policies.LinUCB(alpha=self.alpha)


class MABWiserLinTS(_Linear):
    """Linear Thompson sampling of MABWiser, with its defaults alpha = 1 and l2_lambda = 1."""

    def checked(self, name: str, value: Any) -> float:
        """Return the scale of draws after checking that it is positive, as the library requires."""
        return positive(name, value)

    def policy(self, policies: Any) -> Any:
        """Return the rule that compares draws of the coefficients."""
        return policies.LinTS(alpha=self.alpha)
