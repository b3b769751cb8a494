"""The contract for agents takes what the harness takes, and names the rule that is broken."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.saving import Saveable
from agents.testing import AgentContract


class Still(Saveable):
    """Always the same: the first arm, or the middle of a box."""

    def __init__(self, problem: Problem, rng: Rng) -> None:
        self.problem = problem

    def act(self, observation: Array) -> Any:
        return 0 if self.problem.n_actions is not None else np.zeros(self.problem.dim)

    def update(self, observation: Array, action: Any, reward: float) -> None:
        pass


class Counts(Still):
    """Goes through the arms, missing rewards or not."""

    def __init__(self, problem: Problem, rng: Rng) -> None:
        super().__init__(problem, rng)
        self.turn = 0

    def act(self, observation: Array) -> Any:
        return self.turn % 5

    def update(self, observation: Array, action: Any, reward: float) -> None:
        self.turn += 1


class Outside(Still):
    def act(self, observation: Array) -> Any:
        return 1.5 * np.ones(self.problem.dim)


class Chance(Still):
    count = 0

    def act(self, observation: Array) -> Any:
        Chance.count += 1
        return Chance.count % 3


def contract(agent: type[Still], *problems: str) -> AgentContract:
    made = AgentContract()
    made.problems = problems
    made.make = agent  # type: ignore[assignment, method-assign]
    return made


def test_a_box_takes_vectors_of_float64(tmp_path: Path) -> None:
    tests = contract(Still, "finite", "arms", "box", "plane", "warm")
    for name in (name for name in dir(tests) if name.startswith("test_")):
        getattr(tests, name)(*([tmp_path] if "saved" in name else []))


def test_a_broken_rule_is_named(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="arms: a loaded agent chooses otherwise"):
        contract(Chance, "arms").test_saved_and_loaded_it_goes_on_bit_for_bit(tmp_path)
    with pytest.raises(AssertionError, match="arms: a reward of NaN has changed the choice"):
        contract(Counts, "arms").test_missing_rewards()
    with pytest.raises(AssertionError, match="arms: the choices differ though the generator"):
        contract(Chance, "arms").test_same_generator_same_choices()
    with pytest.raises(ValueError, match=r"an action is a vector \(1,\) with entries in \[-1, 1\]"):
        contract(Outside, "box").test_actions_are_in_the_space()
