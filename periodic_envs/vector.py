"""Vectorised environment with many copies of a world.

All copies have the same horizon and are reset simultaneously, so they share one clock. The reward
processes and the noise of all copies are stacked in arrays, so that one step of all copies needs
only a few array operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.episode import Batch, Described, Setup
from periodic_envs.process import PublicInfo, RewardProcess
from periodic_envs.world import World


class PeriodicBanditVectorEnv(Described, VectorEnv[Array, NDArray[Any], NDArray[Any]]):
    """Vectorised environment: independent :class:`~periodic_envs.env.PeriodicBanditEnv` copies.

    After ``reset(seed=s)``, copy ``i`` has the same world and the same noise in every step as the
    scalar environment after ``reset(seed=s + i)``. All arguments of the scalar environment are
    accepted, except ``render_mode``.

    Args:
        num_envs: Number of copies.
        autoreset_mode: "NextStep" (default), "SameStep" or "Disabled". With "NextStep", the next
            call to ``step`` after the end of the episodes resets all copies and ignores the
            actions. With "SameStep", the last step already returns the first observation of the
            next episode, and ``info["final_obs"]`` contains the last observation. With "Disabled",
            only ``reset`` starts new episodes.
        max_episode_steps: Maximum number of steps in an episode, as in ``gym.make``. If the horizon
            of the world is smaller, episodes end at the horizon.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (a convention of Gymnasium)
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        world: World | RewardProcess | str,
        *,
        num_envs: int = 1,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        **arguments: Any,
    ) -> None:
        if render_mode is not None:
            raise ValueError(
                f"render_mode must be None in this vectorised environment, got {render_mode!r}; "
                'use vectorization_mode="sync" to render copies'
            )
        self.num_envs = checks.whole("num_envs", num_envs, 1)
        self.setup = Setup.of(world, **arguments)
        limit = self.setup.horizon if max_episode_steps is None else max_episode_steps
        self._length = min(checks.whole("max_episode_steps", limit, 1), self.setup.horizon)
        mode = getattr(autoreset_mode, "value", autoreset_mode)
        checks.one_of("autoreset_mode", mode, [m.value for m in AutoresetMode])
        self.metadata = {**self.metadata, "autoreset_mode": AutoresetMode(mode)}
        self.single_observation_space = self.setup.observation_space()
        self.single_action_space = self.setup.action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._n_actions = self.setup.public.n_actions
        self._action_shape = self.action_space.shape
        self._streams: list[tuple[np.random.Generator, int]] = []
        self._batch: Batch | None = None
        self._step = 0

    @property
    def public(self) -> PublicInfo:
        """Public description of the world."""
        return self.setup.public

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """Random generator of each copy."""
        return tuple(rng for rng, _ in self._streams)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """Seed of each copy."""
        return tuple(seed for _, seed in self._streams)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode in every copy.

        Copy i is seeded with ``seed + i`` or, if ``seed`` is a sequence, with ``seed[i]``.
        """
        mask = (options or {}).get("reset_mask")
        if mask is not None and not np.all(mask):
            raise ValueError(
                "reset_mask must be True for all copies, since they share one clock; "
                'use vectorization_mode="sync" to reset only some copies'
            )
        self._reseed(seed)
        return self._start()

    def _reseed(self, seed: int | Sequence[int | None] | None) -> None:
        if seed is None:
            seeds: Sequence[int | None] = [None] * self.num_envs
        elif isinstance(seed, Sequence | np.ndarray):
            seeds = [None if s is None else int(s) for s in seed]
        else:
            seeds = [int(seed) + i for i in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise ValueError(f"seed must have {self.num_envs} entries, got {len(seeds)}")
        # Without a seed the random stream of a copy continues, as in a scalar environment.
        self._streams = [
            self._streams[i] if s is None and self._streams else seeding.np_random(s)
            for i, s in enumerate(seeds)
        ]

    def _start(self) -> tuple[Array, dict[str, Any]]:
        """Draw the next episode of every copy."""
        self._batch, self._step = self.setup.draw_many(self.np_random), 0
        return self._batch.observations[0].copy(), self._batch.reset_info()

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Array, Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Make one decision in every copy and return the rewards."""
        batch, step = self._batch, self._step
        if batch is None:
            raise ResetNeeded("call reset() before step()")
        never = np.zeros(self.num_envs, np.bool_)
        mode = self.metadata["autoreset_mode"]
        if step >= self._length:
            if mode is not AutoresetMode.NEXT_STEP:
                raise ResetNeeded(
                    f"the episodes have ended after {self._length} steps: call reset()"
                )
            observation, info = self._start()
            return observation, np.zeros(self.num_envs), never, never.copy(), info
        checked = self._checked(actions)
        t = batch.first_step + step
        mean = batch.draws.mean(checked, t)
        reward, info = batch.reward(mean, checked, step), batch.step_info(t, mean)
        self._step = step + 1
        observation = batch.observations[step + 1].copy()
        over = step + 1 >= self._length
        if over and mode is AutoresetMode.SAME_STEP:
            observation, info = self._same_step_reset(observation, info)
        return observation, reward, never, np.full(self.num_envs, over), info

    def _same_step_reset(
        self, observation: Array, info: dict[str, Any]
    ) -> tuple[Array, dict[str, Any]]:
        """Start the next episodes, and add the last step of the previous episodes to ``info``."""
        final = np.empty(self.num_envs, dtype=object)
        final[:] = list(observation)
        observation, start = self._start()
        everywhere = np.ones(self.num_envs, np.bool_)
        start.update(final_obs=final, final_info=info)
        start.update(_final_obs=everywhere, _final_info=everywhere.copy())
        return observation, start

    def _checked(self, actions: Any) -> NDArray[Any]:
        actions = np.asarray(actions)
        if actions.shape != self._action_shape or actions.dtype.kind not in "iuf":
            raise InvalidAction(
                f"actions must be numeric and of shape {self._action_shape}, got {actions!r}"
            )
        if self._n_actions is None:
            # This form of the comparison also rejects NaN.
            if not np.abs(actions).max() <= 1.0:
                raise InvalidAction(f"actions must have entries in [-1, 1], got {actions!r}")
        elif actions.dtype.kind == "f" or actions.min() < 0 or actions.max() >= self._n_actions:
            raise InvalidAction(
                f"actions must be whole numbers in [0, {self._n_actions - 1}], got {actions!r}"
            )
        checked: NDArray[Any] = actions
        return checked
