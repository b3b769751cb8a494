"""Worlds of one's own: where their modules are, for this process and for those that it starts.

``harbour:Harbour-v0`` names the module ``harbour``, which is installed or in the current folder.
That folder comes last, behind all that is installed, and only once such a world is asked for.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from evaluation.specs import UnknownWorldError, WorldSpec

OURS = "periodic_envs"


class WorldModule(NamedTuple):
    """The module of somebody's world, and the folder that it was imported from."""

    name: str
    folder: str


def look_for(spec: WorldSpec) -> None:
    """Import the module of a world that somebody asks for by name, from the current folder at last.

    Not for worlds that a file of results names: to look at results runs no code that lies around.

    Raises:
        UnknownWorldError: One sentence, where there is no such module or no such world.
    """
    module, _, env_id = spec.env_id.rpartition(":")
    if module.endswith(".py") or all(part.isidentifier() for part in module.split(".")):
        _bring_in(module, env_id)
    elif _is_unknown(env_id):
        try:
            spec.make()
        except UnknownWorldError as error:
            if module:
                raise
            hint = f"a world of your own is named with its module: my_module:{env_id}"
            raise UnknownWorldError(f"{error} ({hint})") from error


def modules_of(specs: Iterable[WorldSpec]) -> tuple[WorldModule, ...]:
    """The modules of the worlds that are not ours, for processes that have not imported them.

    Raises:
        UnknownWorldError: If another process cannot import one.
    """
    found = {_module_of(spec) for spec in specs}
    return tuple(sorted(module for module in found if module is not None))


def know(modules: Iterable[WorldModule]) -> None:
    """Import the modules of worlds, in a process that was told of them."""
    for module in modules:
        with contextlib.suppress(Exception):  # whoever makes the world says what is wrong
            _import(module.name, module.folder)


def _is_unknown(env_id: str) -> bool:
    import periodic_envs

    return env_id not in periodic_envs.ids()


def _bring_in(module: str, env_id: str) -> None:
    if module.endswith(".py"):
        name = f"{Path(module).stem}:{env_id}"
        raise UnknownWorldError(f"a world is named with its module, not with its file: {name}")
    try:
        _import(module, os.getcwd())
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise UnknownWorldError(f"cannot import {module!r}: {error}") from error
        raise UnknownWorldError(
            f"cannot find the world {env_id!r}: no module {error.name!r} is installed, and none is "
            "in the current folder"
        ) from error
    except Exception as error:  # somebody else's file can fail in any way
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise UnknownWorldError(
            f"cannot import {module!r}: {type(error).__name__}: {error} "
            f"({where.filename}, line {where.lineno})"
        ) from error


def _import(module: str, folder: str) -> None:
    """Import a module; one that is not installed, from a folder that stays the last to look in."""
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        missing_itself = error.name is not None and f"{module}.".startswith(f"{error.name}.")
        if folder in sys.path or not missing_itself:
            raise
        sys.path.append(folder)
        try:
            import_module(module)
        except BaseException:
            sys.path.remove(folder)
            raise


def _module_of(spec: WorldSpec) -> WorldModule | None:
    """None for a world of ours, and for one that nobody knows: that is said elsewhere."""
    import gymnasium as gym

    known = gym.registry.get(spec.env_id.rpartition(":")[2])
    name = str(known.kwargs.get("world", "")).partition(":")[0] if known else ""
    if not name or name.partition(".")[0] == OURS:
        return None
    file = getattr(sys.modules.get(name), "__file__", None)
    if name == "__main__" or file is None:
        raise UnknownWorldError(
            f"{spec.env_id} is defined in this script or notebook, which other processes do not "
            "import: put it into a file of its own and import that, or run with workers=0"
        )
    path = Path(file).resolve()
    depth = name.count(".") + (path.stem == "__init__")
    return WorldModule(name, str(path.parents[depth]))
