"""The belief of auto-gp-ucb: a scale of the rewards, and structures weighed by evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from agents.arrays import Rng
from agents.auto.exploration import Learnable
from agents.auto.history import History, Offset
from agents.auto.structures import Structure
from agents.auto.transform import RewardTransform
from agents.gp import (
    UCB,
    Array,
    Finite,
    Mixture,
    Posterior,
    Prediction,
    Predictive,
    argmax,
    upper_bound,
)

MIN_WEIGHT = 1e-3
"""Structures less probable than this are dropped: they cost as much as the rest."""


@dataclass(frozen=True)
class Belief:
    """A belief about rewards.

    Attributes:
        scale: Of the rewards; None while there is none.
        posterior: Of several structures, on that scale.
        names: Of the structures.
        offset: Prior mean of all arms at a time, on that scale; None if it is 0.
        looks_ahead: Whether only what can be learned for later is worth exploring.
        choices: Log probability of past choices, as far as it is not in the posterior's evidence.
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
        """A mixture of structures, each believed beforehand as much as it says."""
        weights = np.array([each.weight for each in structures])
        return cls(scale, Mixture(members, weights), tuple(each.name for each in structures))

    @property
    def simplest(self) -> Posterior:
        """The mixture, or its only member."""
        members = self.posterior.members
        return self.posterior if len(members) > 1 else members[0]

    def acquisition(self, view: Predictive, rng: Rng) -> UCB | OffsetUCB:
        """Upper confidence bounds of a view of the posterior, around the offset."""
        if self.looks_ahead and isinstance(view.actions, Finite):
            view = Learnable(self.simplest)
        return UCB(view, rng) if self.offset is None else OffsetUCB(view, rng, self.offset)

    def evidence(self, history: History) -> float:
        """Log density of past choices and of the rewards in their own unit, whatever the scale."""
        scale = self.scale or RewardTransform()
        return self.posterior.log_evidence + scale.log_slope(history.reward) + self.choices

    def observe(self, action: Any, t: float, reward: float) -> None:
        """Take in a reward; without a scale, only where an action was taken."""
        y = 0.0 if self.scale is None else float(self.scale.forward(reward))
        if self.offset is not None:
            y -= float(self.offset(t)[action])
        self.posterior.observe(action, t, y)

    def rewards(self, prediction: Prediction, t: float, arms: Any) -> tuple[Array, Array]:
        """Median and spread of the reward, from a prediction for some arms at time t."""
        mean, half = prediction.mean, 0.5 * np.sqrt(prediction.variance)
        if self.offset is not None:
            offset = self.offset(t)
            mean = mean + (offset if arms is None else offset[np.atleast_1d(arms)])
        scale = self.scale or RewardTransform()
        return scale.backward(mean), scale.backward(mean + half) - scale.backward(mean - half)

    def pruned(self) -> Belief:
        """Without the structures that are improbable."""
        mixture = self.posterior
        keep = np.flatnonzero(mixture.weights > MIN_WEIGHT).tolist()
        if len(keep) == len(mixture.members):
            return self
        left = Mixture.revived([mixture.members[i] for i in keep], mixture.log_prior[keep])
        return replace(self, posterior=left, names=tuple(self.names[i] for i in keep))


class OffsetUCB:
    """Upper confidence bounds of arms whose prior mean is not 0."""

    def __init__(self, view: Predictive, rng: Rng, offset: Offset) -> None:
        self._view, self._rng, self._offset = view, rng, offset

    def choose(self, t: float, beta: float) -> int:
        """The arm to take at time t."""
        return argmax(upper_bound(self._view.predict(t), beta) + self._offset(t), self._rng)
