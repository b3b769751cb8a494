"""Inversion of control for learning loops.

An algorithm of stable-baselines3 controls the loop: its method ``learn`` calls ``env.step``. An
agent of this package is called from outside. ``learn`` therefore runs on a separate stack (a
greenlet), in an environment whose ``step`` returns the action to the caller and waits for the
reward and the next observation.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from greenlet import getcurrent, greenlet
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.utils import set_random_seed


class WaitingEnv(gym.Env[NDArray[np.float32], Any]):
    """Environment with an endless episode; ``Loop.go_on`` supplies rewards and observations."""

    def __init__(self, observation_space: spaces.Space[Any], action_space: spaces.Space[Any]):
        self.observation_space = observation_space
        self.action_space = deepcopy(action_space)  # the copy has a separate random generator

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Wait for the first observation."""
        _, observation = getcurrent().parent.switch(None)
        return observation, {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Pass an action to the caller of ``Loop.go_on``, and wait for the next call."""
        reward, observation = getcurrent().parent.switch(action)
        return observation, reward, False, False, {}


class Loop:
    """Learning loop that pauses after each action, until ``go_on`` is called.

    Args:
        learn: Function that steps a :class:`WaitingEnv`.
    """

    def __init__(self, learn: Callable[[], object]) -> None:
        self._stack = greenlet(lambda *_: learn())
        self._stack.switch()  # runs up to the request for the first observation

    def go_on(self, reward: float, observation: NDArray[np.float32]) -> Any:
        """Return the next action of the loop, which continues with a reward and an observation.

        The reward belongs to the previous action; it is ignored in the first call.
        """
        self._stack.parent = getcurrent()  # control returns to the current caller
        answer = self._stack.switch((reward, observation))
        if self._stack.dead:
            raise RuntimeError("the learning loop has ended unexpectedly")
        return answer


class OwnGlobalState:
    """Separate global state for one agent: random generators and torch's number of threads.

    Stable-baselines3 draws from the global generators of torch, NumPy and Python. Within this
    context manager, these generators have the agent's state, so that the agent and the process do
    not affect each other.
    """

    def __init__(self, seed: int) -> None:
        self._inside: tuple[Any, Any, Any, int] | None = None
        with self:
            set_random_seed(seed)
            torch.set_num_threads(1)  # small networks are slower with more threads

    def __enter__(self) -> None:
        self._outside = _state()
        if self._inside is not None:
            _restore(self._inside)

    def __exit__(self, *_: object) -> None:
        self._inside = _state()
        _restore(self._outside)


def _state() -> tuple[Any, Any, Any, int]:
    threads = torch.get_num_threads()
    return torch.get_rng_state(), np.random.get_state(), random.getstate(), threads  # noqa: NPY002


def _restore(state: tuple[Any, Any, Any, int]) -> None:
    torch.set_rng_state(state[0])
    np.random.set_state(state[1])  # noqa: NPY002
    random.setstate(state[2])
    if torch.get_num_threads() != state[3]:
        torch.set_num_threads(state[3])
