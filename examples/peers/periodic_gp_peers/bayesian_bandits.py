"""Agents of bayesianbandits: conjugate models with Thompson sampling or upper quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.checks import share, share_or_one
from periodic_gp_peers.peer import Peer


class _Conjugate(Peer):
    """Base class of agents with a linear regression with unknown noise for every arm.

    Args:
        decay: Share of the evidence that is kept after each time step; 1 keeps all evidence. The
            evidence on all arms is discounted at every time step, as the library recommends for
            rewards that change.
        common: Arguments of :class:`Peer`.
    """

    extra = "bayesianbandits"
    libraries = ("bayesianbandits",)

    def __init__(self, problem: Any, rng: Any, *, decay: float = 1.0, **common: Any) -> None:
        self._decay, self._now = share_or_one("decay", decay), None
        super().__init__(problem, rng, **common)

    def policy(self, library: Any) -> Any:
        """Return the library's rule by which arms are compared."""
        raise NotImplementedError

    def start(self) -> None:
        """Create the arms with the library's priors."""
        library = self.library("bayesianbandits")
        arms = [
            library.Arm(arm, learner=library.NormalInverseGammaRegressor())
            for arm in range(self.n_arms)
        ]
        self._agent = library.ContextualAgent(arms, self.policy(library), random_seed=self.seed())

    def choose(self, t: float) -> int:
        """Return the arm that the library chooses for time t, after discounting old evidence."""
        self._forget_until(t)
        return self._agent.pull(self.context(t)[None])[0]

    def learn(self, t: float, arm: int, reward: float) -> None:
        """Update the arm's regression; the library does not discount a late reward for its age."""
        self._forget_until(t)
        self._agent.select_for_update(arm).update(self.context(t)[None], np.array([reward]))

    def _forget_until(self, t: float) -> None:
        if self._decay < 1.0 and self._now is not None and t > self._now:
            self._agent.decay(decay_rate=self._decay, steps=t - self._now)
        self._now = t if self._now is None else max(t, self._now)


class BayesianBanditsUCB(_Conjugate):
    """Agent of bayesianbandits that compares quantiles of a thousand draws.

    Args:
        alpha: Quantile of the mean reward that is compared; the library has the same name and
            default.
        common: Arguments of all agents of this library.
    """

    def __init__(self, problem: Any, rng: Any, *, alpha: float = 0.68, **common: Any) -> None:
        self._alpha = share("alpha", alpha)
        super().__init__(problem, rng, **common)

    def policy(self, library: Any) -> Any:
        """Return the rule that compares quantiles of the mean rewards."""
        return library.UpperConfidenceBound(alpha=self._alpha)


class BayesianBanditsThompson(_Conjugate):
    """Agent of bayesianbandits with Thompson sampling."""

    def policy(self, library: Any) -> Any:
        """Return the rule that compares one draw of each mean reward."""
        return library.ThompsonSampling()
