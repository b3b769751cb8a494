"""Pages of the Python API: what the packages export, documented by autodoc."""

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
"""The pages; what several modules export is on the first of them."""
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
"""What users meet beside the exported names."""
OPTIONAL = "agents.rl.vec_env"
"""Needs an extra: left out where that is not installed."""
WORDS = {
    "periodic_envs": "The worlds: importing the package registers every environment.",
    "agents": "Finding, making, saving and loading agents.",
    "agents.base": "What an agent is, and what it may know. Start here to write one.",
    "agents.testing": "Tests that every agent should pass.",
    "agents.gp": "Kernels, posteriors, exploration and fitting, for agents of your own.",
    "agents.zoo": "What agents of the zoo are built on. Build on it, too; it may change from one "
    "version to the next.",
    "evaluation": "Running agents in worlds, and deciding in production.",
}


@dataclass(frozen=True)
class Name:
    """A name of the API.

    Attributes:
        place: The full name of the object, where it is defined.
        kind: What documents it: ``autoclass``, ``autofunction``, ``autoexception``, ``autodata``;
            ``py:data`` for the alias of a type.
        home: The module to import it from.
    """

    place: str
    kind: str
    home: str


def exported(module: str) -> list[Name]:
    """The public names of a module: what it lists, or else what it defines."""
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
    # Of an alias autodoc would tell what its type says of itself, as dict does.
    plain = isinstance(thing, str | int | float)
    return Name(f"{module}.{name}", "autodata" if plain else "py:data", module)


def api_pages() -> dict[str, str]:
    """Pages in reStructuredText by their file names; a thing is documented once."""
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
    """The lines of Python that import some names."""
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
    # A module that shows how it is used needs no other word.
    lines = [module, "=" * len(module), "", doc if "::" in doc else WORDS[module], ""]
    lines += [".. code-block:: python", "", *(f"   {line}" for line in imports(names)), ""]
    for name in names:
        lines += ["", f".. {name.kind}:: {name.place}"]
        if name.kind in ("autoclass", "autoexception"):
            lines += ["   :members:"]
    return "\n".join(lines) + "\n"
