"""The code that a result depends on, read and never run.

A result depends on the agent with all that it imports, on the world with the machinery that steps
it, and on the runner. Whoever judges must not import what is judged: a module can do anything when
it is imported. Agents are imported only in processes that are thrown away.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import os
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path

from agents.registry import AgentSpec, UnknownAgentError, names
from evaluation.provenance import version_of
from evaluation.running.imports import closure, file_of, scan, scan_ours
from evaluation.running.process import ROOT
from evaluation.running.statements import statements

MAX_PACKAGE_FILES, MAX_PACKAGE_BYTES = 2000, 2**30
"""Of somebody else's package."""
CACHE = "__pycache__"
"""Folders of compiled code, which is made from the sources; the sandbox does not see them."""
MACHINERY = tuple(f"periodic_envs/{name}.py" for name in ("env", "vector", "registration"))
"""What every world is stepped by."""


def sources_of(world: object, agent_spec: AgentSpec | None) -> str:
    """The code that a result depends on: that of the world, the runner and the agent."""
    agent = agent_source(agent_spec.name) if agent_spec else "-"
    return " ".join(part[:16] for part in (world_source(world), runner_source(), agent))


def world_source(world: object, root: Path = ROOT) -> str:
    """SHA-256 of the code of a world and of what steps it; of somebody else's, its own file."""
    machinery = _hash_of_ours(MACHINERY, root)
    try:
        own = Path(inspect.getfile(type(world))).resolve()
    except TypeError:  # built in C: nothing to hash
        return machinery
    if own.is_relative_to(ROOT / "periodic_envs"):
        return _hash_of_ours((*MACHINERY, own.relative_to(ROOT).as_posix()), root)
    content = own.read_bytes() if own.is_file() else b""
    return hashlib.sha256(machinery.encode() + b"\0" + content).hexdigest()


def runner_source(root: Path = ROOT) -> str:
    """SHA-256 of the code that plays and judges."""
    return _hash_of_ours(("evaluation/running/worker.py",), root)


def agent_source(name: str, root: Path = ROOT) -> str:
    """SHA-256 of the code of an agent: of its own files, and of what they import from ``agents``.

    The versions of the ``libraries`` that a class in the agent's file names count, too.
    """
    if (file := _our_file(name)) is not None:
        return _hash_of_ours((file.relative_to(ROOT).as_posix(),), root)
    # Read anew every time: people edit their agents while they work.
    own = own_files(name)
    python = (path for path in own if path.suffix == ".py")
    scans = {path: scan(path, root) for path in python}
    imported = {found for each in scans.values() for found in each.imported}
    named = sorted({lib for path in _files_with(name, scans) for lib in scans[path].libraries})
    versions = [f"{library} {version_of(library)}" for library in named]
    return _hash([hash_of(own), *versions, *_parts(closure(imported, root), root)])


def _files_with(name: str, files: Iterable[Path]) -> list[Path]:
    """Of an agent's files the one that its class is in; all of them if that is not clear.

    An agent does not depend on a library that another agent of its package uses.
    """
    place = names().get(name, name).partition(":")[0]
    tail = tuple(place.split("."))
    here = [path for path in files if path.with_suffix("").parts[-len(tail) :] == tail]
    return here or list(files)


def scipy_of(name: str, root: Path = ROOT) -> list[str]:
    """The modules of SciPy that the code of an agent imports, at once or when it needs them."""
    ours = _our_file(name)
    starts = [path for path in own_files(name) if path.suffix == ".py"] if ours is None else [ours]
    scans = [scan(path, root) for path in starts]
    followed = closure({file for found in scans for file in found.imported}, root)
    scans += [scan_ours(path, root) for path in followed if path.suffix == ".py"]
    return sorted({module for found in scans for module in found.scipy})


@functools.cache
def _hash_of_ours(starts: tuple[str, ...], root: Path) -> str:
    return hash_of_ours(closure((root / start for start in starts), root), root)


def _parts(files: Iterable[Path], root: Path) -> list[str]:
    """Names of files of ours, what is in them, and the versions of the libraries they name."""
    parts = []
    for path in sorted(files):
        libraries = scan_ours(path, root).libraries if path.suffix == ".py" else ()
        parts += [path.relative_to(root).as_posix(), _hash_of_statements(path)]
        parts += [f"{library} {version_of(library)}" for library in libraries]
    return parts


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _our_file(name: str) -> Path | None:
    """The file of an agent of ours, None if it is somebody else's."""
    place = names().get(name, name).partition(":")[0]
    if place.endswith(".py"):
        file = Path(place).resolve()
        return file if file.is_relative_to(ROOT / "agents") and file.is_file() else None
    return file_of(place) if place.partition(".")[0] == "agents" else None


def own_files(name: str) -> list[Path]:
    """The files of an agent that is not ours: one file, or all of its package.

    Raises:
        UnknownAgentError: One sentence, where there is no such file, module or class.
    """
    if _our_file(name) is not None:
        return []
    place, _, attribute = names().get(name, name).partition(":")
    if not place.endswith(".py"):
        return _files_of_module(name, place)
    if not Path(place).is_file():
        raise UnknownAgentError(f"cannot find the agent {name!r}: there is no file {place!r}")
    _require_defined(Path(place), attribute)
    return [Path(place)]


def own_hash(name: str) -> str | None:
    """SHA-256 of these files; None for an agent of ours."""
    files = own_files(name)
    return hash_of(files) if files else None


def hash_of_ours(files: Iterable[Path], root: Path = ROOT) -> str:
    """SHA-256 over files of ours, whose docstrings and comments do not count."""
    return _hash(_parts(files, root))


def hash_of(files: Iterable[Path]) -> str:
    """SHA-256 over contents, and over names from the folder that all of them are in."""
    paths = sorted(path.resolve() for path in files)
    top = os.path.commonpath([path.parent for path in paths])
    return _hash(
        part for path in paths for part in (path.relative_to(top).as_posix(), _content_hash(path))
    )


def _hash_of_statements(path: Path) -> str:
    return _hash_of_code(path.read_bytes()) if path.suffix == ".py" else _content_hash(path)


@functools.cache
def _hash_of_code(content: bytes) -> str:
    return hashlib.sha256(statements(content.decode()).encode()).hexdigest()


def _content_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _files_of_module(name: str, module: str) -> list[Path]:
    """Of its top-level package, which can be found without importing anything."""
    top = module.partition(".")[0]
    found = find_package(top)
    if found is None:
        beside = f"; write {top}.py:Class for a file" if Path(f"{top}.py").is_file() else ""
        raise UnknownAgentError(
            f"cannot find the agent {name!r}: no module {top!r} is installed{beside}"
        )
    folders = [Path(folder) for folder in found.submodule_search_locations or ()]
    if folders:
        return _files_in(folders, name)
    alone = Path(found.origin or "")
    return [alone] if alone.is_file() else []


def _files_in(folders: Iterable[Path], name: str) -> list[Path]:
    """All files of a package: tables and compiled code decide as well as Python does."""
    found = (path for folder in folders for path in folder.rglob("*"))
    files = [path for path in found if CACHE not in path.parts and path.is_file()]
    if len(files) > MAX_PACKAGE_FILES:
        raise UnknownAgentError(f"{name!r}: its package has more than {MAX_PACKAGE_FILES:,} files")
    if sum(path.stat().st_size for path in files) > MAX_PACKAGE_BYTES:
        raise UnknownAgentError(f"{name!r}: its package has more than {MAX_PACKAGE_BYTES:,} bytes")
    return files


def find_package(top: str) -> ModuleSpec | None:
    """Where a package or module is installed, without importing it.

    The current folder does not count: processes of ours do not import from it.
    """
    before, here = sys.path[:], {"", os.getcwd()}
    sys.path[:] = [place for place in before if place not in here]
    try:
        finders = [getattr(finder, "find_spec", None) for finder in sys.meta_path]
        found = (find(top, None) for find in finders if find is not None)
        return next((spec for spec in found if spec is not None), None)
    except (ImportError, ValueError):
        return None
    finally:
        sys.path[:] = before


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
