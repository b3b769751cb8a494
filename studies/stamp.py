"""The stamp on a page: the code that its figures were made with.

A stamp is a comment in the page, which its readers do not see. It names the command, the version
and the commit, and has a hash of the code of every agent and world that was run, of the runner and
of the study. ``periodic-gp stale`` holds these against the installed code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Literal

import msgspec

from agents.registry import online_names
from evaluation.keys import our_code
from evaluation.provenance import machine

Kind = Literal["agents", "worlds", "runner", "study"]
Code = dict[Kind, dict[str, str]]
"""Of every kind the names and the hashes of their code."""
RUNNER = "evaluation.running"
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


def code_of(names: Mapping[Kind, Iterable[str]]) -> Code:
    """Return the hash of the code of this package, for all names."""
    return {kind: {name: our_code()[:DIGITS] for name in names[kind]} for kind in names}


def stamps_in(page: str) -> list[Stamp]:
    """All stamps of a page.

    Raises:
        StampError: If one cannot be read.
    """
    try:
        return [msgspec.json.decode(found, type=Stamp) for found in _COMMENT.findall(page)]
    except msgspec.MsgspecError as error:
        raise StampError(f"its stamp cannot be read: {error}") from error
