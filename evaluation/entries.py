"""Agents of a protocol: conversion from Python objects, and checks before the first run.

An agent is assumed to support both kinds of actions, arms and boxes. A class that supports only one
kind declares this kind in the attribute ``takes``::

    class LinearPerArm:
        takes = "arms"  # or "box"
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from agents.registry import (
    AgentSpec,
    UnknownAgentError,
    find_class,
    is_built_in,
    names,
    settings_of,
)
from evaluation.protocol import Protocol
from evaluation.specs import AgentEntry, ProtocolError, require_list

if TYPE_CHECKING:
    from periodic_envs.episode import Setup

AgentArgument = str | AgentSpec | Callable[..., Any] | Mapping[str, Any]
"""Agent: a string in the notation of the command line, an ``AgentSpec``, a class, a factory
function, or a table. To pass settings to a class or function, use ``functools.partial(MyAgent,
epsilon=0.1)``. A table has the same fields as in a protocol, and its name may have any of the other
forms: ``{"name": MyAgent, "track": "pretrained", "training_steps": 6400}``."""

TAKES = {"arms": "arms", "box": "boxes (continuous actions)"}
"""Values of the attribute ``takes`` of an agent, with their names in messages."""


def entries_of(agents: Collection[AgentArgument]) -> list[Any]:
    """Return agents in the notation of protocols: strings unchanged, all others as tables.

    Raises:
        ProtocolError: If an item is not an agent that workers can create.
    """
    every = require_list("agents", agents, partial(ProtocolError, "not-a-list"))
    try:
        return [agent if isinstance(agent, str) else _table(agent) for agent in every]
    except UnknownAgentError as error:
        raise ProtocolError(error.code, f"agents: {error}") from error


def _table(agent: Any) -> dict[str, Any]:
    """Return the table of an agent; the default label omits the module of the agent's class."""
    table = dict(agent) if isinstance(agent, Mapping) else {"name": agent}
    made = table.get("name")
    if made is None or isinstance(made, str):
        return table  # checked when the protocol is created
    spec = made if isinstance(made, AgentSpec) else _spec(made)
    settings = {**spec.settings, **table.get("settings", {})}
    label = str(AgentSpec(spec.name.rpartition(":")[2], spec.settings))
    return {"label": label, **table, "name": spec.name, "settings": settings}


def _spec(made: Any) -> AgentSpec:
    """Return the spec of a class or function, with the settings of a ``functools.partial``."""
    settings: dict[str, Any] = {}
    while isinstance(made, partial):
        if made.args:
            raise UnknownAgentError(
                "invalid-settings",
                f"functools.partial must have only keyword arguments, got {made!r}",
            )
        settings, made = {**made.keywords, **settings}, made.func
    if not inspect.isclass(made) and not inspect.isfunction(made):
        raise UnknownAgentError(
            "not-an-agent",
            "an agent must be a string, an AgentSpec, a class or function (not an instance), or a "
            f"table, got {made!r}",
        )
    return AgentSpec(name_of(made), settings)


def name_of(made: Any) -> str:
    """Return the name by which workers import a class or function.

    Raises:
        UnknownAgentError: If the class or function is not defined at the top level of its module.
    """
    if made.__qualname__ != made.__name__ or not made.__name__.isidentifier():
        raise UnknownAgentError(
            "not-importable",
            f"worker processes cannot import {made.__qualname__}: define it at the top level of "
            "a file or of a notebook cell",
        )
    place = f"{made.__module__}:{made.__name__}"
    for name, registered in names().items():
        if registered == place:
            return name
    try:
        is_importable = find_spec(made.__module__.partition(".")[0]) is not None
    except ValueError:
        is_importable = made.__module__ == "__main__"
    return place if is_importable else f"{inspect.getfile(made)}:{made.__name__}"


def checked_agents(protocol: Protocol, *, trusted: bool) -> Protocol:
    """Check all agents; return the protocol without incompatible pairs of agents and worlds.

    Args:
        protocol: Protocol with the agents and worlds.
        trusted: If True, third-party agents are imported and checked, too; otherwise, errors in
            these agents are reported when the agents are run.

    Raises:
        ProtocolError: If an agent cannot be created or trained, or supports none of its worlds.
    """
    try:
        checked = tuple(
            _checked(entry, protocol) if trusted or is_built_in(entry.spec.name) else entry
            for entry in protocol.agents
        )
    except UnknownAgentError as error:
        raise ProtocolError(error.code, f"agents: {error}") from error
    return protocol if checked == protocol.agents else replace(protocol, agents=checked)


def _checked(entry: AgentEntry, protocol: Protocol) -> AgentEntry:
    """Return an agent after validation, restricted to worlds whose actions it supports."""
    name, made = entry.spec.name, find_class(entry.spec.name)
    missing = [f"{method}()" for method in ("act", "update") if not hasattr(made, method)]
    if inspect.isclass(made) and missing:
        raise UnknownAgentError(
            "not-an-agent", f"{name} is not an agent: the class lacks {' and '.join(missing)}"
        )
    entry.spec.check_settings(settings_of(made))
    if entry.training_steps:
        _check_training(entry.spec)
    else:
        try:
            inspect.signature(made).bind(None, None, **entry.spec.settings)
        except TypeError:
            raise UnknownAgentError(
                "wrong-signature",
                f"{name} cannot be created: the class must define __init__(self, problem, rng), "
                "with the settings of the agent as additional parameters",
            ) from None
    worlds = [env.label for env in protocol.envs if entry.takes_part(env.label)]
    taken = tuple(label for label in worlds if accepts(name, protocol.setups[label]))
    if not taken:
        kind = TAKES[str(taken_by(name))]
        raise UnknownAgentError(
            "unsupported-environment",
            f"{entry.label!r} supports only {kind}, but none of its worlds has {kind}",
        )
    return entry if len(taken) == len(worlds) else replace(entry, envs=taken)


def _check_training(spec: AgentSpec) -> None:
    made: Any = spec.trainable()
    for method in ("train", "after_training"):
        if inspect.isclass(made) and inspect.isfunction(inspect.getattr_static(made, method)):
            raise UnknownAgentError(
                "not-a-classmethod", f"{method}() of {spec.name} must be a @classmethod"
            )


def taken_by(name: str) -> str | None:
    """Return the kind of actions that an agent supports: "arms", "box", or None for both kinds.

    The result is also None if the class of the agent cannot be imported.

    Raises:
        ProtocolError: If the attribute ``takes`` of the agent has a different value.
    """
    try:
        takes = getattr(find_class(name), "takes", None)
    except UnknownAgentError:
        return None  # the run reports the error
    if takes not in (None, *TAKES):
        raise ProtocolError(
            "unknown-actions",
            f'agents: the attribute \'takes\' of {name} must be "arms" or "box", got {takes!r}',
        )
    return takes


def accepts(name: str, setup: Setup) -> bool:
    """Return True if an agent supports the actions of a world."""
    return taken_by(name) in (None, "box" if setup.public.n_actions is None else "arms")
