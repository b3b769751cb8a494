"""The code of an agent, read without running it.

Whoever judges must not import what is judged: a module can do anything when it is imported. Agents
are imported only in processes that are thrown away.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterable
from pathlib import Path

import agents
from agents.registry import UnknownAgentError, names

OURS = Path(agents.__file__).parent
MOST_FILES = 2000
"""Of somebody's package."""


def own_files(name: str) -> list[Path]:
    """The files of an agent that is not ours: one file, or all of its package.

    Raises:
        UnknownAgentError: One sentence, where there is no such file, module or class.
    """
    place, _, attribute = names().get(name, name).partition(":")
    files = [Path(place)] if place.endswith(".py") else _files_of_module(name, place)
    if place.endswith(".py"):
        if not files[0].is_file():
            raise UnknownAgentError(f"cannot find the agent {name!r}: there is no file {place!r}")
        _require_defined(files[0], attribute)
    return [] if all(path.resolve().is_relative_to(OURS) for path in files) else files


def own_hash(name: str) -> str | None:
    """SHA-256 of these files; None for an agent of ours."""
    files = own_files(name)
    return hash_of(files) if files else None


def hash_of(files: Iterable[Path]) -> str:
    """SHA-256 over names and contents."""
    digest = hashlib.sha256()
    for path in sorted(files, key=lambda path: (path.name, str(path))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _files_of_module(name: str, module: str) -> list[Path]:
    """Of its top-level package, which can be found without importing anything."""
    try:
        found = importlib.util.find_spec(module.partition(".")[0])
    except (ImportError, ValueError):
        found = None
    if found is None:
        raise UnknownAgentError(
            f"cannot find the agent {name!r}: no module {module.partition('.')[0]!r} is installed"
        )
    folders = [Path(folder) for folder in found.submodule_search_locations or ()]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    if len(files) > MOST_FILES:
        raise UnknownAgentError(f"{name!r}: its package has more than {MOST_FILES:,} files")
    alone = found.origin is not None and not folders and Path(found.origin).is_file()
    return [Path(str(found.origin))] if alone else files


def _require_defined(path: Path, attribute: str) -> None:
    """Refuse a file that cannot have what is asked for, before anything is run."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise UnknownAgentError(f"cannot read the agent's file {str(path)!r}: {error}") from error
    found = set(_bound(tree.body))
    if attribute not in found and "*" not in found:
        known = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
        there = f"; it has {', '.join(known)}" if known else ""
        raise UnknownAgentError(
            f"cannot find the agent {attribute!r}: {str(path)!r} has no such class{there}"
        )


def _bound(body: list[ast.stmt]) -> Iterable[str]:
    """Names that statements at the top of a file may bind, ``*`` for unknown ones."""
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
