"""Adapter of Gymnasium vector environments to the ``VecEnv`` of stable-baselines3.

Stable-baselines3 requires its own class ``VecEnv``, whose standard implementation steps the copies
one by one in Python. In this adapter one call steps all copies. Only the entries of ``info`` about
the end of an episode are passed on, since all other entries are for evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from agents.rl.view import RunningRewardScale, View


class BatchEnv(VecEnv):
    """Batch of environments that are stepped in one call.

    Args:
        envs: Vector environment with ``autoreset_mode="SameStep"``.
        view: Transform of observations for the network; None for no transform.
        scale: Running scale of the rewards; None for no scaling.
    """

    def __init__(
        self,
        envs: VectorEnv[Any, Any, Any],
        *,
        view: View | None = None,
        scale: RunningRewardScale | None = None,
    ) -> None:
        mode = envs.metadata.get("autoreset_mode")
        if getattr(mode, "value", mode) != "SameStep":
            raise ValueError(
                "stable-baselines3 needs a vector environment with "
                f'autoreset_mode="SameStep", got {getattr(mode, "value", mode)!r}'
            )
        self._envs, self._view, self._scale = envs, view, scale
        self._seed: int | None = None
        self._actions: NDArray[Any] | None = None
        space = envs.single_observation_space if view is None else view.space
        super().__init__(envs.num_envs, space, deepcopy(envs.single_action_space))

    def reset(self) -> NDArray[Any]:
        """Start new episodes in all copies."""
        observations, _ = self._envs.reset(seed=self._seed)
        self._seed = None
        return self._seen(observations)

    def step_async(self, actions: NDArray[Any]) -> None:
        """Store the actions for ``step_wait``."""
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], list[dict[str, Any]]]:
        """Step all copies."""
        actions = self._actions
        assert actions is not None
        observations, rewards, terminated, truncated, info = self._envs.step(actions)
        if self._scale is not None:
            self._scale.update(rewards)
            rewards = self._scale(rewards)
        done = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if not done.any():
            return self._seen(observations, actions, rewards), _float32(rewards), done, infos
        final = np.array(
            [info["final_obs"][i] if over else observations[i] for i, over in enumerate(done)]
        )
        last = self._seen(final, actions, rewards)
        seen = np.where(done[:, None], self._seen(observations), last)
        for i in np.flatnonzero(done):
            infos[i] = {
                "terminal_observation": last[i],
                "TimeLimit.truncated": bool(truncated[i] and not terminated[i]),
            }
        return seen, _float32(rewards), done, infos

    def _seen(
        self, observations: NDArray[Any], actions: Any = None, rewards: Any = None
    ) -> NDArray[Any]:
        if self._view is None:
            return observations
        return self._view(observations, actions, rewards)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Set the seed of the next reset: ``seed + i`` for copy i."""
        self._seed = seed
        return [None if seed is None else seed + i for i in range(self.num_envs)]

    def close(self) -> None:
        """Close the copies."""
        self._envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the batch, once for each requested copy."""
        return [getattr(self._envs, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raise an error, since copies have no separate attributes."""
        raise AttributeError(
            f"cannot set {attr_name!r}: the copies of a batch have no separate attributes"
        )

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Raise an error, since copies have no separate methods."""
        raise AttributeError(
            f"cannot call {method_name!r}: the copies of a batch have no separate methods"
        )

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: Any = None
    ) -> list[bool]:
        """Return False for each requested copy, since copies have no separate wrappers."""
        return [False for _ in self._get_indices(indices)]


def _float32(rewards: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(rewards, dtype=np.float32)
