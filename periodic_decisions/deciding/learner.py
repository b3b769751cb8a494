"""The agent behind a decider: arms, steps and rewards of the one in the terms of the other."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from agents import AgentSpec, Problem
from agents.arrays import Array, Rng
from agents.base import Agent
from agents.registry import find_class
from agents.saving import Saveable, pack, unpack
from periodic_decisions.deciding.errors import DeciderError, one_line
from periodic_decisions.deciding.settings import Settings

DEVIATIONS = 1.96
"""Half the width of a 95 % interval, in standard deviations."""
ASKED = -1
"""In the place of an arm: the agent was asked, and nothing was told."""

Event = tuple[int, int, float]
"""A step, an arm and its reward; or a step in which the agent was asked (:data:`ASKED`)."""


@dataclass(frozen=True)
class Answer:
    """What the agent would take.

    Attributes:
        arm: Its number.
        is_certain: Whether nothing was drawn for it: the same would be taken again.
    """

    arm: int
    is_certain: bool


class Learner:
    """An agent for a fixed number of arms.

    Args:
        spec: Who it is.
        settings: Of the decider.
        problem: What it was made for.
        agent: The agent, fresh or with what it knows.
        rng: The generator that the agent draws from.
    """

    def __init__(
        self, spec: AgentSpec, settings: Settings, problem: Problem, agent: Agent, rng: Rng
    ) -> None:
        self._spec, self._settings, self._problem = spec, settings, problem
        self._agent, self._rng = agent, rng

    @classmethod
    def fresh(cls, spec: AgentSpec, settings: Settings, n_arms: int, generation: int) -> Learner:
        """An agent that knows nothing.

        Raises:
            DeciderError: If it cannot be made for such a problem.
        """
        rng = np.random.default_rng([settings.seed, generation])
        problem = _problem(n_arms, settings.periods)
        try:
            return cls(spec, settings, problem, spec.make(problem, rng), rng)
        except Exception as error:  # anybody's agent can fail in any way
            raise DeciderError(
                f"the agent {spec} cannot be made for {n_arms} arms and "
                f"{_in_words(settings.seasons)}: {one_line(error)}"
            ) from error

    @property
    def can_be_saved(self) -> bool:
        """Whether it has a state to save; else what it has seen is replayed."""
        return isinstance(self._agent, Saveable)

    def act(self, step: int) -> Answer:
        """What the agent takes in this step.

        Raises:
            DeciderError: If it takes none of the arms.
        """
        before = self._rng.bit_generator.state
        try:
            arm = int(self._problem.checked(self._agent.act(self._observation(step))))
        except Exception as error:  # anybody's agent can fail in any way
            raise DeciderError(
                f"the agent {self._spec} could not choose: {one_line(error)}"
            ) from error
        return Answer(arm, is_certain=before == self._rng.bit_generator.state)

    def update(self, step: int, arm: int, reward: float) -> None:
        """Let the agent know a reward.

        Raises:
            DeciderError: If it cannot learn from it.
        """
        try:
            self._agent.update(self._observation(step), arm, self._settings.sign * reward)
        except Exception as error:  # anybody's agent can fail in any way
            raise DeciderError(
                f"the agent {self._spec} could not learn: {one_line(error)}"
            ) from error

    def replay(
        self, events: Sequence[Event], on_progress: Callable[[int, int], object] | None = None
    ) -> None:
        """Let the agent see what was, in this order.

        Args:
            events: What was.
            on_progress: Called with how many it has seen, and of how many.
        """
        for done, (step, arm, reward) in enumerate(events, start=1):
            if arm == ASKED:
                self.act(step)
            else:
                self.update(step, arm, reward)
            if on_progress is not None:
                on_progress(done, len(events))

    def expected(self, step: int, arm: int) -> tuple[float, float, float] | None:
        """Mean reward of an arm and its 95 % interval, as the agent believes.

        None of an agent that has no belief, or as long as it does not know the unit of rewards.
        """
        found = self.beliefs(step, [arm])
        if found is None or not np.isfinite(found).all():
            return None
        middle, low, high = found[0].tolist()
        return middle, low, high

    def beliefs(self, step: int, arms: Sequence[int]) -> Array | None:
        """The same of several arms: mean, low and high for each, shape (arms, 3)."""
        agent: Any = self._agent
        if not hasattr(agent, "belief") or getattr(agent, "scale", agent) is None:
            return None
        mean, deviation = agent.belief(float(step), np.array(arms))
        middle, half = self._settings.sign * mean, DEVIATIONS * deviation
        return np.stack([middle, middle - half, middle + half], axis=1)

    def copied(self) -> Learner:
        """Another with the same knowledge, whose choices and rewards this one does not see."""
        if isinstance(self._agent, Saveable):
            arrays: dict[str, Any] = {}
            agent = unpack(pack(self._agent, arrays), arrays, type(self._agent))
            return Learner(self._spec, self._settings, self._problem, agent, agent._rng)
        twin, its_rng = copy.deepcopy((self._agent, self._rng))
        return Learner(self._spec, self._settings, self._problem, twin, its_rng)

    def packed(self, arrays: dict[str, Any]) -> dict[str, Any] | None:
        """The agent for a file; None if it cannot be saved."""
        return pack(self._agent, arrays) if isinstance(self._agent, Saveable) else None

    @classmethod
    def unpacked(
        cls,
        spec: AgentSpec,
        settings: Settings,
        n_arms: int,
        header: dict[str, Any],
        arrays: dict[str, Any],
    ) -> Learner:
        """The agent from a file."""
        found = find_class(spec.name)
        if not (isinstance(found, type) and issubclass(found, Saveable)):
            raise DeciderError(f"the agent {spec} is not the one that was saved")
        agent = unpack(header, arrays, found)
        rng = agent._rng
        if not isinstance(agent, Agent):
            raise DeciderError(f"{spec} makes no agent: it needs act() and update()")
        return cls(spec, settings, _problem(n_arms, settings.periods), agent, rng)

    def _observation(self, step: int) -> Array:
        angles = [2.0 * np.pi * step / period for period in self._problem.periods[:1]]
        return np.array([step, *np.cos(angles), *np.sin(angles)], dtype=np.float64)


def _problem(n_arms: int, periods: Sequence[float]) -> Problem:
    phase = ("cos_phase", "sin_phase") if periods else ()
    low, high = np.array([0.0, -1.0, -1.0]), np.array([np.inf, 1.0, 1.0])
    size = 1 + len(phase)
    return Problem(
        action_space=spaces.Discrete(n_arms),
        observation_space=spaces.Box(low[:size], high[:size], dtype=np.float64),
        observation_fields=("t", *phase),
        periods=tuple(periods),
    )


def _in_words(seasons: Sequence[str]) -> str:
    return f"seasons of {', '.join(seasons)}" if seasons else "no season"
