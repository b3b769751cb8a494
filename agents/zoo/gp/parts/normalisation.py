"""The scale of the rewards: given, known, of the warm start, or of the first rewards."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from agents.base import Problem
from agents.checks import number
from agents.gp import Array, Normaliser, Prediction
from agents.state import Stateful

SCALE_SETTING_REWARDS = 10
"""Rewards that set the scale, where nothing is known about it beforehand."""
PAPER_NOISE_VARIANCE = 0.5
"""The paper's sigma^2 on rewards of unit scale, for problems whose noise is not known."""
LEAST_NOISE_VARIANCE = 1e-6
"""A noiseless world still needs a positive variance to invert."""


class Observed(NamedTuple):
    """An action as a posterior knows it, the time it was chosen for, and its reward."""

    action: Any
    t: float
    reward: float


class RewardNormalisation(Stateful):
    """Brings rewards to the scale of the prior, mean 0 and variance 1, once and for all.

    While there is no scale, rewards are kept until there are enough of them to set it.

    Args:
        normaliser: The scale, if it is given or known; None if rewards have to set it.
    """

    def __init__(self, normaliser: Normaliser | None = None) -> None:
        self.normaliser = normaliser
        self._history: list[Observed] = []

    @classmethod
    def of(
        cls, problem: Problem, mean: float | None = None, scale: float | None = None
    ) -> RewardNormalisation:
        """By a mean and a scale if given, else by the warm start, else by what the problem says."""
        if (mean is None) != (scale is None):
            raise ValueError("prior_mean and prior_scale are given together or not at all")
        if mean is not None and scale is not None:
            return cls(Normaliser(number("prior_mean", mean), number("prior_scale", scale)))
        past = problem.warm_start
        if past is not None and np.isfinite(past.reward).any():
            return cls(Normaliser.of(past.reward[np.isfinite(past.reward)]))
        return cls(None if problem.reward_scale is None else Normaliser(*problem.reward_scale))

    def keep(self, action: Any, t: float, reward: float) -> bool:
        """Keep a reward that has no scale yet; whether there are enough now to set it."""
        self._history.append(Observed(action, t, reward))
        if len(self._history) < SCALE_SETTING_REWARDS:
            return False
        self.normaliser = Normaliser.of([past.reward for past in self._history])
        return True

    def release(self) -> list[Observed]:
        """All rewards that were kept, in the order in which they came; they are kept no longer."""
        history, self._history = self._history, []
        return history

    def forward(self, reward: float) -> float:
        """A reward on the scale of the prior."""
        assert self.normaliser is not None
        return float(self.normaliser.forward(reward))

    def backward(self, prediction: Prediction) -> tuple[Array, Array]:
        """Mean and standard deviation in units of the reward; of the prior if there is no scale."""
        scale = self.normaliser or Normaliser()
        return scale.backward(prediction.mean), scale.scale * np.sqrt(prediction.variance)

    def noise_variance(self, noise_std: float | None, given: float | None) -> float:
        """The variance of the noise on the scale of the prior: as given, or as the problem says."""
        if given is not None:
            return number("noise_variance", given)
        if noise_std is None or self.normaliser is None:
            return PAPER_NOISE_VARIANCE
        return max((noise_std / self.normaliser.scale) ** 2, LEAST_NOISE_VARIANCE)

    def state(self) -> dict[str, Any]:
        """The scale, and the rewards that wait for one."""
        scale = self.normaliser
        return {
            "normaliser": None if scale is None else [scale.mean, scale.scale],
            "history": [[np.asarray(a).tolist(), t, r] for a, t, r in self._history],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put ``state()`` back."""
        scale = state["normaliser"]
        self.normaliser = None if scale is None else Normaliser(*scale)
        self._history = [
            Observed(np.array(action) if isinstance(action, list) else action, t, reward)
            for action, t, reward in state["history"]
        ]
