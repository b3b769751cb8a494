"""Episodes of one or many copies of a world, and the setup from which they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.draws import Draws, OtherDraws
from periodic_envs.noise import Noise
from periodic_envs.process import Origin, PublicInfo, RewardProcess
from periodic_envs.world import World, build_world

Space = spaces.Discrete | spaces.Box
DEFAULT_HORIZON = 200


@dataclass(frozen=True)
class Setup:
    """World and all settings that are the same in every episode."""

    world: World
    horizon: int
    noise: Noise
    reveal_period: bool
    regret: bool = True

    def __post_init__(self) -> None:
        checks.whole("horizon", self.horizon, 1)
        checks.truth("reveal_period", self.reveal_period)
        checks.truth("regret", self.regret)
        if self.origin is not None and self.horizon > self.origin.steps:
            raise ValueError(
                f"horizon must be at most {self.origin.steps}, the number of steps in the data, "
                f"got {self.horizon}"
            )
        self.world.check_horizon(self.horizon)
        if self.noise.kind == "poisson" and self.public.n_actions is None:
            raise ValueError(
                "noise='poisson' needs a finite set of actions with non-negative mean rewards, but "
                f"the actions of {type(self.world).__name__} are a box: choose noise='gaussian'"
            )

    @classmethod
    def of(
        cls,
        world: World | RewardProcess | str,
        *,
        horizon: int | None = None,
        noise: str = "gaussian",
        noise_std: float = 1.0,
        noise_df: float = 3.0,
        reveal_period: bool = True,
        regret: bool = True,
        **world_kwargs: Any,
    ) -> Setup:
        """Return the setup for the arguments of an environment."""
        scatter = Noise(noise, noise_std, noise_df)
        built = build_world(world, world_kwargs)
        if horizon is None:
            horizon = DEFAULT_HORIZON if built.origin is None else built.origin.steps
        return cls(built, horizon, scatter, reveal_period, regret)

    @cached_property
    def origin(self) -> Origin | None:
        """Origin of the rewards, or None in worlds that do not replay or simulate measurements."""
        return self.world.origin

    @cached_property
    def public(self) -> PublicInfo:
        """Public description of the world, without the periods if they are hidden."""
        public = self.world.public
        return public if self.reveal_period else replace(public, periods=())

    @property
    def observation_fields(self) -> tuple[str, ...]:
        """Names of the entries of an observation."""
        phase = ("cos_phase", "sin_phase") if self.reveal_period else ()
        named = self.public.context_names
        numbered = tuple(f"context_{i}" for i in range(self.public.context_dim))
        return ("t", *phase, *(numbered if named is None else named))

    def observation_space(self) -> spaces.Box:
        """Return the space of observations: unscaled time, and all other entries in [-1, 1]."""
        first = self.public.first_step
        low, high = (np.full(len(self.observation_fields), b) for b in (-1.0, 1.0))
        low[0], high[0] = first, first + self.horizon
        return spaces.Box(low, high, dtype=np.float64)

    def action_space(self) -> Space:
        """Return the action space: indices of actions, or the box [-1, 1]^dim."""
        if self.public.n_actions is not None:
            return spaces.Discrete(self.public.n_actions)
        return spaces.Box(-1.0, 1.0, (self.public.dim,), np.float32)

    def draw(self, rng: np.random.Generator) -> Episode:
        """Draw one episode: its reward process, its noise and its observations."""
        process = self.world.draw(rng, self.horizon)
        noise = self.noise.draw(rng, process, self._times)
        observations = self._phases(process.period)
        if process.contexts is not None:
            observations = np.hstack([observations, process.contexts])
        first = self.public.first_step
        return Episode(process, first, noise, observations, self.origin, self.regret)

    def draw_many(self, rngs: Sequence[np.random.Generator]) -> Batch:
        """Draw one episode for every copy, each from a separate generator."""
        draws = self.world.draw_many(rngs, self.horizon)
        noise = self.noise.draw_many(rngs, draws, self._times)
        periods = draws.periods
        if (periods == periods[0]).all():
            shared = self._phases(periods[0])[:, None]
            observations = np.broadcast_to(shared, (len(shared), len(rngs), shared.shape[2]))
        else:
            observations = np.stack([self._phases(period) for period in periods], axis=1)
        if draws.contexts is not None:
            contexts = draws.contexts.swapaxes(0, 1)
            observations = np.concatenate([observations, contexts], axis=2)
        first = self.public.first_step
        return Batch(draws, first, noise, observations, self.origin, self.regret)

    @property
    def _times(self) -> Array:
        return phase_table(self.public.first_step, self.horizon, None)[:-1, 0]

    def _phases(self, period: float) -> Array:
        revealed = float(period) if self.reveal_period else None
        return phase_table(self.public.first_step, self.horizon, revealed)


@lru_cache(maxsize=8)
def phase_table(first_step: int, horizon: int, period: float | None) -> Array:
    """Return the observations of an episode without contexts, shape (horizon + 1, 1 or 3).

    The columns are the time and, unless ``period`` is None, the cosine and the sine of the phase.
    The table is read-only, since episodes share it.
    """
    times = np.arange(first_step, first_step + horizon + 1, dtype=np.float64)
    columns = [times]
    if period is not None:
        angle = 2.0 * np.pi * times / period
        columns += [np.cos(angle), np.sin(angle)]
    table = np.stack(columns, axis=1)
    table.flags.writeable = False
    return table


@dataclass
class Episode:
    """One draw of a world, and the regret so far.

    Attributes:
        process: Reward process of the episode.
        first_step: Time of the first decision.
        noise: Errors to add to the mean rewards, shape (T,); with Poisson noise, the rewards of all
            actions, shape (T, actions).
        observations: Observations before each step and after the last step, shape (T + 1, fields).
        origin: Origin of the rewards, or None.
        regret: True to search for the best action of each step; otherwise the ``info`` of a step
            contains only ``t``, ``phase`` and, for data, ``data_source``.
    """

    process: RewardProcess
    first_step: int
    noise: Array
    observations: Array
    origin: Origin | None = None
    regret: bool = True
    _total: float = 0.0

    def reset_info(self) -> dict[str, Any]:
        """Return the ``info`` of a reset."""
        info: dict[str, Any] = {
            "t": self.first_step,
            "phase": self.first_step % self.process.period,
        }
        if self.process.warm_start is not None:
            info["warm_start"] = self.process.warm_start.as_info()
        return info | _origin_info(self.origin)

    def step_info(self, t: int, mean: float) -> dict[str, Any]:
        """Return the ``info`` of the decision at time ``t`` whose mean reward is ``mean``."""
        process = self.process
        info: dict[str, Any] = {"t": t, "phase": t % process.period}
        if self.regret:
            action, best = process.optimum(t)
            regret = best - mean if best > mean else 0.0  # a negative difference is round-off
            self._total = total = self._total + regret
            info["regret"] = regret
            info["cumulative_regret"] = total
            info["mean_reward"] = mean
            info["optimal_reward"] = best
            info["optimal_action"] = action
        if self.origin is not None:
            info["data_source"] = self.origin.source
        return info


class Batch:
    """Episodes of n copies; each entry of ``info`` is an array with a mask.

    Attributes:
        draws: Reward processes of the copies.
        first_step: Time of the first decision.
        noise: Errors to add to the mean rewards, shape (T, n); with Poisson noise, the rewards of
            all actions, shape (T, n, actions).
        observations: Observations before each step and after the last step, shape
            (T + 1, n, fields).
    """

    def __init__(
        self,
        draws: Draws | OtherDraws,
        first_step: int,
        noise: Array,
        observations: Array,
        origin: Origin | None,
        regret: bool,
    ) -> None:
        self.draws, self.first_step, self.noise = draws, first_step, noise
        self.observations = observations
        self._origin, self._regret = origin, regret
        self._copies, self._total = np.arange(len(draws)), np.zeros(len(draws))
        periods = draws.periods
        self._periods = periods[0] if (periods == periods[0]).all() else periods

    def reward(self, mean: Array, actions: NDArray[Any], step: int) -> Array:
        """Return the rewards of all copies at a step, shape (n,)."""
        noise = self.noise[step]
        rewards: Array = mean + noise if noise.ndim == 1 else noise[self._copies, actions]
        return rewards

    def reset_info(self) -> dict[str, Any]:
        """Return the ``info`` of a reset."""
        info = self._clock(self.first_step)
        if self.draws.warm_start is not None:
            info["warm_start"] = self._masked(self.draws.warm_start.as_info())
        for key, text in _origin_info(self._origin).items():
            info[key] = np.full(len(self._copies), text, dtype=object)
        return self._masked(info)

    def step_info(self, t: int, mean: Array) -> dict[str, Any]:
        """Return the ``info`` of the decisions at time ``t``, whose mean rewards are ``mean``."""
        info = self._clock(t)
        if self._regret:
            action, best = self.draws.optimum(t)
            regret = np.maximum(best - mean, 0.0)
            self._total = self._total + regret
            info["regret"] = regret
            info["cumulative_regret"] = self._total.copy()
            info["mean_reward"] = mean.copy()
            info["optimal_reward"] = best
            info["optimal_action"] = action
        if self._origin is not None:
            info["data_source"] = np.full(len(self._copies), self._origin.source, dtype=object)
        return self._masked(info)

    def _clock(self, t: int) -> dict[str, Any]:
        copies = len(self._copies)
        return {"t": np.full(copies, t), "phase": np.full(copies, t % self._periods)}

    def _masked(self, entries: dict[str, Any]) -> dict[str, Any]:
        """Return the entries with Gymnasium's masks; every copy has all entries."""
        masks = {f"_{key}": np.ones(len(self._copies), np.bool_) for key in entries}
        return entries | masks


def _origin_info(origin: Origin | None) -> dict[str, str]:
    if origin is None:
        return {}
    notes = {"data_notes": "; ".join(origin.notes)} if origin.notes else {}
    return {"data_source": origin.source, **notes}


class Described:
    """Properties that describe the world of a scalar or vectorised environment."""

    setup: Setup
    _spec: EnvSpec | None = None

    @property
    def horizon(self) -> int:
        """Number of steps in an episode."""
        return self.setup.horizon

    @property
    def spec(self) -> EnvSpec | None:
        """Specification of the environment, from which wrappers read the length of episodes.

        The environment truncates its episodes, so ``gym.make(id)`` adds no time limit. Environments
        that are made from this specification have a time limit of the same length. For a different
        horizon, use ``gym.make(env.spec, horizon=500, max_episode_steps=500)``.
        """
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = copy(spec)
        if self._spec is not None:
            self._spec.max_episode_steps = self.horizon

    @property
    def observation_fields(self) -> tuple[str, ...]:
        """Names of the entries of an observation."""
        return self.setup.observation_fields

    @property
    def noise_std(self) -> float | None:
        """Noise standard deviation that agents may know; None for "poisson" and "none"."""
        return self.setup.noise.public_std

    @property
    def data_source(self) -> str | None:
        """Value of ``info["data_source"]``, or None if ``info`` has no such entry."""
        return self.setup.origin.source if self.setup.origin else None

    @property
    def data_fingerprint(self) -> str | None:
        """SHA-256 hash of the data or parameters that determine the rewards, or None."""
        return self.setup.origin.fingerprint if self.setup.origin else None

    @property
    def data_notes(self) -> tuple[str, ...]:
        """Descriptions of changes to the data, such as gaps that were filled."""
        return self.setup.origin.notes if self.setup.origin else ()
