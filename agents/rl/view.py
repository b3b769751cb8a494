"""Inputs of networks: scaled observations and rewards."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from agents.arrays import Array
from agents.base import Problem

MAX_SCALED_REWARD = 5.0
"""Limit at which scaled rewards are clipped, in standard deviations from their mean."""


class View:
    """Observations (time, phase, context) scaled to [-1, 1].

    With memory, the last action (one-hot for arms) and its reward are appended, since an agent that
    learns to learn needs both. Before the first reward, both are 0.

    Args:
        problem: Problem with the bounds of the observations.
        memory: Append the last action and its reward.
    """

    def __init__(self, problem: Problem, *, memory: bool) -> None:
        space = problem.observation_space
        low, high = (np.asarray(bound, np.float64) for bound in (space.low, space.high))
        bounded = np.isfinite(low) & np.isfinite(high) & (high > low)
        self._middle = np.where(bounded, (low + high) / 2, 0.0)
        self._half = np.where(bounded, (high - low) / 2, 1.0)
        self._n_actions, self._memory = problem.n_actions, memory
        self._remembered = (problem.n_actions or problem.dim) + 1
        self.size = len(low) + (self._remembered if memory else 0)

    @property
    def space(self) -> spaces.Box:
        """Space of the inputs, with wide bounds: after the last step, time slightly exceeds 1."""
        return spaces.Box(
            -2 * MAX_SCALED_REWARD, 2 * MAX_SCALED_REWARD, (self.size,), dtype=np.float32
        )

    def __call__(
        self, observations: Any, actions: Any = None, rewards: Any = None
    ) -> NDArray[np.float32]:
        """Return observations, shape (copies, fields), as network inputs, shape (copies, size).

        Args:
            observations: Observations of the environment.
            actions: Last actions, or None before the first actions.
            rewards: Scaled rewards of the last actions.
        """
        scaled = (np.asarray(observations, np.float64) - self._middle) / self._half
        if not self._memory:
            return scaled.astype(np.float32)
        memory = np.zeros((len(scaled), self._remembered))
        if actions is not None:
            if self._n_actions is None:
                memory[:, :-1] = np.asarray(actions).reshape(len(scaled), -1)
            else:
                memory[np.arange(len(scaled)), np.asarray(actions, dtype=np.intp)] = 1.0
            memory[:, -1] = rewards
        return np.concatenate((scaled, memory), axis=1).astype(np.float32)


class RunningRewardScale:
    """Scaling of rewards by the running mean and standard deviation."""

    def __init__(self) -> None:
        self._count, self._mean, self._squares = 0.0, 0.0, 0.0

    def update(self, rewards: Any) -> None:
        """Update the mean and the standard deviation with rewards of any shape."""
        values = np.asarray(rewards, dtype=np.float64).ravel()
        if not values.size:
            return
        count, shift = self._count + values.size, values.mean() - self._mean
        # Squared deviations within the new rewards, then those of both means from the common mean.
        self._squares += values.var() * values.size
        self._squares += shift**2 * self._count * values.size / count
        self._mean += shift * values.size / count
        self._count = count

    def __call__(self, rewards: Any) -> Array:
        """Return scaled and clipped rewards."""
        spread = np.sqrt(self._squares / self._count) if self._squares > 0 else 1.0
        scaled = (np.asarray(rewards, dtype=np.float64) - self._mean) / spread
        return np.clip(scaled, -MAX_SCALED_REWARD, MAX_SCALED_REWARD)

    @property
    def state(self) -> Array:
        """Count, mean and sum of squared deviations of the rewards so far."""
        return np.array([self._count, self._mean, self._squares])

    @state.setter
    def state(self, numbers: Array) -> None:
        self._count, self._mean, self._squares = (float(number) for number in numbers)
