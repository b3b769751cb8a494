"""Agent of LightGBM: boosted trees, with Thompson sampling by the bootstrap."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.checks import whole
from periodic_gp_peers.peer import Array, Peer

FIRST_FIT = 10
"""Number of rewards before the first trees are trained; equal to the default of ``first_pulls``."""


class LightGBMThompson(Peer):
    """Bootstrapped Thompson sampling on boosted trees of LightGBM; one of five models decides.

    Each model is trained on the rewards so far, resampled with replacement. The models are trained
    after ten rewards, and again after every ``refit_every`` further rewards. Settings are the
    defaults of LightGBM, except for two that must suit few rewards: the minimum number of rewards
    is ``leaf`` in a leaf (instead of 20) and 1 in a bin (instead of 3).

    Args:
        models: Number of models.
        refit_every: Number of rewards after which all models are trained again.
        leaf: Minimum number of rewards in a leaf.
        common: Arguments of :class:`Peer`.
    """

    extra = "lightgbm"
    libraries = ("lightgbm",)

    def __init__(
        self,
        problem: Any,
        rng: Any,
        *,
        models: int = 5,
        refit_every: int = 20,
        leaf: int = 5,
        **common: Any,
    ) -> None:
        self._size, self._every = whole("models", models), whole("refit_every", refit_every)
        self._leaf = whole("leaf", leaf)
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Import the library, and create empty lists of rewards and models."""
        self._lightgbm = self.library("lightgbm")
        self._arms, self._history, self._rewards = self.arm_features(), [], []
        self._models: list[Any] = []
        self._next_fit = FIRST_FIT

    def choose(self, t: float) -> int:
        """Return the best arm according to a random model; a random arm before there are models."""
        if not self._models:
            return int(self.rng.integers(self.n_arms))
        model = self._models[int(self.rng.integers(len(self._models)))]
        return self.best_of(model.predict(np.vstack([self._row(t, a) for a in self._arms])))

    def learn(self, t: float, arm: int, reward: float) -> None:
        """Store the reward, and train the models if they are due."""
        self._history.append(self._row(t, self._arms[arm]))
        self._rewards.append(reward)
        if len(self._rewards) >= self._next_fit:
            self._next_fit = len(self._rewards) + self._every
            self._models = [self._trained() for _ in range(self._size)]

    def _row(self, t: float, arm: Array) -> Array:
        return np.concatenate([arm, self.context(t)[1:]])

    def _trained(self) -> Any:
        drawn = self.rng.integers(len(self._rewards), size=len(self._rewards))
        data = self._lightgbm.Dataset(
            np.array(self._history)[drawn],
            np.array(self._rewards)[drawn],
            params={"min_data_in_bin": 1, "verbosity": -1},
        )
        words = {"num_threads": 1, "deterministic": True, "verbosity": -1, "seed": self.seed()}
        words |= {"min_data_in_leaf": self._leaf}
        return self._lightgbm.train(words, data)
