"""Worlds of third parties: the modules that they come from.

``harbour:Harbour-v0`` names the module ``harbour``, which is installed or in the current folder.
That folder is searched last, and only if such a world is asked for.
"""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from pathlib import Path

from evaluation.specs import UnknownWorldError, WorldSpec


def look_for(spec: WorldSpec) -> None:
    """Import the module of a world that the user asks for by name.

    Not for worlds that a file of results names: to look at results runs no code of the folder.

    Raises:
        UnknownWorldError: If there is no such module or no such world.
    """
    import periodic_envs

    module, _, env_id = spec.env_id.rpartition(":")
    if module.endswith(".py"):
        name = f"{Path(module).stem}:{env_id}"
        raise UnknownWorldError(f"a world is named with its module, not with its file: {name}")
    if module and all(part.isidentifier() for part in module.split(".")):
        _import(module, env_id)
    elif env_id not in periodic_envs.ids():
        try:
            spec.make()
        except UnknownWorldError as error:
            if module:
                raise
            hint = f"a world of your own is named with its module: my_module:{env_id}"
            raise UnknownWorldError(f"{error} ({hint})") from error


def module_of(spec: WorldSpec) -> str:
    """Return the module that registers a third party's world; nothing for a world of ours."""
    import gymnasium as gym

    known = gym.registry.get(spec.env_id.rpartition(":")[2])
    module = str(known.kwargs.get("world", "")).partition(":")[0] if known else ""
    return "" if module.startswith("periodic_envs.") else module


def _import(module: str, env_id: str) -> None:
    """Import a module; the current folder is from now on the last place to look in."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise UnknownWorldError(f"cannot import {module!r}: {error}") from error
        raise UnknownWorldError(
            f"cannot find the world {env_id!r}: no module {error.name!r} is installed, and none is "
            "in the current folder"
        ) from error
    except Exception as error:  # a third party's file can fail in any way
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise UnknownWorldError(
            f"cannot import {module!r}: {type(error).__name__}: {error} "
            f"({where.filename}, line {where.lineno})"
        ) from error
