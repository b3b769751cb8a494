"""A learning loop turned inside out.

Algorithms of stable-baselines3 own their loop: ``learn`` calls ``env.step``. An agent here is asked
and told from outside. So ``learn`` runs on a stack of its own (a greenlet), in an environment whose
``step`` hands the action out and sleeps until reward and next observation are known.
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
    """An environment that waits for somebody else to tell what happened. It never ends."""

    def __init__(self, observation_space: spaces.Space[Any], action_space: spaces.Space[Any]):
        self.observation_space = observation_space
        self.action_space = deepcopy(action_space)  # with random numbers of its own

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """The first observation, when it is there."""
        _, observation = getcurrent().parent.switch(None)
        return observation, {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Hand out an action; wait."""
        reward, observation = getcurrent().parent.switch(action)
        return observation, reward, False, False, {}


class Loop:
    """``learn`` as a conversation.

    Args:
        learn: Steps a :class:`WaitingEnv` environment until it has enough.
    """

    def __init__(self, learn: Callable[[], object]) -> None:
        self._stack = greenlet(lambda *_: learn())
        self._stack.switch()  # up to its first question, the first observation

    def go_on(self, reward: float, observation: NDArray[np.float32]) -> Any:
        """Tell what the last action gave (ignored at the start); the next action."""
        self._stack.parent = getcurrent()  # whoever asks now is answered
        answer = self._stack.switch((reward, observation))
        if self._stack.dead:
            raise RuntimeError("the learning loop has ended; it was to go on forever")
        return answer


class OwnGlobalState:
    """Global state kept apart for one agent: random numbers of torch, NumPy and Python, threads.

    Stable-baselines3 draws from the global generators. Within this context they are the agent's
    own, so that what else happens in the process changes nothing, either way.
    """

    def __init__(self, seed: int) -> None:
        self._inside: tuple[Any, Any, Any, int] | None = None
        with self:
            set_random_seed(seed)
            torch.set_num_threads(1)  # networks this small only get slower with more

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
