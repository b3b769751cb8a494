"""The agent behind a decider, for its arms, steps and rewards."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from agents import AgentSpec, Problem
from agents.arrays import Array, Rng
from agents.base import Agent
from agents.objects import pack, unpack
from agents.registry import find_class
from agents.saving import Saveable
from periodic_decisions.decider.settings import DeciderError, Settings
from periodic_decisions.decider.storage import ASKED, Event

DEVIATIONS = 1.96  # half the width of a 95 % interval


class Learner:
    """An agent for a fixed number of arms.

    Args:
        spec: Which agent.
        settings: Of the decider.
        n_arms: Number of arms.
        saved: The agent and its generator; None for a new one.
        generation: Number of agents before, for the seed of a new one.
    """

    def __init__(
        self,
        spec: AgentSpec,
        settings: Settings,
        n_arms: int,
        saved: tuple[Agent, Rng] | None = None,
        generation: int = 0,
    ) -> None:
        self._spec, self._settings = spec, settings
        self._problem = _problem(n_arms, settings.periods)
        if saved is None:
            rng = np.random.default_rng([settings.seed, generation])
            seasons = (
                f"seasons of {', '.join(settings.seasons)}" if settings.seasons else "no season"
            )
            with _failing(spec, f"cannot be made for {n_arms} arms and {seasons}"):
                saved = spec.make(self._problem, rng), rng
        self._agent, self._rng = saved

    @property
    def can_be_saved(self) -> bool:
        """Return whether it has a state to save; else its past is replayed."""
        return isinstance(self._agent, Saveable)

    def act(self, step: int) -> tuple[int, bool]:
        """Return the agent's arm, and whether it is certain: nothing was drawn for it."""
        before = self._rng.bit_generator.state
        with _failing(self._spec, "could not choose"):
            arm = int(self._problem.checked(self._agent.act(self._observation(step))))
        return arm, before == self._rng.bit_generator.state

    def update(self, step: int, arm: int, reward: float) -> None:
        """Pass a reward to the agent."""
        with _failing(self._spec, "could not learn"):
            self._agent.update(self._observation(step), arm, self._settings.sign * reward)

    def replay(
        self, events: Sequence[Event], on_progress: Callable[[int, int], object] | None = None
    ) -> None:
        """Show the agent its past in this order.

        Args:
            events: The past.
            on_progress: Called with the number of events shown, and of all.
        """
        for done, (step, arm, reward) in enumerate(events, start=1):
            if arm == ASKED:
                self.act(step)
            else:
                self.update(step, arm, reward)
            if on_progress is not None:
                on_progress(done, len(events))

    def beliefs(self, step: int, arms: Sequence[int]) -> Array | None:
        """Return the believed mean reward with its 95 % interval, shape (arms, 3).

        None for an agent without beliefs, and before it knows the unit of rewards.
        """
        agent: Any = self._agent
        if not hasattr(agent, "belief") or getattr(agent, "scale", agent) is None:
            return None
        mean, deviation = agent.belief(float(step), np.array(arms))
        middle, half = self._settings.sign * mean, DEVIATIONS * deviation
        return np.stack([middle, middle - half, middle + half], axis=1)

    def copied(self) -> Learner:
        """Return another with the same knowledge, for trying."""
        arrays: dict[str, Any] = {}
        header = self.packed(arrays)
        if header is None:
            twin = copy.deepcopy((self._agent, self._rng))
        else:
            agent = unpack(header, arrays, type(self._agent))
            twin = agent, agent._rng
        return Learner(self._spec, self._settings, self._problem.n_actions or 0, twin)

    def packed(self, arrays: dict[str, Any]) -> dict[str, Any] | None:
        """Return the agent for a file; None if it cannot be saved."""
        return pack(self._agent, arrays) if isinstance(self._agent, Saveable) else None

    @classmethod
    def restored(
        cls,
        spec: AgentSpec,
        settings: Settings,
        n_arms: int,
        header: dict[str, Any],
        arrays: dict[str, Any],
    ) -> Learner:
        """Return the agent from a file."""
        found = find_class(spec.name)
        if not (isinstance(found, type) and issubclass(found, Saveable)):
            raise DeciderError(f"the agent {spec} is not the one that was saved")
        agent: Any = unpack(header, arrays, found)
        rng = agent._rng
        if not isinstance(agent, Agent):
            raise DeciderError(f"{spec} is not an agent: it needs act() and update()")
        return cls(spec, settings, n_arms, (agent, rng))

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


@contextlib.contextmanager
def _failing(spec: AgentSpec, what: str) -> Iterator[None]:
    """Report any error of an agent in one sentence: a user's agent can fail in any way."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DeciderError(f"the agent {spec} {what}: {reason}") from error
