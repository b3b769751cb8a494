"""Contract tests for agents.

Subclass :class:`AgentContract` in a test file and let pytest find it::

    from agents.testing import AgentContract
    from my_package import MyAgent

    class TestMyAgent(AgentContract):
        problems = ("finite", "arms")          # kinds that your agent supports

        def make(self, problem, rng):
            return MyAgent(problem, rng)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from agents.arrays import Array, Rng
from agents.base import Agent, Experience, Problem
from agents.checks import one_of
from agents.saving import Saveable, load

__all__ = ["AgentContract", "example_problem", "example_reward", "observe"]

PERIOD = 6.0
HORIZON, STEPS = 40, 30
KINDS = ("finite", "arms", "box", "plane", "warm")


def example_problem(kind: str) -> Problem:
    """Return a small problem.

    Args:
        kind: One of the following kinds. The problems "finite" and "box" have an unknown horizon,
            so that GP agents choose the engine for long runs.

            - "finite": arms with coordinates
            - "arms": arms without coordinates
            - "box": a box with one dimension
            - "plane": a box with two dimensions
            - "warm": arms with coordinates and a warm start; the noise and the reward scale are
              unknown
    """
    one_of("kind", kind, KINDS)
    observation_space = spaces.Box(
        np.array([0.0, -1.0, -1.0]), np.array([HORIZON, 1.0, 1.0]), dtype=np.float64
    )
    common: dict[str, Any] = {
        "observation_space": observation_space,
        "observation_fields": ("t", "cos_phase", "sin_phase"),
        "horizon": None if kind in ("finite", "box") else HORIZON,
        "periods": (PERIOD,),
        "noise_std": 0.1,
        "reward_scale": (0.0, 1.0),
    }
    if kind in ("box", "plane"):
        shape = (1,) if kind == "box" else (2,)
        box = spaces.Box(-1.0, 1.0, shape, np.float32)
        return Problem(action_space=box, action_half_width=2.0, **common)
    five = spaces.Discrete(5)
    if kind == "arms":
        return Problem(action_space=five, **common)
    features = np.linspace(0.0, 2.0, 5)[:, None]
    if kind == "warm":
        common |= {"noise_std": None, "reward_scale": None}
        past = np.arange(12)
        rewards = np.array([50.0 + 10.0 * example_reward(kind, t % 5, t) for t in range(12)])
        common["warm_start"] = Experience(past, past % 5, rewards)
    return Problem(action_space=five, action_features=features, **common)


def example_reward(kind: str, action: Any, t: float) -> float:
    """Return the mean reward of an action at time t; the best action oscillates."""
    place = np.sum(action) / 2.0 - 1.0 if kind in ("finite", "arms", "warm") else np.mean(action)
    return float(-((place - 0.8 * np.sin(2 * np.pi * t / PERIOD)) ** 2))


def observe(t: float) -> Array:
    """Return the observation at time t."""
    angle = 2 * np.pi * t / PERIOD
    return np.array([t, np.cos(angle), np.sin(angle)])


def _same(actions: list[Any], expected: list[Any], broken: str) -> None:
    """Raise an AssertionError that names the first difference, unless all actions are equal."""
    for step, (action, wanted) in enumerate(zip(actions, expected, strict=True)):
        assert np.array_equal(action, wanted), (
            f"{broken} (step {step}: expected {wanted}, got {action})"
        )


class AgentContract:
    """Contract tests for an agent.

    Override ``make``. If the agent does not support all kinds of problems, override ``problems``,
    too. Actions must be whole numbers, or vectors with entries in [-1, 1] (float32 or float64).
    """

    problems: tuple[str, ...] = KINDS

    def make(self, problem: Problem, rng: Rng) -> Agent:
        """Return a new agent."""
        raise NotImplementedError

    def _fresh(self, kind: str, seed: int = 0) -> tuple[Problem, Agent]:
        problem = example_problem(kind)
        return problem, self.make(problem, np.random.default_rng(seed))

    def _run(
        self, kind: str, agent: Agent, start: int, stop: int, *, missing: bool = False
    ) -> list[Any]:
        """Return the actions of an agent at the steps ``start``, ..., ``stop - 1``.

        If ``missing`` is true, the agent receives a reward of NaN before every reward.
        """
        noise = np.random.default_rng(1).normal(0.0, 0.1, HORIZON)
        space, actions = example_problem(kind).action_space, []
        space.seed(0)
        for t in range(start, stop):
            action = agent.act(observe(t))
            if missing:
                agent.update(observe(t), space.sample(), float("nan"))
            agent.update(observe(t), action, example_reward(kind, action, t) + noise[t])
            actions.append(action)
        return actions

    def recorded(self, kind: str) -> list[Any]:
        """Return the actions of an agent in a run without missing rewards.

        Override this method to cache the actions.
        """
        return self._run(kind, self._fresh(kind)[1], 0, STEPS)

    def test_is_an_agent(self) -> None:
        """An agent has ``act`` and ``update``."""
        for kind in self.problems:
            assert isinstance(self._fresh(kind)[1], Agent)

    def test_actions_are_in_the_space(self) -> None:
        """All actions are valid."""
        for kind in self.problems:
            for action in self.recorded(kind):
                example_problem(kind).checked(action)

    def test_same_generator_same_choices(self) -> None:
        """The generator is the only source of randomness."""
        for kind in self.problems:
            again = self._run(kind, self._fresh(kind)[1], 0, 10)
            broken = f"{kind}: two agents with equal generators chose differently"
            _same(again, self.recorded(kind)[:10], broken)

    def test_arguments_are_left_alone(self) -> None:
        """Observations and actions are not modified."""
        for kind in self.problems:
            _, agent = self._fresh(kind)
            observation = observe(0)
            observation.setflags(write=False)
            action = agent.act(observation)
            original = np.copy(action)
            agent.update(observation, action, 1.0)
            _same([action], [original], f"{kind}: update modified the action")

    def test_asking_twice_is_allowed(self) -> None:
        """An agent can choose again before it has received a reward."""
        for kind in self.problems:
            problem, agent = self._fresh(kind)
            for t in (0, 0, 3):
                problem.checked(agent.act(observe(t)))

    def test_missing_rewards(self) -> None:
        """A reward of NaN does not affect later choices."""
        for kind in self.problems:
            actions = self._run(kind, self._fresh(kind)[1], 0, 15, missing=True)
            broken = f"{kind}: a reward of NaN affected a later choice"
            _same(actions, self.recorded(kind)[:15], broken)

    def test_late_and_unordered_rewards(self) -> None:
        """Rewards may be up to ten steps late, in any order, and for actions of another policy."""
        for kind in self.problems:
            problem, agent = self._fresh(kind)
            problem.action_space.seed(0)
            chosen = [agent.act(observe(t)) for t in range(10)]
            chosen[3] = problem.action_space.sample()
            for t in (7, 2, 9, 0, 3, 1, 8, 4, 6, 5):
                agent.update(observe(t), chosen[t], example_reward(kind, chosen[t], t))
            for t in range(10, 15):
                problem.checked(agent.act(observe(t)))

    def test_saved_agent_continues_exactly(self, tmp_path: Path) -> None:
        """A loaded agent makes the same choices as the saved agent."""
        for kind in self.problems:
            for start, stop in ((0, 5), (17, STEPS)):
                _, agent = self._fresh(kind)
                if not isinstance(agent, Saveable):
                    continue
                self._run(kind, agent, 0, start)
                agent.save(tmp_path / "agent")
                again = load(tmp_path / "agent", agent_class=type(agent))
                actions = self._run(kind, again, start, stop)
                broken = f"{kind}: the loaded agent chose differently from the saved agent"
                _same(actions, self.recorded(kind)[start:stop], broken)
