"""Many copies of a world, stepped at once.

All copies have the same horizon and are reset together, so the batch has one clock; what differs
between copies (the worlds, the noise) is stacked in arrays with the copies last or next to last.
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
from periodic_envs.batch import Batch, draw_batch
from periodic_envs.episode import Described, Setup, origin_info
from periodic_envs.info import BatchReporter, with_masks
from periodic_envs.process import PublicInfo, RewardProcess
from periodic_envs.world import World


class PeriodicBanditVectorEnv(Described, VectorEnv[Array, NDArray[Any], NDArray[Any]]):
    """``num_envs`` independent copies of :class:`~periodic_envs.env.PeriodicBanditEnv`.

    Copy ``i`` of ``reset(seed=s)`` meets the world and the noise of the scalar environment at
    ``reset(seed=s + i)``, step for step. All arguments of the scalar environment are taken.

    Args:
        num_envs: number of copies.
        autoreset_mode: "NextStep" (default: the call after the last step resets and ignores the
            actions), "SameStep" (the last step already returns the first observation of the next
            episode, the last one under ``final_obs`` in ``info``), or "Disabled".
        max_episode_steps: end episodes earlier than the world's horizon, as ``gym.make`` would.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (Gymnasium's own convention)
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
                f"render_mode must be None for a native vector env, got {render_mode!r}; "
                'use vectorization_mode="sync" to look at every copy'
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
        self._rngs: list[np.random.Generator] = []
        self._seeds: tuple[int, ...] = ()
        self._batch: Batch | None = None
        self._step = 0
        self._reporter: BatchReporter
        # Copying these is quicker than np.full, and every call returns fresh arrays.
        self._true, self._false = np.ones(num_envs, np.bool_), np.zeros(num_envs, np.bool_)

    @property
    def public(self) -> PublicInfo:
        """What agents may know of the world."""
        return self.setup.public

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """One generator per copy."""
        return tuple(self._rngs)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """One seed per copy."""
        return self._seeds

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode in new worlds: copy i is seeded ``seed + i``, or by a list's entry."""
        mask = (options or {}).get("reset_mask")
        if mask is not None and not np.all(mask):
            raise ValueError(
                "reset_mask must be all True: the copies keep one clock and are reset together; "
                'use vectorization_mode="sync" to reset some of them'
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
        # As in a scalar env, no seed means: go on with the stream there is.
        fresh = [None if s is None and self._rngs else seeding.np_random(s) for s in seeds]
        kept = self._rngs, self._seeds
        self._rngs = [pair[0] if pair else kept[0][i] for i, pair in enumerate(fresh)]
        self._seeds = tuple(pair[1] if pair else kept[1][i] for i, pair in enumerate(fresh))

    def _start(self) -> tuple[Array, dict[str, Any]]:
        """Draw the next episode of every copy."""
        batch = self._batch = draw_batch(self.setup, self._rngs)
        self._step = 0
        self._reporter = BatchReporter(
            batch.processes,
            batch.periods,
            self.setup.origin,
            copies=self.num_envs,
            regret=self.setup.regret,
        )
        return batch.table[0].copy(), self._reset_info(batch)

    def _reset_info(self, batch: Batch) -> dict[str, Any]:
        """What the scalar env says, for all copies; every entry with a mask beside it."""
        said: dict[str, Any] = {
            "t": np.full(self.num_envs, batch.first_step),
            "phase": np.full(self.num_envs, batch.first_step % batch.periods),
        }
        if batch.warm_start is not None:
            said["warm_start"] = with_masks(batch.warm_start.as_info(), self.num_envs)
        for key, text in origin_info(self.setup.origin).items():
            said[key] = np.full(self.num_envs, text, dtype=object)
        return with_masks(said, self.num_envs)

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Array, Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Make one decision in every copy."""
        batch, step = self._batch, self._step
        if batch is None:
            raise ResetNeeded("call reset() before step()")
        if step >= self._length:
            return self._after_the_end()
        checked = self._checked(actions)
        mean = batch.processes.mean(checked, batch.first_step + step)
        reward = batch.reward(mean, checked, step)
        info = self._reporter.report(batch.first_step + step, mean)
        self._step = step + 1
        observation = batch.table[step + 1].copy()
        over = step + 1 >= self._length
        done = (self._true if over else self._false).copy()
        if over and self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP:
            observation, info = self._same_step_reset(observation, info)
        return observation, reward, self._false.copy(), done, info

    def _after_the_end(
        self,
    ) -> tuple[Array, Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        if self.metadata["autoreset_mode"] is not AutoresetMode.NEXT_STEP:
            raise ResetNeeded(f"the episodes have ended after {self._length} steps: call reset()")
        observation, info = self._start()
        return observation, np.zeros(self.num_envs), self._false.copy(), self._false.copy(), info

    def _same_step_reset(
        self, observation: Array, info: dict[str, Any]
    ) -> tuple[Array, dict[str, Any]]:
        final = np.empty(self.num_envs, dtype=object)
        final[:] = list(observation)
        observation, start = self._start()
        everywhere = self._true.copy()
        start.update(final_obs=final, final_info=info)
        start.update(_final_obs=everywhere, _final_info=everywhere.copy())
        return observation, start

    def _checked(self, actions: Any) -> NDArray[Any]:
        actions = np.asarray(actions)
        if actions.shape != self._action_shape or actions.dtype.kind not in "iuf":
            raise InvalidAction(
                f"actions must be numbers of shape {self._action_shape}, got {actions!r}"
            )
        if self._n_actions is None:
            # NaN fails the comparison, too.
            if not np.abs(actions).max() <= 1.0:
                raise InvalidAction(f"actions must have entries in [-1, 1], got {actions!r}")
        elif actions.dtype.kind == "f" or actions.min() < 0 or actions.max() >= self._n_actions:
            raise InvalidAction(
                f"actions must be whole numbers in [0, {self._n_actions - 1}], got {actions!r}"
            )
        checked: NDArray[Any] = actions
        return checked
