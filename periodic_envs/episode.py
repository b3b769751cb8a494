"""What an environment is made of: a world, its noise, and one episode drawn from them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, cast

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from periodic_envs import checks
from periodic_envs.noise import Noise
from periodic_envs.process import Public, RewardProcess, World

Array = NDArray[np.float64]
Space = spaces.Discrete | spaces.Box


@dataclass(frozen=True)
class Setup:
    """A world with everything that does not change from episode to episode."""

    world: World
    horizon: int
    noise: Noise
    reveal_period: bool

    @classmethod
    def of(
        cls,
        world: World | RewardProcess | str,
        horizon: int,
        noise: str,
        noise_std: float,
        noise_df: float,
        reveal_period: bool,
        world_kwargs: dict[str, Any],
    ) -> Setup:
        """Check and collect an environment's arguments."""
        checks.whole("horizon", horizon, 1)
        built = _build(world, world_kwargs)
        return cls(built, int(horizon), Noise(noise, noise_std, noise_df), bool(reveal_period))

    @property
    def public(self) -> Public:
        """What agents may know of the world."""
        public = self.world.public
        return public if self.reveal_period else replace(public, periods=())

    @property
    def observation_fields(self) -> tuple[str, ...]:
        """Names of the entries of an observation."""
        phase = ("cos_phase", "sin_phase") if self.reveal_period else ()
        return ("t", *phase, *(f"context_{i}" for i in range(self.public.context_dim)))

    def observation_space(self) -> spaces.Box:
        """Time is unscaled and exact, all else in [-1, 1]."""
        first = getattr(self.world, "first_step", 0)
        low, high = (np.full(len(self.observation_fields), b) for b in (-1.0, 1.0))
        low[0], high[0] = first, first + self.horizon
        return spaces.Box(low, high, dtype=np.float64)

    def action_space(self) -> Space:
        """Indices, or the symmetric and normalised box that RL libraries recommend."""
        if self.public.n_actions is not None:
            return spaces.Discrete(self.public.n_actions)
        return spaces.Box(-1.0, 1.0, (self.public.dim,), np.float32)

    def draw(self, rng: np.random.Generator) -> Episode:
        """Everything random about one episode."""
        process = self.world.draw(rng, self.horizon)
        first = int(getattr(process, "first_step", 0))
        times = np.arange(first, first + self.horizon + 1, dtype=np.float64)
        noise = self.noise.draw(rng, process, times[:-1])
        return Episode(process, first, noise, self._observations(process, times))

    def _observations(self, process: RewardProcess, times: Array) -> Array:
        columns = [times]
        if self.reveal_period:
            angle = 2.0 * np.pi * times / process.period
            columns += [np.cos(angle), np.sin(angle)]
        contexts = getattr(process, "contexts", None)
        if contexts is not None:
            columns += list(contexts.T)
        return np.stack(columns, axis=1)


@dataclass(frozen=True)
class Episode:
    """One draw: the process, the noise, and the observation before each step and after the last."""

    process: RewardProcess
    first_step: int
    noise: Array
    observations: Array


def reset_info(episode: Episode) -> dict[str, Any]:
    """The ``info`` of a reset."""
    first = episode.first_step
    info: dict[str, Any] = {"t": first, "phase": first % episode.process.period}
    warm_start = getattr(episode.process, "warm_start", None)
    if warm_start is not None:
        info["warm_start"] = warm_start.as_info()
    return info


@dataclass(frozen=True)
class _Fixed:
    """A world that always is the same reward process."""

    process: Any

    @property
    def public(self) -> Public:
        public: Public = self.process.public
        return public

    def draw(self, rng: np.random.Generator, horizon: int) -> RewardProcess:
        process: RewardProcess = self.process
        return process


def _build(world: World | RewardProcess | str, kwargs: dict[str, Any]) -> World:
    """A world from an object or from "module:Class"."""
    if isinstance(world, str):
        module, _, name = world.partition(":")
        try:
            factory = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(
                f"world must be 'module:Class' of an importable world, got {world!r} ({error})"
            ) from error
        allowed = inspect.signature(factory).parameters
        unknown = sorted(set(kwargs) - set(allowed))
        if unknown:
            raise TypeError(
                f"{name} has no argument {', '.join(map(repr, unknown))}; it takes "
                f"{', '.join(allowed)} and the environment's own"
            )
        built: World = factory(**kwargs)
        return built
    if kwargs:
        raise TypeError(f"a world that is already built takes no {', '.join(map(repr, kwargs))}")
    fixed: Any = world if hasattr(world, "draw") else _Fixed(world)
    return cast("World", fixed)
