"""Registration of worlds under Gymnasium ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import gymnasium as gym

ENTRY_POINT = "periodic_envs.env:PeriodicBanditEnv"
VECTOR_ENTRY_POINT = "periodic_envs.vector:PeriodicBanditVectorEnv"

WorldClass = TypeVar("WorldClass", bound=type)


def register_world(env_id: str, **defaults: Any) -> Callable[[WorldClass], WorldClass]:
    """Return a class decorator that registers ``env_id`` for a world class.

    Args:
        env_id: Gymnasium id of the form ``Name-v0``.
        defaults: Default arguments of the environment, such as ``horizon`` or ``noise_std``. The
            values must be storable in JSON.
    """

    def register(world: WorldClass) -> WorldClass:
        path = f"{world.__module__}:{world.__qualname__}"
        known = gym.registry.get(env_id)
        if known is not None and known.kwargs.get("world") == path:
            # A reloaded module registers its world again. The old entry is deleted to avoid a
            # warning.
            del gym.registry[env_id]
        gym.register(
            env_id,
            entry_point=ENTRY_POINT,
            vector_entry_point=VECTOR_ENTRY_POINT,
            kwargs={"world": path, **defaults},
        )
        return world

    return register


def ids() -> list[str]:
    """Return the ids of all registered worlds, including worlds of other packages."""
    return sorted(key for key, spec in gym.registry.items() if spec.entry_point == ENTRY_POINT)
