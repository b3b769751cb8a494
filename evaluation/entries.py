"""Agents of a protocol: given as Python objects, and checked before anything is run.

A class may name the actions that it takes; without it an agent takes both::

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
"""The command line's notation, a spec, a class or function that makes an agent (with its settings:
``functools.partial(Mine, epsilon=0.1)``), or a table as in a protocol with one of these as its name
(``{"name": Mine, "track": "pretrained", "training_steps": 6400}``)."""

TAKES = {"arms": "arms", "box": "boxes (continuous actions)"}
"""Values of ``takes``, and their names in messages."""


def entries_of(agents: Collection[AgentArgument]) -> list[Any]:
    """Return agents as protocols name them: texts as they are, all others as tables.

    Raises:
        ProtocolError: If something is not an agent that workers could make.
    """
    every = require_list("agents", agents, ProtocolError)
    try:
        return [agent if isinstance(agent, str) else _table(agent) for agent in every]
    except ValueError as error:
        raise ProtocolError(f"agents: {error}") from error


def _table(agent: Any) -> dict[str, Any]:
    """Return the table of an agent; its label is the name of the class, without its module."""
    table = dict(agent) if isinstance(agent, Mapping) else {"name": agent}
    made = table.get("name")
    if made is None or isinstance(made, str):
        return table  # the protocol checks it
    spec = made if isinstance(made, AgentSpec) else _spec(made)
    settings = {**spec.settings, **table.get("settings", {})}
    label = str(AgentSpec(spec.name.rpartition(":")[2], spec.settings))
    return {"label": label, **table, "name": spec.name, "settings": settings}


def _spec(made: Any) -> AgentSpec:
    """Return the spec of a class or function, with the settings of a partial."""
    settings: dict[str, Any] = {}
    while isinstance(made, partial):
        if made.args:
            raise UnknownAgentError(f"settings are given by name, got {made!r}")
        settings, made = {**made.keywords, **settings}, made.func
    if not inspect.isclass(made) and not inspect.isfunction(made):
        raise UnknownAgentError(
            f"expected a text, an AgentSpec, a class (not its instance) or a table, got {made!r}"
        )
    return AgentSpec(name_of(made), settings)


def name_of(made: Any) -> str:
    """Return the name under which workers find a class or function.

    Raises:
        UnknownAgentError: If it is not at the top of its module.
    """
    if made.__qualname__ != made.__name__ or not made.__name__.isidentifier():
        raise UnknownAgentError(
            f"workers cannot find {made.__qualname__}: define it at the top of a file or cell"
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
    """Check all agents; return the protocol without worlds whose actions an agent does not take.

    Args:
        protocol: The agents and worlds.
        trusted: Whether agents of third parties may be imported here; others fail when they run.

    Raises:
        ProtocolError: If an agent cannot be made or trained, or takes the actions of no world.
    """
    try:
        checked = tuple(
            _checked(entry, protocol) if trusted or is_built_in(entry.spec.name) else entry
            for entry in protocol.agents
        )
    except UnknownAgentError as error:
        raise ProtocolError(f"agents: {error}") from error
    return protocol if checked == protocol.agents else replace(protocol, agents=checked)


def _checked(entry: AgentEntry, protocol: Protocol) -> AgentEntry:
    """Return a checked agent with the worlds whose actions it takes."""
    name, made = entry.spec.name, find_class(entry.spec.name)
    missing = [f"{method}()" for method in ("act", "update") if not hasattr(made, method)]
    if inspect.isclass(made) and missing:
        raise UnknownAgentError(
            f"{name} is not an agent: its class has no {' and no '.join(missing)}"
        )
    entry.spec.check_settings(settings_of(made))
    if entry.training_steps:
        _check_training(entry.spec)
    else:
        try:
            inspect.signature(made).bind(None, None, **entry.spec.settings)
        except TypeError:
            raise UnknownAgentError(
                f"{name} cannot be made: its class needs def __init__(self, problem, rng), "
                "followed by settings if it has any"
            ) from None
    worlds = [env.label for env in protocol.envs if entry.takes_part(env.label)]
    taken = tuple(label for label in worlds if accepts(name, protocol.setups[label]))
    if not taken:
        kind = TAKES[str(taken_by(name))]
        raise UnknownAgentError(f"{entry.label!r} takes {kind} only, and no world here has any")
    return entry if len(taken) == len(worlds) else replace(entry, envs=taken)


def _check_training(spec: AgentSpec) -> None:
    made: Any = spec.trainable()
    for method in ("train", "after_training"):
        if inspect.isclass(made) and inspect.isfunction(inspect.getattr_static(made, method)):
            raise UnknownAgentError(f"{method}() of {spec.name} must be a @classmethod")


def taken_by(name: str) -> str | None:
    """Return the actions that an agent takes, "arms" or "box"; None if both, or if not known.

    Raises:
        ProtocolError: If its class names anything else.
    """
    try:
        takes = getattr(find_class(name), "takes", None)
    except UnknownAgentError:
        return None  # reported when it is run
    if takes not in (None, *TAKES):
        raise ProtocolError(f'agents: {name} has takes = {takes!r}; write "arms" or "box"')
    return takes


def accepts(name: str, setup: Setup) -> bool:
    """Return whether an agent takes the actions of a world."""
    return taken_by(name) in (None, "box" if setup.public.n_actions is None else "arms")
