"""Inversion of control for learning loops.

Algorithms of stable-baselines3 own their loop: ``learn`` calls ``env.step``. Agents here are called
from outside, so ``learn`` runs on a separate stack (a greenlet), in an environment whose ``step``
returns the action to the caller and waits for the reward and the next observation.
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
    """Environment without end that receives rewards and observations from outside."""

    def __init__(self, observation_space: spaces.Space[Any], action_space: spaces.Space[Any]):
        self.observation_space = observation_space
        self.action_space = deepcopy(action_space)  # with its own random generator

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Wait for the first observation."""
        _, observation = getcurrent().parent.switch(None)
        return observation, {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Pass out an action and wait for its reward."""
        reward, observation = getcurrent().parent.switch(action)
        return observation, reward, False, False, {}


class Loop:
    """Learning loop that is advanced from outside.

    Args:
        learn: Function that steps a :class:`WaitingEnv`.
    """

    def __init__(self, learn: Callable[[], object]) -> None:
        self._stack = greenlet(lambda *_: learn())
        self._stack.switch()  # up to the request for the first observation

    def go_on(self, reward: float, observation: NDArray[np.float32]) -> Any:
        """Pass in the last reward (ignored at the start) and return the next action."""
        self._stack.parent = getcurrent()  # control returns to the current caller
        answer = self._stack.switch((reward, observation))
        if self._stack.dead:
            raise RuntimeError("the learning loop has ended unexpectedly")
        return answer


class OwnGlobalState:
    """Separate global state for one agent: generators of torch, NumPy and Python, and threads.

    Stable-baselines3 draws from the global generators. Within this context they hold the agent's
    state, so that agent and process do not affect each other.
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
