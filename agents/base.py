"""Interface of agents and description of their problems.

An agent is any object with the methods ``act`` and ``update``. A new agent is created for every
run, from a :class:`Problem` and a random generator. The caller runs the loop::

    agent = make_agent(problem, rng)
    while running:
        action = agent.act(observation)             # ask
        ... the action is taken, time passes ...
        agent.update(observation, action, reward)   # tell

``update`` receives the observation on which the decision was based. Rewards may therefore arrive
late, in any order, or never. An agent never receives ``info``, which contains the regret.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from agents.arrays import Array, Rng
from agents.checks import require

MAX_REWARD = 1e100
"""Largest magnitude of a reward, so that sums of squares stay finite."""

UNKNOWN_HORIZON = 1_000
"""Number of decisions that is assumed if the horizon is unknown."""


@runtime_checkable
class Agent(Protocol):
    """Interface of an agent."""

    def act(self, observation: Array) -> Any:
        """Choose an action for the time of the observation."""

    def update(self, observation: Array, action: Any, reward: float) -> None:
        """Learn from the reward of an action chosen for ``observation``; ignore a reward of NaN."""


@runtime_checkable
class Trainable(Protocol):
    """Interface of agent classes that can be trained in other worlds before they are evaluated.

    Both methods are class methods (``@classmethod``), since ``train`` is called before an agent
    exists. A protocol requests training with the entry ``training_steps`` of an agent.
    """

    def train(
        self,
        problem: Problem,
        envs: VectorEnv[Any, Any, Any],
        *,
        steps: int,
        rng: Rng,
        settings: Mapping[str, Any],
    ) -> dict[str, NDArray[Any]]:
        """Learn from other worlds of the same kind, and return the result as plain arrays.

        Args:
            problem: Description of the problem in these worlds.
            envs: Vector environment of 64 worlds (of ``steps`` worlds if ``steps`` is less than
                64), with autoreset in the same step. Its ``info`` is empty except for
                ``final_obs``, and ``reset(seed=...)`` ignores the seed.
            steps: Maximum number of interactions, summed over all worlds. A call to ``envs.step``
                that exceeds this number raises an error.
            rng: The only source of randomness.
            settings: Settings of the agent.
        """

    def after_training(
        self,
        problem: Problem,
        rng: Rng,
        learned: Mapping[str, NDArray[Any]],
        settings: Mapping[str, Any],
    ) -> Agent:
        """Return an agent that uses the result of ``train``."""


@dataclass(frozen=True)
class Experience:
    """Past decisions, as arrays of equal length."""

    t: NDArray[Any]
    action: NDArray[Any]
    reward: Array

    def __post_init__(self) -> None:
        for name, kind in (("t", np.float64), ("action", None), ("reward", np.float64)):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=kind))
        if not len(self.t) == len(self.action) == len(self.reward):
            raise ValueError(
                "t, action and reward must have equal length, got "
                f"{len(self.t)}, {len(self.action)} and {len(self.reward)}"
            )
        for i in np.flatnonzero(np.abs(self.reward) > MAX_REWARD)[:1]:
            is_valid_reward(float(self.reward[i]), float(self.t[i]))


@dataclass(frozen=True)
class Problem:
    """Facts that an agent may know before it starts.

    Attributes:
        action_space: ``Discrete(n)`` that starts at 0, or ``Box(-1, 1, (d,))``.
        observation_space: Bounds of the observations.
        observation_fields: Names of the entries of an observation; the first is "t".
        horizon: Number of decisions, or None if unknown.
        periods: Lengths of the seasons in steps, the main season first; empty if unknown.
        noise_std: Standard deviation of the noise in the rewards, or None if unknown.
        reward_scale: Prior mean and standard deviation of the mean rewards, or None if unknown.
        action_features: Coordinates of the actions of a finite set, shape (n, d), or None.
        action_half_width: Half of the width of a box of actions, in the unit of the length-scales.
        warm_start: Decisions of another policy from before the first step, or None.
    """

    action_space: spaces.Space[Any]
    observation_space: spaces.Box
    observation_fields: tuple[str, ...] = ("t",)
    horizon: int | None = None
    periods: tuple[float, ...] = ()
    noise_std: float | None = None
    reward_scale: tuple[float, float] | None = None
    action_features: Array | None = None
    action_half_width: float = 1.0
    warm_start: Experience | None = None

    def __post_init__(self) -> None:
        self._check_actions()
        require(
            isinstance(self.periods, tuple | list),
            "periods must be a tuple or a list",
            self.periods,
        )
        for period in self.periods:
            require(0 < period < np.inf, "periods must be positive and finite", self.periods)
        if self.horizon is not None:
            require(self.horizon >= 1, "horizon must be at least 1", self.horizon)
        if self.noise_std is not None:
            require(
                0 <= self.noise_std < np.inf,
                "noise_std must be finite and not negative",
                self.noise_std,
            )
        if self.reward_scale is not None:
            positive = 0 < self.reward_scale[1] < np.inf
            require(
                positive,
                "the standard deviation in reward_scale must be positive and finite",
                self.reward_scale,
            )
        require(
            0 < self.action_half_width < np.inf,
            "action_half_width must be positive and finite",
            self.action_half_width,
        )

    def _check_actions(self) -> None:
        space = self.action_space
        if isinstance(space, spaces.Discrete):
            require(int(space.start) == 0, "a Discrete action_space must start at 0", space)
        else:
            unit = isinstance(space, spaces.Box) and len(space.shape) == 1
            unit = unit and bool((space.low == -1).all() and (space.high == 1).all())  # type: ignore[attr-defined]
            require(unit, "action_space must be Discrete(n) or Box(-1, 1, (d,))", space)
        if self.action_features is not None:
            features = np.asarray(self.action_features, dtype=np.float64)
            fits = features.ndim == 2 and len(features) == self.n_actions
            require(
                fits,
                "action_features must have shape (n, d), one row for each action",
                features.shape,
            )
            object.__setattr__(self, "action_features", features)

    @property
    def period(self) -> float | None:
        """Length of the main season in steps, or None if it is unknown."""
        return self.periods[0] if self.periods else None

    @property
    def n_actions(self) -> int | None:
        """Size of a finite action set, or None for a box."""
        space = self.action_space
        return int(space.n) if isinstance(space, spaces.Discrete) else None

    @property
    def dim(self) -> int:
        """Dimension of a box; 1 for a finite set."""
        return math.prod(self.action_space.shape or (1,))

    @property
    def likely_horizon(self) -> int:
        """Number of decisions in an episode; 1,000 if the horizon is unknown."""
        return self.horizon or UNKNOWN_HORIZON

    def past_decisions(self) -> Iterator[tuple[Array, Any, float]]:
        """Yield the observation (time only), action and reward of each warm-start decision."""
        past = self.warm_start
        if past is not None:
            for t, action, reward in zip(past.t, past.action, past.reward, strict=True):
                yield np.array([t]), action, float(reward)

    def checked(self, action: Any) -> Any:
        """Return an action as an int or a float64 vector (d,); raise an error if it is invalid."""
        if self.n_actions is not None:
            arm = np.asarray(action)
            whole = arm.shape == () and arm.dtype.kind in "iu" and 0 <= int(arm) < self.n_actions
            require(
                whole, f"an action must be a whole number from 0 to {self.n_actions - 1}", action
            )
            return int(arm)
        try:
            point = np.asarray(action, dtype=np.float64)
        except (TypeError, ValueError):
            point = np.empty(0)
        inside = point.shape == (self.dim,) and bool((np.abs(point) <= 1.0).all())
        require(
            inside,
            f"an action must be a vector of shape ({self.dim},) with entries in [-1, 1]",
            action,
        )
        return point


def time_of(observation: Array) -> float:
    """Return the time of an observation; raise an error unless it is finite."""
    try:
        t = float(observation[0])
    except (TypeError, ValueError, IndexError):
        t = math.nan
    require(math.isfinite(t), "an observation must begin with a finite time", observation)
    return t


def is_valid_reward(reward: float, t: float) -> bool:
    """Return whether an agent can learn from a reward; False for NaN.

    Raises:
        ValueError: If the reward is infinite or too large, or if its time is not finite.
    """
    if math.isnan(reward):
        return False
    if not (abs(reward) <= MAX_REWARD and math.isfinite(t)):
        raise ValueError(
            "a reward must be finite and at most "
            f"{MAX_REWARD:g} in magnitude, and its time must be finite, got {reward} at t = {t}"
        )
    return True
