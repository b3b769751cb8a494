"""What an environment is made of: a world, its noise, and one episode drawn from them."""

from __future__ import annotations

import difflib
import inspect
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any, cast

import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.noise import Noise
from periodic_envs.process import Origin, PublicInfo, RewardProcess
from periodic_envs.world import World

Space = spaces.Discrete | spaces.Box
DEFAULT_HORIZON = 200
ENV_ARGUMENTS = (
    *("horizon", "noise", "noise_std", "noise_df", "reveal_period", "regret", "render_mode"),
)


@dataclass(frozen=True)
class Setup:
    """A world with everything that does not change from episode to episode."""

    world: World
    horizon: int
    noise: Noise
    reveal_period: bool
    regret: bool = True

    def __post_init__(self) -> None:
        checks.whole("horizon", self.horizon, 1)
        checks.truth("reveal_period", self.reveal_period)
        checks.truth("regret", self.regret)
        self.world.check_horizon(self.horizon)
        if self.noise.kind == "poisson" and self.public.n_actions is None:
            raise ValueError(
                "noise='poisson' needs a finite set of actions with non-negative mean rewards, "
                f"which {type(self.world).__name__} has not; choose noise='gaussian'"
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
        """The setup that an environment's arguments ask for."""
        scatter = Noise(noise, noise_std, noise_df)
        built = build_world(world, world_kwargs)
        return cls(built, resolve_horizon(built, horizon), scatter, reveal_period, regret)

    @cached_property
    def origin(self) -> Origin | None:
        """Where the rewards come from, if from data."""
        return self.world.origin

    @cached_property
    def public(self) -> PublicInfo:
        """What agents may know of the world."""
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
        """Time is unscaled and exact, all else in [-1, 1]."""
        first = self.public.first_step
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
        noise = self.noise.draw(rng, process, self.times[:-1])
        first = self.public.first_step
        return Episode(process, first, noise, self._observations(process), self.origin)

    @property
    def times(self) -> Array:
        """The time before each step, and after the last."""
        return phase_table(self.public.first_step, self.horizon, None)[:, 0]

    def _observations(self, process: RewardProcess) -> Array:
        period = float(process.period) if self.reveal_period else None
        table = phase_table(self.public.first_step, self.horizon, period)
        return table if process.contexts is None else np.hstack([table, process.contexts])


@lru_cache(maxsize=8)
def phase_table(first_step: int, horizon: int, period: float | None) -> Array:
    """Observations without contexts, one row for each time; kept, since episodes share them."""
    times = np.arange(first_step, first_step + horizon + 1, dtype=np.float64)
    columns = [times]
    if period is not None:
        angle = 2.0 * np.pi * times / period
        columns += [np.cos(angle), np.sin(angle)]
    table = np.stack(columns, axis=1)
    table.flags.writeable = False
    return table


class Described:
    """What an environment, one copy or many, says about its world."""

    setup: Setup
    _spec: EnvSpec | None = None

    @property
    def horizon(self) -> int:
        """Steps in an episode."""
        return self.setup.horizon

    @property
    def spec(self) -> EnvSpec | None:
        """What it was made from, with the length of its episodes: wrappers ask for that.

        The environment ends its episodes itself, so ``gym.make(id)`` adds no time limit. One that
        is made anew from this specification has one of the same length, too: with another horizon,
        say ``gym.make(env.spec, horizon=500, max_episode_steps=500)``.
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
        """The noise level agents may know."""
        return self.setup.noise.public_std

    @property
    def data_source(self) -> str | None:
        """Where the rewards come from, if from data: what ``info["data_source"]`` says."""
        return self.setup.origin.source if self.setup.origin else None

    @property
    def data_fingerprint(self) -> str | None:
        """SHA-256 over all that fixes the rewards, if they come from data."""
        return self.setup.origin.fingerprint if self.setup.origin else None

    @property
    def data_notes(self) -> tuple[str, ...]:
        """What was done to the data, in words: gaps that were filled, and the like."""
        return self.setup.origin.notes if self.setup.origin else ()


@dataclass(frozen=True)
class Episode:
    """One draw: the process, the noise, and the observation before each step and after the last."""

    process: RewardProcess
    first_step: int
    noise: Array
    observations: Array
    origin: Origin | None = None


def reset_info(episode: Episode) -> dict[str, Any]:
    """The ``info`` of a reset."""
    first = episode.first_step
    info: dict[str, Any] = {"t": first, "phase": first % episode.process.period}
    if episode.process.warm_start is not None:
        info["warm_start"] = episode.process.warm_start.as_info()
    return info | origin_info(episode.origin)


def origin_info(origin: Origin | None) -> dict[str, str]:
    """What the ``info`` of a reset says of the data."""
    if origin is None:
        return {}
    notes = {"data_notes": "; ".join(origin.notes)} if origin.notes else {}
    return {"data_source": origin.source, **notes}


def resolve_horizon(world: World, horizon: int | None) -> int:
    """The horizon asked for; without one, all that there are data for."""
    origin = world.origin
    if horizon is None:
        return DEFAULT_HORIZON if origin is None else origin.steps
    checks.whole("horizon", horizon, 1)
    if origin is not None and horizon > origin.steps:
        raise ValueError(f"horizon must be at most {origin.steps}, the steps of the data")
    return horizon


@dataclass(frozen=True)
class FixedWorld(World):
    """A world that always is the same reward process."""

    process: RewardProcess

    @property
    def public(self) -> PublicInfo:
        """What agents may know."""
        return self.process.public

    def draw(self, rng: np.random.Generator, horizon: int) -> RewardProcess:
        """Return the process."""
        return self.process


def build_world(world: World | RewardProcess | str, kwargs: dict[str, Any]) -> World:
    """Return the world of an object or of "module:Class"."""
    if isinstance(world, str):
        world = cast("World", _class_of(world, kwargs)(**kwargs))
    elif kwargs:
        raise ValueError(f"a world that is already built takes no {', '.join(map(repr, kwargs))}")
    if isinstance(world, RewardProcess):
        return FixedWorld(world)
    if not isinstance(world, World):
        raise ValueError(f"expected a World or a RewardProcess, got {world!r}")
    return world


def _class_of(world: str, kwargs: dict[str, Any]) -> Any:
    """The class, if it takes these arguments. (Gymnasium would garble a TypeError.)"""
    module, _, name = world.partition(":")
    try:
        factory = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"world must be 'module:Class' of an importable world, got {world!r} ({error})"
        ) from error
    allowed = [*inspect.signature(factory).parameters, *ENV_ARGUMENTS]
    for argument in kwargs:
        if argument not in allowed:
            close = difflib.get_close_matches(argument, allowed, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise ValueError(
                f"there is no argument {argument!r}{hint}; {name} takes {', '.join(allowed)}"
            )
    return factory
