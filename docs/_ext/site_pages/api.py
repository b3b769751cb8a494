"""Pages of the Python API: the names that the packages export, documented by autodoc."""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

ORDER = (
    *("periodic_envs", "agents.base", "agents", "agents.testing", "agents.gp", "agents.zoo"),
    "evaluation",
)
"""Modules with a page. A name that several modules export is on the first of these pages."""
EXTRA = {
    "evaluation": (
        "evaluation.results:Results",
        "evaluation.results:Scores",
        "evaluation.results:Curves",
        "evaluation.runner:Progress",
        "periodic_decisions.decider.plan:Plan",
        "evaluation.store:Store",
    ),
    "agents": (
        "agents.registry:find_class",
        "agents.registry:settings_of",
        "agents.rl.vec_env:BatchEnv",
    ),
    "agents.zoo": (
        "agents.zoo.arms.arm_agent:ArmAgent",
        "agents.zoo.arms.arm_agent:arms_of",
        "agents.zoo.arms.arm_agent:nearest_arm",
        "agents.zoo.linear.linear_agent:LinearAgent",
        "agents.zoo.gp.gp_agent:GPAgent",
    ),
    "periodic_envs": tuple(
        f"periodic_envs.checks:{name}"
        for name in ("positive", "greater", "at_least", "within", "whole", "truth", "one_of")
    ),
}
"""Names that are documented although the modules do not export them."""
OPTIONAL = "agents.rl.vec_env"
"""Module that needs stable-baselines3, without which its names are omitted."""
WORDS = {
    "periodic_envs": "Environments. Importing the package registers all of them with Gymnasium.",
    "agents": "Functions that find, create, save and load agents.",
    "agents.base": "Interface of agents, and their problem. Start here to write an agent.",
    "agents.testing": "Tests that every agent should pass.",
    "agents.gp": "Kernels, posteriors, exploration schedules and fitting, for your own agents.",
    "agents.zoo": "Base classes of the agents in the zoo. You can subclass them, but they may "
    "change from one version to the next.",
    "evaluation": "Functions that run agents in worlds, their results, and the plan of a decider.",
}


@dataclass(frozen=True)
class Name:
    """A name of the API.

    Attributes:
        place: Full name of the object, including the module that defines it.
        kind: Sphinx directive that documents the object: ``autoclass``, ``autofunction``,
            ``autoexception``, ``autodata``, or ``py:data`` for the alias of a type.
        home: Module from which users import the object.
    """

    place: str
    kind: str
    home: str


def exported(module: str) -> list[Name]:
    """Return the public names of a module: those in ``__all__``, or else those that it defines."""
    found = import_module(module)
    listed = getattr(found, "__all__", None) or [
        name
        for name, thing in vars(found).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module
    ]
    names = [_name(module, name, getattr(found, name)) for name in listed]
    for place in EXTRA.get(module, ()):
        owner, _, attribute = place.partition(":")
        if owner == OPTIONAL and find_spec("stable_baselines3") is None:
            continue
        names.append(_name(owner, attribute, getattr(import_module(owner), attribute)))
    return [name for name in names if name is not None]


def _name(module: str, name: str, thing: Any) -> Name | None:
    owner = getattr(thing, "__module__", module)
    if inspect.ismodule(thing):
        return None
    if inspect.isclass(thing):
        kind = "autoexception" if issubclass(thing, BaseException) else "autoclass"
        return Name(f"{owner}.{thing.__qualname__}", kind, module)
    if inspect.isfunction(thing) or hasattr(thing, "__wrapped__"):
        return Name(f"{owner}.{thing.__qualname__}", "autofunction", module)
    # For an alias, autodoc would print the docstring of the aliased type, such as dict.
    plain = isinstance(thing, str | int | float)
    return Name(f"{module}.{name}", "autodata" if plain else "py:data", module)


def api_pages() -> dict[str, str]:
    """Return pages in reStructuredText by file name; every name is documented once."""
    pages: dict[str, str] = {}
    seen: set[str] = set()
    for module in ORDER:
        names = [name for name in exported(module) if name.place not in seen]
        seen |= {name.place for name in names}
        pages[f"{module}.rst"] = _page(module, names)
    entries = "\n".join(f"   {module}" for module in ORDER)
    rows = "\n".join(f":doc:`{module}`\n   {WORDS[module]}\n" for module in ORDER)
    tree = f".. toctree::\n   :hidden:\n   :maxdepth: 1\n\n{entries}\n"
    pages["index.rst"] = f"Python API\n==========\n\n{rows}\n{tree}"
    return pages


def imports(names: list[Name]) -> list[str]:
    """Return the lines of Python that import some names."""
    homes: dict[str, list[str]] = {}
    for name in names:
        homes.setdefault(name.home, []).append(name.place.rpartition(".")[2])
    lines = []
    for home, found in homes.items():
        line = f"from {home} import {', '.join(found)}"
        if len(line) > 88:
            line = f"from {home} import (\n{textwrap.fill(', '.join(found), 84)}\n)"
            first, *middle, last = line.split("\n")
            lines += [first, *(f"    {part}" for part in middle), last]
        else:
            lines.append(line)
    return lines


def _page(module: str, names: list[Name]) -> str:
    doc = inspect.getdoc(import_module(module)) or ""
    # A docstring with a code example is a better introduction than the description.
    lines = [module, "=" * len(module), "", doc if "::" in doc else WORDS[module], ""]
    lines += [".. code-block:: python", "", *(f"   {line}" for line in imports(names)), ""]
    for name in names:
        lines += ["", f".. {name.kind}:: {name.place}"]
        if name.kind in ("autoclass", "autoexception"):
            lines += ["   :members:"]
    return "\n".join(lines) + "\n"
