"""Between the problem and the kernel: actions, contexts, and rewards that get a scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from agents.base import Problem
from agents.checks import number
from agents.gp import (
    Actions,
    Array,
    Box,
    Finite,
    InContext,
    InThisContext,
    Normaliser,
    Posterior,
    Prediction,
    Predictive,
)
from agents.state import Stateful

NO_CONTEXT = ("t", "cos_phase", "sin_phase")
"""Entries of an observation that say what time it is."""
NOTHING_SHOWN = np.empty(0)
"""The context of an observation that shows none."""
SCALE_SETTING_REWARDS = 10
"""Rewards that set the scale, where nothing is known about it beforehand."""
PAPER_NOISE_VARIANCE = 0.5
"""The paper's sigma^2 on rewards of unit scale, for problems whose noise is not known."""
LEAST_NOISE_VARIANCE = 1e-6
"""A noiseless world still needs a positive variance to invert."""


@dataclass(frozen=True)
class ActionSpaceMap:
    """Arms are the same on both sides; a box is [-1, 1] outside and as wide as it is inside.

    Attributes:
        problem: Says which actions there are.
    """

    problem: Problem

    def from_space(self, action: Any) -> Any:
        """From the action space to the coordinates of the kernel: one action, or several."""
        if self.problem.n_actions is not None:
            return action
        return np.asarray(action, dtype=np.float64) * self.problem.action_half_width

    def to_space(self, action: Any) -> Any:
        """From the coordinates of the kernel to an action that can be taken."""
        if self.problem.n_actions is not None:
            return int(action)
        scaled = np.asarray(action) / self.problem.action_half_width
        return np.clip(scaled, -1.0, 1.0).astype(np.float32)

    def asked(self, actions: Any) -> Any:
        """The actions of a question, in the coordinates of the kernel; None means all arms."""
        if actions is not None:
            return self.from_space(actions)
        if self.problem.n_actions is None:
            raise ValueError("actions must be given for a box: an array (q, d) in [-1, 1]")
        return None


def context_columns(problem: Problem) -> tuple[int, ...]:
    """Which entries of an observation are a context: neither time nor phase."""
    fields = problem.observation_fields
    return tuple(i for i, name in enumerate(fields) if name not in NO_CONTEXT)


class ContextView(Stateful):
    """Reads contexts, places actions in them, and shows a posterior in the current one.

    Args:
        actions: The actions alone.
        columns: Entries of an observation that are its context.
        dimension: Length of a context that does not stand in observations; by default as many
            entries as there are columns. Without any the view changes nothing.

    Attributes:
        actions: The actions as a posterior has to know them: with contexts, if there are any.
    """

    kept = ("_context",)

    def __init__(
        self, actions: Finite | Box, columns: Sequence[int] = (), dimension: int | None = None
    ) -> None:
        self.columns = list(columns)
        length = len(self.columns) if dimension is None else dimension
        self.actions: Actions = InContext(actions, length) if length else actions
        self._context = np.zeros(length)
        self._view: InThisContext | None = None

    def __bool__(self) -> bool:
        return isinstance(self.actions, InContext)

    def read(self, observation: Array) -> Array:
        """The context that an observation shows, or an error if nothing can be known in it."""
        if not self.columns:
            return NOTHING_SHOWN
        context = np.array(observation, dtype=np.float64)[self.columns]
        if not np.isfinite(context).all():
            raise ValueError(f"a context must be finite, got {context}")
        return context

    def place(self, action: Any, context: Array) -> Any:
        """An action in a context, as a posterior knows it."""
        if isinstance(self.actions, InContext):
            return self.actions.joined(action, context)[0]
        return action

    def show(self, posterior: Posterior) -> Predictive:
        """A posterior as an acquisition sees it: over the actions alone, in the current context."""
        if not self:
            return posterior
        self._view = InThisContext(posterior)
        self._view.context = self._context
        return self._view

    def enter(self, context: Array) -> None:
        """Show posteriors in this context from now on."""
        self._context = context
        if self._view is not None:
            self._view.context = context


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
