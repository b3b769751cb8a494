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

    Subclasses define ``public``, and either ``draw`` or ``draw_many``.

    Attributes:
        listed_as: Texts for the actions, the period and the horizon in the list of environments,
            or None. Worlds set these texts if the values can be determined only by reading data.
    """

    listed_as: ClassVar[tuple[str, str, str] | None] = None

    @property
    def public(self) -> PublicInfo:
        """Public description of the world."""
        raise NotImplementedError

    @property
    def origin(self) -> Origin | None:
        """Origin of the rewards, or None in worlds that do not replay or simulate measurements."""
        return None

    def check_horizon(self, horizon: int) -> None:
        """Raise a ValueError if an episode of ``horizon`` steps is too short for this world."""

    def draw(self, rng: np.random.Generator, horizon: int) -> Any:
        """Draw a reward process that is defined for t = 0 .. first_step + horizon - 1."""
        return self.draw_many([rng], horizon)[0]

    def draw_many(self, rngs: Sequence[np.random.Generator], horizon: int) -> Draws | OtherDraws:
        """Draw the reward processes of many copies, one from each generator."""
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
        """Return the fixed reward process."""
        return self.process


def build_world(world: World | RewardProcess | str, kwargs: dict[str, Any]) -> World:
    """Build a world from a reward process, or from "module:Class" with arguments.

    A world is returned unchanged.
    """
    if isinstance(world, str):
        world = cast("World", _class_of(world, kwargs)(**kwargs))
    elif kwargs:
        raise ValueError(
            "arguments of a world are allowed only if world is 'module:Class', but world is an "
            f"object and the arguments are {', '.join(map(repr, kwargs))}"
        )
    if isinstance(world, RewardProcess):
        return FixedWorld(world)
    if not isinstance(world, World):
        raise ValueError(f"world must be a World, a RewardProcess or 'module:Class', got {world!r}")
    return world


def _class_of(world: str, kwargs: dict[str, Any]) -> Any:
    """Return the class of a world; raise a ValueError unless the class accepts the arguments.

    The arguments are checked before the class is called, since Gymnasium would obscure a TypeError.
    """
    module, _, name = world.partition(":")
    try:
        factory = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"world must name an importable class as 'module:Class', got {world!r} ({error})"
        ) from error
    allowed = [*inspect.signature(factory).parameters, *ENV_ARGUMENTS]
    for argument in kwargs:
        if argument not in allowed:
            close = difflib.get_close_matches(argument, allowed, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise ValueError(
                f"unknown argument {argument!r}{hint}; {name} accepts {', '.join(allowed)}"
            )
    return factory
