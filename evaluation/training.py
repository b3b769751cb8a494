"""Training of agents in other worlds of the same kind, with a limited number of interactions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from evaluation.play import agent_generator, problem_of
from evaluation.record import LEARNED, unpack
from evaluation.runs import Run
from evaluation.specs import TRAINING_SEED
from periodic_envs.env import PeriodicBanditEnv

COPIES = 64
"""Maximum number of parallel environments."""
MAX_LEARNED_BYTES = 2**26
"""Maximum size of all learned arrays in total."""


class BudgetSpentError(Exception):
    """Raised if training would exceed its budget of interactions."""


class TrainingError(Exception):
    """Raised if a training run returns an invalid result."""


class Budget(VectorEnv[Any, Any, Any]):
    """Vector environment that limits the number of interactions during training.

    The environment sets the seeds, so that no agent trains in the worlds in which it is evaluated.
    The ``info`` that agents receive contains only the final observations.

    Args:
        envs: Vector environment of the worlds.
        steps: Maximum number of interactions, summed over all copies.

    Attributes:
        used: Number of interactions so far.
    """

    def __init__(self, envs: VectorEnv[Any, Any, Any], steps: int) -> None:
        self.num_envs, self.metadata = envs.num_envs, dict(envs.metadata)
        self.observation_space, self.action_space = envs.observation_space, envs.action_space
        self.single_observation_space = envs.single_observation_space
        self.single_action_space = envs.single_action_space
        self.used, self._steps, self._envs = 0, steps, envs
        self._seed: int | None = TRAINING_SEED

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Draw new worlds; the ``seed`` argument is ignored."""
        observations, _ = self._envs.reset(seed=self._seed)
        self._seed = None
        return observations, {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take one step in every copy."""
        if self.used + self.num_envs > self._steps:
            raise BudgetSpentError(
                f"train() must use at most {self._steps:,} interactions (training_steps)"
            )
        self.used += self.num_envs
        observations, rewards, terminated, truncated, info = self._envs.step(actions)
        public_info = {"final_obs": info["final_obs"]} if "final_obs" in info else {}
        return observations, rewards, terminated, truncated, public_info

    def close(self, **_: Any) -> None:
        """Do nothing; there are no resources to release."""


def train(run: Run, one: PeriodicBanditEnv) -> dict[str, NDArray[Any]]:
    """Train an agent and return the columns of the record of its training run.

    The columns are the learned arrays, the number of interactions, and the duration in seconds.

    Args:
        run: Training run.
        one: Single environment of the world of the run, from which the problem is derived.
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
        **run.world.world_arguments,
    )
    budget = Budget(envs, run.training_steps)
    learned = run.agent_spec.trainable().train(
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
    """Return the learned arrays on which a run depends, or None if it depends on no training."""
    if run.learned is None:
        return None
    columns = unpack(run.learned)
    return {n.removeprefix(LEARNED): c for n, c in columns.items() if n.startswith(LEARNED)}


def _plain(learned: Any) -> dict[str, NDArray[Any]]:
    """Check the result of ``train()`` and return it as numeric arrays by name."""
    if not isinstance(learned, Mapping):
        raise TrainingError(
            f"train() must return a dictionary of arrays, got {type(learned).__name__}"
        )
    arrays: dict[str, NDArray[Any]] = {}
    for name, value in learned.items():
        array = np.array(value, subok=False)
        if not isinstance(name, str) or array.dtype.kind not in "biuf":
            raise TrainingError(
                "train() must return a dictionary of numeric arrays with names as keys, got "
                f"{name!r} with dtype {array.dtype}"
            )
        arrays[name] = array
    if sum(array.nbytes for array in arrays.values()) > MAX_LEARNED_BYTES:
        raise TrainingError(f"train() must return at most {MAX_LEARNED_BYTES >> 20} MiB of arrays")
    return arrays
