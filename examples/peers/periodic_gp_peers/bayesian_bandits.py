"""bayesianbandits: conjugate models behind Thompson sampling and upper quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.checks import share, share_or_one
from periodic_gp_peers.peer import Peer


class _Conjugate(Peer):
    """A linear regression with unknown noise for every arm, which may forget.

    Args:
        decay: What is left of old evidence after a step, 1 for all of it; at each step of the
            clock all arms forget, as the library recommends for rewards that change.
        common: Arguments of :class:`Peer`.
    """

    extra = "bayesianbandits"
    libraries = ("bayesianbandits",)

    def __init__(self, problem: Any, rng: Any, *, decay: float = 1.0, **common: Any) -> None:
        self._decay, self._now = share_or_one("decay", decay), None
        super().__init__(problem, rng, **common)

    def policy(self, library: Any) -> Any:
        """The rule by which arms are compared."""
        raise NotImplementedError

    def start(self) -> None:
        """Arms with the library's priors."""
        library = self.library("bayesianbandits")
        arms = [
            library.Arm(arm, learner=library.NormalInverseGammaRegressor())
            for arm in range(self.n_arms)
        ]
        self._agent = library.ContextualAgent(arms, self.policy(library), random_seed=self.seed())

    def choose(self, t: float) -> int:
        """Return the library's choice, drawn again so that equal arms are equally likely."""
        self._forget_until(t)
        return self._agent.pull(self.context(t)[None])[0]

    def learn(self, t: float, arm: int, reward: float) -> None:
        """Late rewards count as new ones: the library knows the time by ``decay`` alone."""
        self._forget_until(t)
        self._agent.select_for_update(arm).update(self.context(t)[None], np.array([reward]))

    def _forget_until(self, t: float) -> None:
        if self._decay < 1.0 and self._now is not None and t > self._now:
            self._agent.decay(decay_rate=self._decay, steps=t - self._now)
        self._now = t if self._now is None else max(t, self._now)


class BayesianBanditsUCB(_Conjugate):
    """Upper quantiles of bayesianbandits, at its own 0.68 of a thousand draws.

    Args:
        alpha: The quantile, which is the library's name for it.
        common: Arguments of every agent of this library.
    """

    def __init__(self, problem: Any, rng: Any, *, alpha: float = 0.68, **common: Any) -> None:
        self._alpha = share("alpha", alpha)
        super().__init__(problem, rng, **common)

    def policy(self, library: Any) -> Any:
        """A quantile of the mean reward."""
        return library.UpperConfidenceBound(alpha=self._alpha)


class BayesianBanditsThompson(_Conjugate):
    """Thompson sampling of bayesianbandits."""

    def policy(self, library: Any) -> Any:
        """One draw of the mean reward."""
        return library.ThompsonSampling()
