"""Agents of a protocol: given as Python objects, and checked before anything is run.

A class may name the actions that it takes; without it an agent takes both::

    class LinearPerArm:
        takes = "arms"  # or "box"
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

from agents.registry import (
    BUILT_IN,
    GENERIC_RL,
    AgentSpec,
    UnknownAgentError,
    find_class,
    is_built_in,
    names,
    settings_of,
)
from evaluation.protocol import Protocol
from evaluation.specs import AgentEntry, ProtocolError, require_list

AgentArgument = str | AgentSpec | Callable[..., Any] | Mapping[str, Any]
"""The command line's notation, a spec, a class or function that makes an agent (with its settings:
``functools.partial(Mine, epsilon=0.1)``), or a table as in a protocol with one of these as its name
(``{"name": Mine, "track": "pretrained", "training_steps": 6400}``)."""

ARMS, BOX = "arms", "box"
WORDS = {ARMS: "arms", BOX: "boxes (continuous actions)"}


def entries_of(agents: Collection[AgentArgument]) -> list[Any]:
    """Return agents as protocols name them: texts as they are, all others as tables.

    Raises:
        ProtocolError: If something is not an agent that workers could make.
    """
    every = require_list("agents", agents, ProtocolError)
    try:
        return list(_labelled([_entry(agent) for agent in every]))
    except ValueError as error:
        raise ProtocolError(f"agents: {error}") from error


def _labelled(entries: list[Any]) -> Iterator[Any]:
    """Call classes by their names, and by their modules where two have the same name."""
    labels = [str(_short(each)) if isinstance(each, AgentSpec) else "" for each in entries]
    for each, label in zip(entries, labels, strict=True):
        if isinstance(each, AgentSpec):
            own = label if labels.count(label) == 1 else str(each)
            yield {"name": each.name, "settings": each.settings, "label": own}
        else:
            yield each


def _short(spec: AgentSpec) -> AgentSpec:
    return spec if spec.name in names() else AgentSpec(spec.name.rpartition(":")[2], spec.settings)


def _entry(agent: AgentArgument) -> AgentSpec | Mapping[str, Any] | str:
    if isinstance(agent, AgentSpec):
        return {"name": agent.name, "settings": agent.settings, "label": str(agent)}
    if isinstance(agent, str):
        return agent
    if not isinstance(agent, Mapping):
        return _spec(agent)
    made = agent.get("name")
    if made is None or isinstance(made, str):  # the protocol checks it
        return agent
    spec = made if isinstance(made, AgentSpec) else _spec(made)
    settings = {**spec.settings, **agent.get("settings", {})}
    return {"label": str(_short(spec)), **agent, "name": spec.name, "settings": settings}


def _spec(made: Any) -> AgentSpec:
    """Return the spec of a class or function, with the settings of a partial."""
    settings: dict[str, Any] = {}
    while isinstance(made, partial):
        if made.args:
            raise UnknownAgentError(f"settings are given by name, got {made!r}")
        settings, made = {**made.keywords, **settings}, made.func
    if not inspect.isclass(made) and not inspect.isfunction(made):
        if hasattr(made, "act"):
            kind = type(made).__name__
            raise UnknownAgentError(f"every run makes an agent of its own: give the class {kind}")
        raise UnknownAgentError(f"expected a text, an AgentSpec, a class or a table, got {made!r}")
    if made.__module__ == "builtins":
        raise UnknownAgentError(f"{made.__name__} is not an agent: it lacks act() and update()")
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
    registered = [name for name, where in names().items() if where == place]
    if registered or made.__module__ == "__main__":
        return registered[0] if registered else place
    try:
        importable = find_spec(made.__module__.partition(".")[0]) is not None
    except ValueError:
        importable = False
    return place if importable else f"{inspect.getfile(made)}:{made.__name__}"


def checked_agents(protocol: Protocol, *, trusted: bool) -> Protocol:
    """Check all agents; return the protocol without worlds whose actions an agent does not take.

    Args:
        protocol: The agents and worlds.
        trusted: Whether agents of third parties may be imported here; others fail when they run.

    Raises:
        ProtocolError: If an agent cannot be made or trained, or takes the actions of no world.
    """
    kept = []
    for entry in protocol.agents:
        if trusted or is_built_in(entry.spec.name):
            try:
                _check(entry, find_class(entry.spec.name))
            except ValueError as error:
                raise ProtocolError(f"agents: {error}") from error
            entry = _fitted(entry, protocol)
        kept.append(entry)
    return protocol if tuple(kept) == protocol.agents else replace(protocol, agents=tuple(kept))


def _check(entry: AgentEntry, made: Any) -> None:
    name = entry.spec.name
    missing = [f"{method}()" for method in ("act", "update") if not hasattr(made, method)]
    if inspect.isclass(made) and missing:
        raise UnknownAgentError(
            f"{name} is not an agent: its class has no {' and no '.join(missing)}"
        )
    _check_training(entry, made)
    entry.spec.check_settings(settings_of(made))
    if not entry.training_steps:
        try:
            inspect.signature(made).bind(None, None, **entry.spec.settings)
        except TypeError:
            raise UnknownAgentError(
                f"{name} cannot be made: its class needs def __init__(self, problem, rng), "
                "followed by settings if it has any"
            ) from None


def _check_training(entry: AgentEntry, made: Any) -> None:
    name = entry.spec.name
    if not entry.training_steps:
        is_rl = is_built_in(name) and BUILT_IN[name].family == GENERIC_RL
        if is_rl and entry.track == "pretrained" and not entry.spec.pretrained:
            raise UnknownAgentError(
                f'{entry.label!r} is in the track "pretrained" but has learned nothing before; '
                "give it training_steps, or leave track out"
            )
        return
    missing = [each for each in ("train", "after_training") if not hasattr(made, each)]
    if missing:
        raise UnknownAgentError(
            f"{entry.label!r} has training_steps, but its class has no "
            f"{'() and no '.join(missing)}(); if it was trained elsewhere, leave training_steps "
            'out and keep track = "pretrained"'
        )
    for method in ("train", "after_training"):
        if inspect.isclass(made) and inspect.isfunction(inspect.getattr_static(made, method)):
            raise UnknownAgentError(f"{method}() of {entry.label!r} must be a @classmethod")


def taken_by(name: str) -> str | None:
    """Return the actions that an agent takes, "arms" or "box"; None if both, or if not known.

    Raises:
        ProtocolError: If its class names anything else.
    """
    try:
        takes = getattr(find_class(name), "takes", None)
    except UnknownAgentError:
        return None  # reported when it is run
    if takes not in (None, ARMS, BOX):
        raise ProtocolError(f'agents: {name} has takes = {takes!r}; write "arms" or "box"')
    return takes


def refused(entry: AgentEntry, protocol: Protocol) -> list[str]:
    """Return the worlds of a protocol whose actions an agent does not take."""
    takes = taken_by(entry.spec.name)
    return [env.label for env in protocol.envs if takes not in (None, _kind(protocol, env.label))]


def _kind(protocol: Protocol, label: str) -> str:
    return BOX if protocol.setups[label].public.n_actions is None else ARMS


def _fitted(entry: AgentEntry, protocol: Protocol) -> AgentEntry:
    out = refused(entry, protocol)
    asked = [env.label for env in protocol.envs if entry.takes_part(env.label)]
    kept = tuple(label for label in asked if label not in out)
    if not kept:
        takes = WORDS[str(taken_by(entry.spec.name))]
        raise ProtocolError(
            f"agents: {entry.label!r} takes {takes} only, and no world here has any"
        )
    return entry if len(kept) == len(asked) else replace(entry, envs=kept)


def check_takes(spec: AgentSpec, kind: str, world: str) -> None:
    """Refuse an agent that does not take the actions of one world.

    Args:
        spec: The agent.
        kind: The actions of the world, "arms" or "box".
        world: Its name, for the message.

    Raises:
        UnknownAgentError: If it takes the other kind only.
    """
    takes = taken_by(spec.name)
    if takes not in (None, kind):
        raise UnknownAgentError(
            f"{spec.name} takes {WORDS[takes]} only, and {world} has {WORDS[kind]}"
        )
