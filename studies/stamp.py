"""The stamp on a page: the code that its figures were made with.

A stamp is a comment in the page, which its readers do not see. It names the command, the version
and the commit, and has a hash of the code of every agent and world that was run, of the runner and
of the study. ``periodic-gp stale`` holds these against the installed code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import gymnasium as gym
import msgspec

from agents.registry import UnknownAgentError, online_names
from evaluation.keys import agent_source, hash_of_ours, runner_source, world_source
from evaluation.provenance import machine
from evaluation.running.imports import closure, file_of
from evaluation.running.process import ROOT

Kind = Literal["agents", "worlds", "runner", "study"]
Code = dict[Kind, dict[str, str]]
"""Of every kind the names and the hashes of their code."""
RUNNER = "evaluation.running"
COMPUTING = (
    "agents",
    *(f"evaluation/{name}" for name in ("backtest", "logs", "priors", "statistics", "studies")),
    *(f"evaluation/{name}.py" for name in ("compared", "phases", "results", "seasons")),
)
"""Of all that a study imports, what its figures may depend on besides worlds and runner."""
CARRYING = tuple(f"studies/{name}.py" for name in ("__init__", "lab", "pages", "stamp"))
"""What all studies share, and no figure depends on."""
DIGITS = 16
"""Of a SHA-256 in hexadecimal digits."""
GONE = ""
"""The hash of what is not there any more."""
_COMMENT = re.compile(r"<!-- made with\n(.*?)\n-->\n?", re.DOTALL)


class StampError(ValueError):
    """A stamp that cannot be read: one sentence that says why."""


class Stamp(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a page, or a part of one, was made with.

    Attributes:
        command: What makes it anew.
        version: Of the package.
        commit: Of the checkout, None if it was none.
        code: Hashes of the code of all agents and worlds, of the runner and of the study.
        part: Which part of the page, empty for all of it.
        every_agent: Whether all agents that learn online were run: one that is new is missing.
    """

    command: str
    version: str
    commit: str | None
    code: Code
    part: str = ""
    every_agent: bool = False

    def written(self) -> str:
        """The comment in the page."""
        content = msgspec.json.format(msgspec.json.encode(self), indent=1).decode()
        escaped = content.replace(">", "\\u003e")  # nothing within ends the comment
        return f"<!-- made with\n{escaped}\n-->\n"

    def over(self, older: Stamp | None) -> Stamp:
        """The stamp of a part of which only some rows are new: it is as old as its oldest row."""
        if older is None:
            return self
        code = {kind: {**names, **older.code.get(kind, {})} for kind, names in self.code.items()}
        return msgspec.structs.replace(older, code=code)


def make_stamp(
    command: str,
    *,
    study: str,
    agents: Iterable[str] = (),
    worlds: Iterable[str] = (),
    part: str = "",
) -> Stamp:
    """The stamp of what has just been made.

    Args:
        command: What makes it anew.
        study: The module of the study, or its package.
        agents: Names of the agents that were run.
        worlds: Ids of the worlds.
        part: Which part of the page, empty for all of it.
    """
    agents = sorted(set(agents))
    names: dict[Kind, Iterable[str]] = {
        "agents": agents,
        "worlds": sorted(set(worlds)),
        "runner": [RUNNER] if agents else [],
        "study": [study],
    }
    return Stamp(
        command=command,
        version=version("periodic-gp"),
        commit=machine()["commit"],
        code=code_of(names),
        part=part,
        every_agent=set(online_names()) <= set(agents),
    )


def code_of(names: Mapping[Kind, Iterable[str]], root: Path = ROOT) -> Code:
    """The hashes of all names as they are now, ``GONE`` where there is nothing of that name."""
    return {kind: {name: _hash(kind, name, root) for name in names[kind]} for kind in names}


def _hash(kind: Kind, name: str, root: Path) -> str:
    try:
        return _SOURCES[kind](name, root)[:DIGITS]
    except (UnknownAgentError, gym.error.Error, ImportError, OSError):
        return GONE


def _source_of_world(env_id: str, root: Path) -> str:
    module, _, name = gym.spec(env_id).kwargs["world"].partition(":")
    world: type = getattr(import_module(module), name)
    return world_source(object.__new__(world), root)


def _source_of_study(module: str, root: Path) -> str:
    own = file_of(module, root)
    if own is None:
        raise ImportError(f"there is no study {module!r}")
    starts = own.parent.rglob("*.py") if own.name == "__init__.py" else [own]
    found = {path.relative_to(root).as_posix(): path for path in closure(starts, root)}
    kept = (name for name in found if name.startswith(COMPUTING) and name not in CARRYING)
    return hash_of_ours((found[name] for name in kept), root)


_SOURCES: dict[Kind, Callable[[str, Path], str]] = {
    "agents": agent_source,
    "worlds": _source_of_world,
    "runner": lambda name, root: runner_source(root),
    "study": _source_of_study,
}


def stamps_in(page: str) -> list[Stamp]:
    """All stamps of a page.

    Raises:
        StampError: If one cannot be read.
    """
    try:
        return [msgspec.json.decode(found, type=Stamp) for found in _COMMENT.findall(page)]
    except msgspec.MsgspecError as error:
        raise StampError(f"its stamp cannot be read: {error}") from error
