"""The contract for agents takes what the harness takes, and names the rule that is broken."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.saving import Saveable
from agents.testing import KINDS, AgentContract


class Still(Saveable):
    """Always the same: the first arm, or the middle of a box."""

    def __init__(self, problem: Problem, rng: Rng) -> None:
        self.problem, self.turn = problem, 0

    def act(self, observation: Array) -> Any:
        return 0 if self.problem.n_actions is not None else np.zeros(self.problem.dim)

    def update(self, observation: Array, action: Any, reward: float) -> None:
        self.turn += 1


class Counts(Still):
    """Goes through the arms, missing rewards or not."""

    def act(self, observation: Array) -> Any:
        return self.turn % 5


class Outside(Still):
    def act(self, observation: Array) -> Any:
        return 1.5 * np.ones(self.problem.dim)


class Chance(Still):
    count = 0

    def act(self, observation: Array) -> Any:
        Chance.count += 1
        return Chance.count % 3


def check(agent: type[Still], problems: tuple[str, ...], rules: str, folder: Path) -> None:
    contract = AgentContract()
    contract.problems = problems
    contract.make = agent  # type: ignore[assignment, method-assign]
    for rule in dir(contract):
        if rule.startswith(f"test_{rules}"):
            getattr(contract, rule)(*([folder] if "saved" in rule else []))


def test_contract_takes_vectors_of_float64(tmp_path: Path) -> None:
    check(Still, KINDS, "", tmp_path)


@pytest.mark.parametrize(
    ("agent", "kind", "rule", "place"),
    [
        (Chance, "arms", "saved", "arms"),
        (Counts, "arms", "missing", "arms"),
        (Chance, "arms", "same_generator", "arms"),
        (Outside, "box", "actions_are_in", "action"),
    ],
)
def test_contract_names_the_broken_rule(
    agent: type[Still], kind: str, rule: str, place: str, tmp_path: Path
) -> None:
    with pytest.raises((AssertionError, ValueError), match=place):
        check(agent, (kind,), rule, tmp_path)
