"""Worlds: distributions of reward processes."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, cast

import numpy as np

from periodic_envs.draws import Draws, OtherDraws, gather
from periodic_envs.process import Origin, PublicInfo, RewardProcess

ENV_ARGUMENTS = (
    *("horizon", "noise", "noise_std", "noise_df", "reveal_period", "regret", "render_mode"),
)


class World:
    """Distribution of reward processes.

    Subclasses define ``public`` and one of ``draw`` and ``draw_many``.

    Attributes:
        listed_as: actions, period and horizon in a list of environments, if they are not known
            before data are read.
    """

    listed_as: ClassVar[tuple[str, str, str] | None] = None

    @property
    def public(self) -> PublicInfo:
        """Public description of the world."""
        raise NotImplementedError

    @property
    def origin(self) -> Origin | None:
        """Origin of the rewards, if they come from data."""
        return None

    def check_horizon(self, horizon: int) -> None:
        """Raise a ValueError if an episode is too short for this world."""

    def draw(self, rng: np.random.Generator, horizon: int) -> Any:
        """Return a new reward process, known for t = 0 .. first_step + horizon - 1."""
        return self.draw_many([rng], horizon)[0]

    def draw_many(self, rngs: Sequence[np.random.Generator], horizon: int) -> Draws | OtherDraws:
        """Return the reward processes of many copies, one for each generator."""
        return gather([self.draw(rng, horizon) for rng in rngs])


@dataclass(frozen=True)
class FixedWorld(World):
    """World with a fixed reward process."""

    process: RewardProcess

    @property
    def public(self) -> PublicInfo:
        """Public description of the world."""
        return self.process.public

    def draw(self, rng: np.random.Generator, horizon: int) -> RewardProcess:
        """Return the process."""
        return self.process


def build_world(world: World | RewardProcess | str, kwargs: dict[str, Any]) -> World:
    """Return the world of an object or of "module:Class"."""
    if isinstance(world, str):
        world = cast("World", _class_of(world, kwargs)(**kwargs))
    elif kwargs:
        raise ValueError(f"a world object takes no arguments, got {', '.join(map(repr, kwargs))}")
    if isinstance(world, RewardProcess):
        return FixedWorld(world)
    if not isinstance(world, World):
        raise ValueError(f"expected a World or a RewardProcess, got {world!r}")
    return world


def _class_of(world: str, kwargs: dict[str, Any]) -> Any:
    """Return the class if it accepts the arguments; Gymnasium would obscure a TypeError."""
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
                f"unknown argument {argument!r}{hint}; {name} takes {', '.join(allowed)}"
            )
    return factory
