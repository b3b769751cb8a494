"""Agents as they are given in Python: texts, specs, classes, and what protocols say of each."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from agents.registry import REQUIRED, AgentSpec, UnknownAgentError, names, settings_of
from evaluation.keys import find_package
from evaluation.running.written import written
from evaluation.specs import ProtocolError, check_known, require_list

Named = str | AgentSpec | Callable[..., Any]
"""A text of the command line's notation, a spec, or a class or function that makes an agent.

Settings are given to a class by ``functools.partial(Mine, epsilon=0.1)``.
"""
Given = Named | Mapping[str, Any]
"""One of these, or a table as in a protocol, with one of these as its name:
``{"name": Mine, "track": "pretrained", "training_steps": 6400, "label": "mine, trained"}``.
"""


def entries_of(agents: Collection[Given], store: Path | None) -> list[Any]:
    """Agents as protocols name them: texts as they are, all else as tables.

    Args:
        agents: In the order in which they are listed.
        store: The file that results are kept in, None for memory. The code of classes that were
            typed into a notebook is kept in a folder beside it.

    Raises:
        ProtocolError: One sentence, where something is no agent that workers could make.
    """
    every = require_list("agents", agents, ProtocolError)
    try:
        return list(_labelled([_entry(given, store) for given in every]))
    except ValueError as error:
        raise ProtocolError(f"agents: {error}") from error


def _labelled(found: list[tuple[str, AgentSpec] | Mapping[str, Any] | str]) -> Iterator[Any]:
    """A class is called by its name, or by its whole place where two are called alike."""
    labels = [each[0] if isinstance(each, tuple) else each for each in found]
    for each, label in zip(found, labels, strict=True):
        if isinstance(each, tuple):
            spec = each[1]
            own = label if labels.count(label) == 1 else str(spec)
            yield {"name": spec.name, "settings": spec.settings, "label": own}
        else:
            yield each


def _entry(given: Given, store: Path | None) -> tuple[str, AgentSpec] | Mapping[str, Any] | str:
    """What is given, without classes."""
    if not isinstance(given, Mapping):
        return _spec(given, store)
    named = _spec(given["name"], store) if "name" in given else ""
    if isinstance(named, str):  # the protocol looks at it
        return given
    label, spec = named
    settings = {**spec.settings, **given.get("settings", {})}
    return {"label": label, **given, "name": spec.name, "settings": settings}


def _spec(given: Named, store: Path | None) -> tuple[str, AgentSpec] | str:
    """A text, or a spec with what it is to be called."""
    if isinstance(given, str):
        return given
    if isinstance(given, AgentSpec):
        return str(given), given
    settings: dict[str, Any] = {}
    while isinstance(given, partial):
        if given.args:
            raise UnknownAgentError(f"settings are given by name, got {given!r}")
        settings, given = {**given.keywords, **settings}, given.func
    if not inspect.isclass(given) and not inspect.isfunction(given):
        if hasattr(given, "act"):
            kind = type(given).__name__
            raise UnknownAgentError(f"agents are made anew for every run: give the class {kind}")
        raise UnknownAgentError(f"{given!r} is no text, no AgentSpec, no class and no table")
    place = name_of(given, store)
    short = place if place in names() else given.__name__
    _check(short, given, settings)
    return str(AgentSpec(short, settings)), AgentSpec(place, settings)


def _check(name: str, given: Callable[..., Any], settings: Mapping[str, Any]) -> None:
    """Refuse what could not be made, or would be no agent, before all of its runs fail."""
    if given.__module__ == "builtins":  # others may set act() and update() when they are made
        raise UnknownAgentError(f"{name} makes no agent: it has no act() and no update()")
    known = settings_of(given)
    if known is None:  # it takes anything
        return
    for setting in settings:
        check_known("setting", setting, known, f"of {name}")
    for setting, default in known.items():
        if default is REQUIRED and setting not in settings:
            needed = f"functools.partial({name}, {setting}=...)"
            raise UnknownAgentError(f"{name} needs a setting {setting!r}: give {needed}")


def name_of(made: Any, store: Path | None = None) -> str:
    """The name under which workers find a class or function.

    A registered name, ``package.module:Class`` if it is installed, or ``file.py:Class``.

    Raises:
        UnknownAgentError: One sentence, where no worker could find it.
    """
    module, own = str(made.__module__), str(made.__name__)
    if made.__qualname__ != own or not own.isidentifier():
        raise UnknownAgentError(
            f"{made.__qualname__} cannot be found by workers: define it at the top of a file "
            "or cell"
        )
    place = f"{module}:{own}"
    registered = [name for name, where in names().items() if where == place]
    if registered:
        return registered[0]
    if module == "__main__":
        return f"{_shortest(written(made, _folder(store)))}:{own}"
    if find_package(module.partition(".")[0]) is not None:
        return place
    file = getattr(sys.modules.get(module) or importlib.import_module(module), "__file__", None)
    # A file in a plain folder stands by itself; one of a package may need its neighbours.
    package = sys.modules.get(module.rpartition(".")[0])
    if file is None or getattr(package, "__file__", None) is not None:
        raise UnknownAgentError(
            f"{own} is in {module}, which is not installed, so that workers do not find it: "
            "install its package, or give it in one file"
        )
    return f"{_shortest(Path(file))}:{own}"


def _folder(store: Path | None) -> Path:
    """Where code is kept that was typed into a notebook: beside the store.

    For results that are kept in memory it is a folder that goes with this process.
    """
    return Path(_temporary().name) if store is None else store.with_name(f"{store.stem}-agents")


@functools.cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="periodic-gp-agents-")


def _shortest(path: Path) -> str:
    """From the current folder if it is below it: the same wherever the project lies."""
    whole, here = path.resolve(), Path(os.getcwd()).resolve()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)
