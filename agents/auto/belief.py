"""Belief of auto-gp-ucb: a scale of the rewards, and structures weighted by evidence.

f(a, t) = sum_i f_i(a, t) has one part for each term of the kernel. Some parts last (a level, a
season), some vanish within a few steps (persistence), and some matter for a few steps of every
season only (its sharp part). All contribute to the uncertainty of the current reward, but exploring
a part pays only as long as the part lasts. The bonus of the upper confidence bound is therefore
computed on

    sum_i w_i f_i(a, t),      w_i = rho^LOOKAHEAD for a term that forgets at rate rho per step,
                              SHARP_WORTH for the sharp part of a season, 1 for all else,

under the joint posterior of all terms. Without the weights, an arm that is not visited would keep
the full variance of its shocks in its bonus, and exploration would never end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from agents.arrays import Rng
from agents.auto.history import History, Offset
from agents.auto.structures import SMOOTH_HARMONICS, Structure
from agents.auto.transform import RewardTransform
from agents.gp import (
    UCB,
    Actions,
    Array,
    Decay,
    Finite,
    Gradient,
    Harmonics,
    Kernel,
    Mixture,
    Posterior,
    Prediction,
    Predictive,
    StateSpace,
    Term,
    argmax,
    upper_bound,
)

LOOKAHEAD = 6.0
"""Steps after which information should still be useful."""
SHARP_WORTH = 0.75
"""Worth of the sharp part of a season: it helps at a few steps of each season only."""
NEGLIGIBLE = 1e-6
"""Weight below which a candidate is left out of predictions."""


def worth(term: Term) -> float:
    """Return w_i of a term."""
    total = 1.0
    for clock in term.clocks:
        if isinstance(clock, Decay):
            total *= float(np.exp(LOOKAHEAD * clock.log_rho))
        elif isinstance(clock, Harmonics) and clock.lowest > SMOOTH_HARMONICS[1]:
            total *= SHARP_WORTH
    return total


class Learnable:
    """Posterior of finitely many arms with variances that are weighted by w_i.

    Engines without a state cannot separate terms; their variances are unchanged.
    """

    def __init__(self, posterior: Posterior) -> None:
        self._posterior = posterior
        self._worths: dict[StateSpace, Array] = {}

    @property
    def kernel(self) -> Kernel:
        """The prior covariance."""
        return self._posterior.kernel

    @property
    def actions(self) -> Actions:
        """The actions to choose from."""
        return self._posterior.actions

    def predict(self, t: float, actions: Any = None) -> Prediction:
        """Return the mean of f(., t), and the variance weighted by w_i."""
        return self._predict(self._posterior, t, actions)

    def gradient(self, t: float, actions: Any) -> Gradient:
        """Return the gradient of the posterior."""
        return self._posterior.gradient(t, actions)

    def sample(self, t: float, rng: Rng, actions: Any = None) -> Array:
        """Return a draw from the posterior."""
        return self._posterior.sample(t, rng, actions)

    def contenders(self, t: float, beta: float) -> None:
        """Return None: predictions for all arms are needed."""
        return None

    def _predict(self, posterior: Posterior, t: float, actions: Any) -> Prediction:
        if isinstance(posterior, Mixture):
            return self._mixed(posterior, t, actions)
        if not isinstance(posterior, StateSpace):
            return posterior.predict(t, actions)
        now, phi = posterior.now(t), posterior.phi(actions)
        part = phi * self._worth(posterior)
        variance = np.einsum("qi,qi->q", part @ now.covariance, part)
        return Prediction(phi @ now.mean, np.maximum(variance, 0.0))

    def _mixed(self, mixture: Mixture, t: float, actions: Any) -> Prediction:
        """Return moments of the mixture, including the disagreement between candidates."""
        keep = np.flatnonzero(mixture.weights > NEGLIGIBLE)
        weights = mixture.weights[keep] / mixture.weights[keep].sum()
        parts = [self._predict(mixture.members[i], t, actions) for i in keep]
        if len(parts) == 1:
            return parts[0]
        mean, variance = (np.stack(column) for column in zip(*parts, strict=True))
        middle = weights @ mean
        return Prediction(middle, weights @ (variance + (mean - middle) ** 2))

    def _worth(self, posterior: StateSpace) -> Array:
        """Return w_i for each column of the action features."""
        if posterior not in self._worths:
            sizes = [len(basis.weight) for basis in posterior.features.bases]
            worths = [worth(term) for term in posterior.kernel.terms]
            self._worths[posterior] = np.repeat(worths, sizes)
        return self._worths[posterior]


MIN_WEIGHT = 1e-3
"""Probability below which a structure is dropped."""


@dataclass(frozen=True)
class Belief:
    """Belief about rewards.

    Attributes:
        scale: Scale of the rewards; None until it is known.
        posterior: Mixture of structures, on that scale.
        names: Names of the structures.
        offset: Prior mean of all arms at a time, on that scale; None for 0.
        looks_ahead: True if the bonus uses variances weighted by w_i.
        choices: Log probability of past choices that is not in the posterior's evidence.
    """

    scale: RewardTransform | None
    posterior: Mixture
    names: tuple[str, ...]
    offset: Offset | None = None
    looks_ahead: bool = False
    choices: float = 0.0

    @classmethod
    def of(
        cls, scale: RewardTransform | None, structures: list[Structure], members: list[Posterior]
    ) -> Belief:
        """Return a mixture of structures with their prior weights."""
        weights = np.array([s.weight for s in structures])
        return cls(scale, Mixture(members, weights), tuple(s.name for s in structures))

    @property
    def simplest(self) -> Posterior:
        """Mixture, or its only member."""
        members = self.posterior.members
        return self.posterior if len(members) > 1 else members[0]

    def acquisition(self, view: Predictive, rng: Rng) -> UCB | OffsetUCB:
        """Return the acquisition for a view of the posterior, with the offset."""
        if self.looks_ahead and isinstance(view.actions, Finite):
            view = Learnable(self.simplest)
        return UCB(view, rng) if self.offset is None else OffsetUCB(view, rng, self.offset)

    def evidence(self, history: History) -> float:
        """Return the log density of past choices and of the rewards in their original unit."""
        scale = self.scale or RewardTransform()
        return self.posterior.log_evidence + scale.log_slope(history.reward) + self.choices

    def observe(self, action: Any, t: float, reward: float) -> None:
        """Learn from a reward; without a scale, only from the place of the action."""
        y = 0.0 if self.scale is None else float(self.scale.forward(reward))
        if self.offset is not None:
            y -= float(self.offset(t)[action])
        self.posterior.observe(action, t, y)

    def rewards(self, prediction: Prediction, t: float, arms: Any) -> tuple[Array, Array]:
        """Return the median and spread of the reward, from a prediction for some arms at time t."""
        mean, half = prediction.mean, 0.5 * np.sqrt(prediction.variance)
        if self.offset is not None:
            offset = self.offset(t)
            mean = mean + (offset if arms is None else offset[np.atleast_1d(arms)])
        scale = self.scale or RewardTransform()
        return scale.backward(mean), scale.backward(mean + half) - scale.backward(mean - half)

    def pruned(self) -> Belief:
        """Return the belief without improbable structures."""
        mixture = self.posterior
        keep = np.flatnonzero(mixture.weights > MIN_WEIGHT).tolist()
        if len(keep) == len(mixture.members):
            return self
        remaining = Mixture.revived([mixture.members[i] for i in keep], mixture.log_prior[keep])
        return replace(self, posterior=remaining, names=tuple(self.names[i] for i in keep))


class OffsetUCB:
    """Upper confidence bounds of arms with a prior mean other than 0."""

    def __init__(self, view: Predictive, rng: Rng, offset: Offset) -> None:
        self._view, self._rng, self._offset = view, rng, offset

    def choose(self, t: float, beta: float) -> int:
        """Return the arm to take at time t."""
        return argmax(upper_bound(self._view.predict(t), beta) + self._offset(t), self._rng)
