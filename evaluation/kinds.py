"""Agents that take arms only, or boxes only: they are left out of the other worlds.

A class says so in its body, and it is read from the text, without importing anything::

    class LinearPerArm:
        takes = "arms"  # or "box"

A class that says nothing inherits it from a class of its own package, or takes both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from agents.registry import AgentSpec, UnknownAgentError, names
from evaluation.keys import own_files
from evaluation.protocol import Protocol
from evaluation.running.imports import file_of
from evaluation.specs import AgentEntry, ProtocolError

ARMS, BOX = "arms", "box"
WORDS = {ARMS: "arms", BOX: "boxes (continuous actions)"}
"""What agents take, in words."""
ATTRIBUTE = "takes"
MAX_BASES = 10
"""Base classes that are followed, one behind the other."""


def taken_by(name: str) -> str | None:
    """What an agent takes: "arms" or "box", None if it takes both or nothing is known of it.

    Raises:
        ProtocolError: If its class says something else.
    """
    found = code_of(name)
    said = None if found is None else _said(*found, MAX_BASES)
    if said not in (None, ARMS, BOX):
        raise ProtocolError(f'agents: {name} says {ATTRIBUTE} = {said!r}; write "arms" or "box"')
    return said


def code_of(name: str) -> tuple[Path, str, list[Path]] | None:
    """The file and name of an agent's class, and the files of its package; None if it has none."""
    place, _, wanted = names().get(name, name).partition(":")
    try:
        files = [path for path in own_files(name) if path.suffix == ".py"]
    except UnknownAgentError:
        return None  # said when it is run
    start = Path(place) if place.endswith(".py") else _file_in(place, files) or file_of(place)
    return None if start is None else (start, wanted, files)


def fitted(protocol: Protocol) -> Protocol:
    """The protocol without the runs of agents in worlds whose actions they do not take.

    Raises:
        ProtocolError: If nothing is left for an agent.
    """
    agents = tuple(_fitted(entry, protocol) for entry in protocol.agents)
    return protocol if agents == protocol.agents else replace(protocol, agents=agents)


def refused(entry: AgentEntry, protocol: Protocol) -> list[str]:
    """The worlds of a protocol whose actions an agent does not take."""
    takes = taken_by(entry.spec.name)
    return [env.label for env in protocol.envs if takes not in (None, _kind(protocol, env.label))]


def _fitted(entry: AgentEntry, protocol: Protocol) -> AgentEntry:
    out = refused(entry, protocol)
    if not out:
        return entry
    asked = [env.label for env in protocol.envs if entry.takes_part(env.label)]
    left = tuple(label for label in asked if label not in out)
    if not left:
        takes = WORDS[str(taken_by(entry.spec.name))]
        raise ProtocolError(
            f"agents: {entry.label!r} takes {takes} only, and no world here has any"
        )
    return entry if len(left) == len(asked) else replace(entry, envs=left)


def check_takes(spec: AgentSpec, kind: str, world: str) -> None:
    """Refuse an agent that does not take the actions of one world.

    Args:
        spec: The agent.
        kind: The actions of the world, "arms" or "box".
        world: Its name, for the sentence.

    Raises:
        UnknownAgentError: One sentence.
    """
    takes = taken_by(spec.name)
    if takes not in (None, kind):
        raise UnknownAgentError(
            f"{spec.name} takes {WORDS[takes]} only, and {world} has {WORDS[kind]}"
        )


def _kind(protocol: Protocol, label: str) -> str:
    return BOX if protocol.setups[label].public.n_actions is None else ARMS


def _said(file: Path, wanted: str, files: list[Path], depth: int) -> str | None:
    """What a class in a file, or one that it is built on, says that it takes."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    node = next((n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == wanted), None)
    if node is None or not depth:
        return None
    if (own := _literal(node)) is not None:
        return own
    for written in node.bases:
        base = str(getattr(written, "id", None) or getattr(written, "attr", ""))
        place = imported_from(tree, base, files) or file
        if (found := _said(place, base, files, depth - 1)) is not None:
            return found
    return None


def _literal(node: ast.ClassDef) -> str | None:
    """The text that stands in the body of a class under the name of the attribute."""
    for line in node.body:
        targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
        if getattr(targets[0], "id", None) == ATTRIBUTE:
            value = getattr(line, "value", None)
            if not isinstance(value, ast.Constant):
                return "something computed"
            return None if value.value is None else str(value.value)
    return None


def imported_from(tree: ast.Module, name: str, files: Iterable[Path]) -> Path | None:
    """The file of the package that a name is imported from, if it is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(
            alias.name == name and alias.asname in (None, name) for alias in node.names
        ):
            return _file_in(node.module or "", files)
    return None


def _file_in(module: str, files: Iterable[Path]) -> Path | None:
    """The file of a module among those of its package."""
    tail = tuple(module.split("."))
    ends = (tail, (*tail, "__init__"))
    found = [f for f in files for e in ends if f.with_suffix("").parts[-len(e) :] == e]
    return found[0] if len(found) == 1 else None  # of two with one name it could be either
