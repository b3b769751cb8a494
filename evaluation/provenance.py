"""Provenance of results: versions and hardware."""

from __future__ import annotations

import contextlib
import functools
import platform
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import periodic_envs
from evaluation.keys import version_of

PACKAGES = (
    *("periodic-gp", "gymnasium", "numpy", "scipy", "pandas"),
    *("stable-baselines3", "sb3-contrib", "torch"),
)


@functools.cache
def machine() -> dict[str, Any]:
    """Return software versions, the hardware, and the commit if the package is a Git checkout."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu": _cpu(),
        "blas": _blas(),
        "packages": {name: version for name in PACKAGES if (version := version_of(name))},
        "commit": _commit(Path(periodic_envs.__file__).parent.parent),
    }


def _cpu() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _blas() -> str:
    with contextlib.suppress(Exception):  # the structure differs between versions of NumPy
        config: Any = np.show_config(mode="dicts")
        blas = config["Build Dependencies"]["blas"]
        return f"{blas['name']} {blas.get('version', '')}".strip()
    return "unknown"


def _commit(folder: Path) -> str | None:
    if not (folder / ".git").exists():
        return None
    # No optional locks: a killed process would leave the lock file behind.
    git = ["git", "--no-optional-locks", "-C", str(folder), "describe", "--always", "--exclude=*"]
    command = [*git, "--abbrev=40", "--dirty= with changes"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
