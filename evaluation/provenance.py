"""Provenance of results: versions, machine, command."""

from __future__ import annotations

import contextlib
import functools
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np

import periodic_envs

PACKAGES = (
    *("periodic-gp", "gymnasium", "numpy", "scipy", "pandas"),
    *("stable-baselines3", "sb3-contrib", "torch"),
)


@functools.cache
def machine() -> dict[str, Any]:
    """Return versions, platform, linear algebra, and the commit if run from a checkout."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu": _cpu(),
        "blas": _blas(),
        "packages": {name: found for name in PACKAGES if (found := version_of(name))},
        "commit": _commit(Path(periodic_envs.__file__).parent.parent),
    }


@functools.cache
def version_of(package: str) -> str | None:
    """Return the installed version of a distribution, None if it is not installed."""
    imported = getattr(sys.modules.get(package), "__version__", None)  # quicker to look up
    if imported is not None:
        return str(imported)
    try:
        found = distribution(package)
    except PackageNotFoundError:
        return None
    text = found.read_text("METADATA") or found.read_text("PKG-INFO") or ""  # of a checkout
    return text.partition("\nVersion: ")[2].partition("\n")[0]  # without parsing all of it


def _cpu() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _blas() -> str:
    with contextlib.suppress(Exception):  # its form differs between versions of NumPy
        found: Any = np.show_config(mode="dicts")
        blas = found["Build Dependencies"]["blas"]
        return f"{blas['name']} {blas.get('version', '')}".strip()
    return "unknown"


def _commit(folder: Path) -> str | None:
    if not (folder / ".git").exists():
        return None
    # Without a lock: one that is killed while it looks would leave it behind.
    git = ["git", "--no-optional-locks", "-C", str(folder), "describe", "--always", "--exclude=*"]
    command = [*git, "--abbrev=40", "--dirty= with changes"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def command_line() -> str:
    """Return the command that started this process, without folders."""
    return " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else ""
