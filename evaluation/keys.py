"""Keys of results: hashes of everything that a result depends on.

A result depends on the world with its arguments and data, the agent with its settings, the seed,
the training, and the code: this package, NumPy and SciPy, the libraries that a built-in agent
declares, and the files of a third-party agent or world (its entire top-level package, or the single
file). All files of ``agents`` and ``periodic_envs`` are included, so local edits in a checkout
change the keys. Versions of other libraries are not included. If an agent or a world is defined in
a single file or in a notebook, the modules that this code imports are not included, either.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import sys
from collections.abc import Collection, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from agents.registry import AgentSpec, UnknownAgentError, find_class, is_built_in, place_of
from evaluation.notebook import MAIN, fingerprint
from evaluation.specs import canonical_json
from periodic_envs.episode import Setup

ROOT = str(Path(__file__).resolve().parents[1])
"""Folder of the packages of this project."""
OURS = ("agents", "periodic_envs", "evaluation")
RUNNER = tuple(f"{ROOT}/evaluation/{name}.py" for name in ("play", "references", "training"))
"""Files of the package ``evaluation`` that affect results."""


def digest(content: Any) -> str:
    """Return the SHA-256 hash of plain data."""
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()


def code_of(setup: Setup, agent: AgentSpec | None) -> str:
    """Return the hashes of this package, the world's file and the agent, separated by spaces.

    Built-in worlds have the hash of an empty list of files. Without an agent, the third hash is
    "-".
    """
    module = type(setup.world).__module__
    file = "" if module.startswith("periodic_envs.") else _file_of(module)
    world = hash_of([file] if file else [])
    return " ".join(
        part[:16] for part in (our_code(), world, agent_code(agent.name) if agent else "-")
    )


def _file_of(module: str) -> str:
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return file if os.path.isfile(file) else ""


@functools.cache
def our_code() -> str:
    """Return the hash of this package and of the versions of NumPy and SciPy."""
    files = [file for name in ("agents", "periodic_envs") for file in files_in(f"{ROOT}/{name}")]
    versions = [version_of(name) for name in ("periodic-gp", "numpy", "scipy")]
    return digest([hash_of([*files, *RUNNER]), versions])


def agent_code(name: str) -> str:
    """Return the hash of an agent's code.

    The hash covers the library versions of a built-in agent, the definition of an agent in
    ``__main__``, and the files of any other agent.
    """
    if is_built_in(name):
        return digest([version_of(each) for each in getattr(find_class(name), "libraries", ())])
    if name.startswith(MAIN):
        return fingerprint(find_class(name))
    return hash_of(agent_files(name))


def agent_files(name: str) -> list[str]:
    """Return the files of a third-party agent without importing it; [] for a built-in agent.

    Raises:
        UnknownAgentError: If the file or package does not exist.
    """
    place = place_of(name).partition(":")[0]
    if place.endswith(".py"):
        if not os.path.isfile(place):
            raise UnknownAgentError(
                "file-not-found",
                f"cannot find the agent {name!r}: the file {place!r} does not exist",
            )
        return [place]
    top = place.partition(".")[0]
    if top in OURS:
        return []
    spec = importlib.util.find_spec(top)
    if spec is None:
        file = (
            f"; to use the file {top}.py, write {top}.py:Class"
            if os.path.isfile(f"{top}.py")
            else ""
        )
        raise UnknownAgentError(
            "missing-package",
            f"cannot find the agent {name!r}: no module {top!r} is installed{file}",
        )
    folders = spec.submodule_search_locations
    if folders is None:
        return [spec.origin] if spec.origin and os.path.isfile(spec.origin) else []
    return [file for folder in folders for file in files_in(folder)]


def files_in(folder: str) -> Iterator[str]:
    """Yield all files below a folder except compiled files.

    Data files are included, because they affect results.
    """
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (f"{place}/{name}" for name in files)


def hash_of(files: Collection[str]) -> str:
    """Return the SHA-256 of the relative names and the contents of files."""
    top = os.path.commonpath(files) if files else ""
    content = hashlib.sha256()
    for file in sorted(files):
        with open(file, "rb") as opened:
            data = opened.read()
        content.update(f"{file[len(top) :]}\0{len(data)}\0".encode() + data)
    return content.hexdigest()


@functools.cache
def version_of(package: str) -> str | None:
    """Return the version of a distribution, or None if it is not installed."""
    imported = getattr(sys.modules.get(package), "__version__", None)  # faster than the metadata
    if imported is not None:
        return str(imported)
    try:
        installed = distribution(package)
    except PackageNotFoundError:
        return None
    # A checkout has the file PKG-INFO instead of METADATA.
    text = installed.read_text("METADATA") or installed.read_text("PKG-INFO") or ""
    return text.partition("\nVersion: ")[2].partition("\n")[0]  # faster than parsing the metadata
