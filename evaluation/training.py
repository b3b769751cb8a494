"""Training before judgement: a budget of interactions with other worlds of the same kind."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from greenlet import greenlet
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from evaluation.play import agent_generator, problem_of
from evaluation.record import LEARNED, unpack
from evaluation.runs import Run
from evaluation.specs import TRAINING_SEED, world_arguments
from periodic_envs.env import PeriodicBanditEnv

COPIES = 64
"""Worlds that are stepped at once."""
MAX_LEARNED_BYTES = 2**26


class BudgetSpentError(Exception):
    """More interactions than the protocol declares."""


class TrainingError(Exception):
    """What a training returned cannot be kept: a sentence that says why."""


class Budget(VectorEnv[Any, Any, Any]):
    """Worlds to train in that count every interaction and end when the budget is spent.

    They choose their seeds, so that nobody trains in the worlds of the judge, and keep ``info`` to
    themselves. It is a door, not a wall: a program that searches the memory of its process finds
    what is behind it, as it does in a run.

    Args:
        envs: The worlds.
        steps: Interactions, all copies together.

    Attributes:
        used: Interactions so far.
    """

    def __init__(self, envs: VectorEnv[Any, Any, Any], steps: int) -> None:
        self.num_envs, self.metadata = envs.num_envs, dict(envs.metadata)
        self.observation_space, self.action_space = envs.observation_space, envs.action_space
        self.single_observation_space = envs.single_observation_space
        self.single_action_space = envs.single_action_space
        self.used, seeds = 0, [TRAINING_SEED]

        def reset() -> Any:
            return envs.reset(seed=seeds.pop() if seeds else None)[0]

        def step(actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
            if self.used + self.num_envs > steps:
                raise BudgetSpentError("more interactions than training_steps allows")
            self.used += self.num_envs
            observations, rewards, terminated, truncated, info = envs.step(actions)
            shown = {"final_obs": info["final_obs"]} if "final_obs" in info else {}
            return observations, rewards, terminated, truncated, shown

        self._reset, self._step = reset, step

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """New worlds; a seed is not for the agent to choose."""
        return self._reset(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One interaction with every copy."""
        return self._step(actions)

    def close(self, **_: Any) -> None:
        """Nothing is left open."""


def train(run: Run, one: PeriodicBanditEnv) -> dict[str, NDArray[Any]]:
    """What an agent learns in a training run, with the interactions and seconds that it took.

    Args:
        run: The training.
        one: A world of the kind.
    """
    assert run.agent_spec is not None
    start = time.perf_counter()
    _, info = one.reset(seed=TRAINING_SEED)
    envs = gym.make_vec(
        run.world.env_id,
        min(COPIES, run.training_steps),
        vectorization_mode="vector_entry_point",
        autoreset_mode="SameStep",
        regret=False,
        **world_arguments(run.world.arguments),
    )
    budget = Budget(envs, run.training_steps)
    # On a stack of its own, as in a run: the frames here hold the worlds themselves.
    learned = greenlet(run.agent_spec.trainable().train).switch(
        problem_of(one, info),
        budget,
        steps=run.training_steps,
        rng=agent_generator(TRAINING_SEED),
        settings=run.agent_spec.settings,
    )
    return {
        **{LEARNED + name: array for name, array in _plain(learned).items()},
        "interactions": np.array([budget.used]),
        "seconds": np.array([time.perf_counter() - start]),
    }


def learned_before(run: Run) -> dict[str, NDArray[Any]] | None:
    """What the agent of a run learned before, if anything."""
    if run.learned is None:
        return None
    columns = unpack(run.learned)
    return {n.removeprefix(LEARNED): c for n, c in columns.items() if n.startswith(LEARNED)}


def _plain(learned: Any) -> dict[str, NDArray[Any]]:
    """Arrays of numbers by name, or a sentence: who wrote ``train`` is not to be trusted."""
    if not isinstance(learned, Mapping):
        raise TrainingError(f"train() must return a dictionary of arrays, got {type(learned)}")
    arrays: dict[str, NDArray[Any]] = {}
    for name, value in learned.items():
        array = np.array(value, subok=False)
        if not isinstance(name, str) or array.dtype.kind not in "biuf":
            raise TrainingError(
                f"train() must return arrays of numbers, got {name!r}: {array.dtype}"
            )
        arrays[name] = array
    if sum(array.nbytes for array in arrays.values()) > MAX_LEARNED_BYTES:
        raise TrainingError(f"train() returned more than {MAX_LEARNED_BYTES >> 20} MB")
    return arrays
