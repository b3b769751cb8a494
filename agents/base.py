"""What an agent is, and what it is told.

An agent is any object with two methods, made afresh for every run from a :class:`Problem` and a
random generator. The caller owns the loop::

    agent = make_agent(problem, rng)
    while running:
        action = agent.act(observation)             # ask
        ... the action is taken, time passes ...
        agent.update(observation, action, reward)   # tell

``update`` gets the observation that the decision was made on, so rewards may come late, in any
order, or never. An agent never sees ``info``: regret and the best action are not for its eyes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

Array = NDArray[np.float64]


@runtime_checkable
class Agent(Protocol):
    """Two methods are all there is to it."""

    def act(self, observation: Array) -> Any:
        """Choose an action for the moment that the observation shows."""

    def update(self, observation: Array, action: Any, reward: float) -> None:
        """Learn what an action chosen on ``observation`` gave. A NaN reward is no news."""


@dataclass(frozen=True)
class Experience:
    """Past decisions: arrays of equal length."""

    t: NDArray[Any]
    action: NDArray[Any]
    reward: Array

    def __post_init__(self) -> None:
        if not len(self.t) == len(self.action) == len(self.reward):
            raise ValueError(
                "t, action and reward must have equal length, got "
                f"{len(self.t)}, {len(self.action)} and {len(self.reward)}"
            )


@dataclass(frozen=True)
class Problem:
    """All that an agent is allowed to know before it starts.

    Attributes:
        action_space: ``Discrete(n)`` or ``Box(-1, 1, (d,))``.
        observation_space: Bounds of the observations.
        observation_fields: Names of the entries of an observation; the first is "t".
        horizon: Number of decisions, or None if nobody knows.
        periods: Seasons in steps, the main one first; empty if unknown.
        noise_std: Standard deviation of the noise in the rewards, or None.
        action_features: Coordinates of the actions of a finite set, shape (n, d), or None.
        action_half_width: What one unit of a box action is in units of the length-scales.
        warm_start: Decisions made by others before the start, or None.
    """

    action_space: spaces.Space[Any]
    observation_space: spaces.Box
    observation_fields: tuple[str, ...] = ("t",)
    horizon: int | None = None
    periods: tuple[float, ...] = ()
    noise_std: float | None = None
    action_features: Array | None = None
    action_half_width: float = 1.0
    warm_start: Experience | None = None

    @property
    def period(self) -> float | None:
        """The main season, or None."""
        return self.periods[0] if self.periods else None

    @property
    def n_actions(self) -> int | None:
        """Size of a finite action set, or None for a box."""
        space = self.action_space
        return int(space.n) if isinstance(space, spaces.Discrete) else None
