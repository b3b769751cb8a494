"""Where results come from: versions, machine, sources."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import periodic_envs
from agents.registry import find_class, is_built_in
from evaluation.running.agent_code import OURS, hash_of, own_hash

PACKAGES = (
    *("periodic-gp", "gymnasium", "numpy", "scipy", "pandas"),
    *("stable-baselines3", "sb3-contrib", "torch"),
)


@functools.cache
def machine() -> dict[str, Any]:
    """This process: versions, platform, linear algebra, and the commit if run from a checkout."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "blas": _blas(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "commit": _commit(Path(periodic_envs.__file__).parent.parent),
    }


def worlds_source(world: object) -> str:
    """SHA-256 of the code of the worlds, and of this world's own file if it is elsewhere."""
    package = Path(periodic_envs.__file__).parent
    ours = _package_source(package)
    try:
        own = Path(inspect.getfile(type(world))).resolve()
    except TypeError:  # built in C: nothing to hash
        return ours
    if own.is_relative_to(package.resolve()) or not own.is_file():
        return ours
    return hashlib.sha256(ours.encode() + own.read_bytes()).hexdigest()


def agent_source(name: str) -> str:
    """SHA-256 of the code of ``agents``, and of this agent's own files if they are elsewhere.

    Of an agent of ours with the versions of its ``libraries``. Nobody else's code is run.
    """
    parts = [_package_source(OURS)]
    if is_built_in(name):
        libraries = getattr(find_class(name), "libraries", ())
        parts += [f"{library} {_version(library)}" for library in libraries]
    else:
        # Read anew every time: people edit their agents while they work.
        parts += [own_hash(name) or ""]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


@functools.cache
def harness_source() -> str:
    """SHA-256 of the code that plays and judges."""
    folder = Path(__file__).parent
    names = ("isolation", "channel", "../references", "play", "training", "worker")
    return hash_of(folder / f"{name}.py" for name in names)


@functools.cache
def _package_source(package: Path) -> str:
    return hash_of(package.rglob("*.py"))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _blas() -> str:
    with contextlib.suppress(Exception):  # its form differs between versions of NumPy
        found: Any = np.show_config(mode="dicts")
        blas = found["Build Dependencies"]["blas"]
        return f"{blas['name']} {blas.get('version', '')}".strip()
    return "unknown"


def _commit(folder: Path) -> str | None:
    command = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if not (folder / ".git").exists() or done.returncode:
        return None
    changed = ["git", "-C", str(folder), "status", "--porcelain", "--untracked-files=no"]
    dirty = subprocess.run(changed, capture_output=True, text=True, timeout=10, check=False).stdout
    return done.stdout.strip() + (" with changes" if dirty.strip() else "")


def command_line() -> str:
    """How this process was started, without the folders."""
    return " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else ""
