"""The agents of this package, found by reading its source: nothing is imported to list them.

An agent is a class with a ``name`` and a ``family`` in a file below one of ``FOLDERS``. Both are
literal strings in the body of the class, and stand nowhere else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = Path(__file__).parent
FOLDERS = ("auto", "zoo", "rl")
GENERIC_RL = "generic RL"
"""The family of agents that are made for any task, and have protocols of their own."""


class Entry(NamedTuple):
    """What the source of an agent says about it.

    Attributes:
        place: Where its class is, as ``package.module:Class``.
        family: Whom it belongs with.
        summary: The first line of its documentation.
        pretrained_by: Its settings which, if given, make it start from what was learned elsewhere.
        pretrained: Whether it always does.
    """

    place: str
    family: str
    summary: str
    pretrained_by: tuple[str, ...] = ()
    pretrained: bool = False


@cache
def built_in(package: Path = PACKAGE) -> dict[str, Entry]:
    """The agents of this package by name: folder by folder, family by family, then by name.

    Raises:
        ValueError: If two agents have one name, or one has no family.
    """
    found: dict[str, Entry] = {}
    for folder in FOLDERS:
        files = sorted((package / folder).rglob("*.py"))
        agents = (pair for path in files for pair in _agents(path, package))
        for name, entry in sorted(agents, key=lambda pair: (pair[1].family, pair[0])):
            if name in found:
                raise ValueError(
                    f"two agents are named {name!r}: {found[name].place} and {entry.place}"
                )
            found[name] = entry
    return found


def is_built_in(name: str) -> bool:
    """Whether an agent of this package has this name."""
    return name in built_in()


def online_names() -> list[str]:
    """The agents of this package that learn in the run they are judged by: all but generic RL."""
    return [name for name, entry in built_in().items() if entry.family != GENERIC_RL]


def _agents(path: Path, package: Path) -> Iterator[tuple[str, Entry]]:
    """Names and entries of the agents in a file."""
    text = path.read_text(encoding="utf-8")
    if "    name" not in text:  # most files have no agent, and parsing is slow
        return
    module = ".".join(path.relative_to(package.parent).with_suffix("").parts)
    for node in ast.parse(text, filename=str(path)).body:
        says = dict(_constants(node)) if isinstance(node, ast.ClassDef) else {}
        if isinstance(node, ast.ClassDef) and isinstance(says.get("name"), str):
            place = f"{module}:{node.name}"
            if "family" not in says:
                raise ValueError(f'{place} has a name and no family: add family = "..." to it')
            summary = (ast.get_docstring(node) or "").partition("\n")[0]
            by, always = says.get("pretrained_by", ()), says.get("pretrained", False)
            yield says["name"], Entry(place, says["family"], summary, by, always)


def _constants(node: ast.ClassDef) -> Iterator[tuple[str, Any]]:
    """The attributes of a class that stand in its body as literal values."""
    for line in node.body:
        targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
        if isinstance(line, ast.Assign | ast.AnnAssign) and isinstance(targets[0], ast.Name):
            try:
                yield targets[0].id, ast.literal_eval(line.value or ast.Constant(None))
            except ValueError:  # computed: not what is looked for
                continue
