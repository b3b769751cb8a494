"""Names of worlds, as the command line writes them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents.notation import NotationError, parse_settings, written_settings

if TYPE_CHECKING:
    from periodic_envs.env import PeriodicBanditEnv


class UnknownWorldError(ValueError):
    """An id that nobody registered, or arguments it does not take."""


@dataclass(frozen=True)
class WorldSpec:
    """An environment's id with its arguments.

    >>> WorldSpec.parse("PeriodicGP-Madrid-v0:start=2018-11-03,stations=[4,8,50]")
    WorldSpec(env_id='PeriodicGP-Madrid-v0',
              arguments={'start': '2018-11-03', 'stations': [4, 8, 50]})

    A world of another package is named with its module: ``tide_world:Tide-v0:height=2``.
    """

    env_id: str
    arguments: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> WorldSpec:
        """From the command line's notation."""
        name, _, tail = text.partition(":")
        if "=" not in tail.partition(":")[0] and tail:
            module_id, _, tail = tail.partition(":")
            name = f"{name}:{module_id}"
        try:
            settings = parse_settings(tail)
        except NotationError as error:
            raise UnknownWorldError(str(error)) from error
        return cls(name, settings)

    def __str__(self) -> str:
        return self.env_id + written_settings(self.arguments)

    def make(self) -> PeriodicBanditEnv:
        """The environment."""
        import gymnasium as gym

        from periodic_envs.env import PeriodicBanditEnv

        try:
            env = gym.make(self.env_id, **self.arguments).unwrapped
        except (gym.error.Error, ModuleNotFoundError) as error:
            raise UnknownWorldError(_unknown(self.env_id)) from error
        except ValueError as error:
            raise UnknownWorldError(f"{self.env_id}: {error}") from error
        if not isinstance(env, PeriodicBanditEnv):
            raise UnknownWorldError(f"{self.env_id} is not an environment of this suite")
        return env


def _unknown(env_id: str) -> str:
    import periodic_envs

    close = difflib.get_close_matches(env_id, periodic_envs.ids(), n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(close)}?" if close else "see: periodic-gp envs"
    return f"there is no environment {env_id!r}; {hint}"
