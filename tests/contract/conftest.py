"""Access of the contract to the packages, and helpers that run commands."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from agents import Experience, Problem

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
AVX512 = "X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL"
"""Instructions that some machines lack, by their names in several versions of NumPy."""
GOLDEN = Path(__file__).with_name("golden")


def command(*words: str) -> list[str]:
    """Return the console script with its arguments, run from this checkout."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, name = project["scripts"]["periodic-gp"].partition(":")
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv[0] = 'periodic-gp'; "
    return [sys.executable, "-c", f"{code}from {module} import {name}; {name}()", *words]


def environment(folder: Path) -> dict[str, str]:
    """Variables that keep a command away from the user's settings and data."""
    own = {"XDG_CONFIG_HOME": folder / "settings", "PERIODIC_GP_DATA": folder / "data"}
    own["PYTHONPATH"] = ROOT  # also for workers, in a copy of the repository
    return {**numeric_environment(), **{name: str(place) for name, place in own.items()}}


def call(folder: Path, *words: str) -> str:
    """Run a command in a folder and return its output."""
    done = subprocess.run(
        command(*words),
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{words}: {done.stdout[-800:]} {done.stderr[-1500:]}"
    return done.stdout


def wait_until(ready: Callable[[], object], seconds: float = 120.0) -> None:
    """Wait until a condition is true, and fail if that takes too long."""
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, f"still waiting after {seconds:g} s"
        time.sleep(0.02)


def example_table(folder: Path) -> str:
    """The name of a copy of the table that ships with the package."""
    table = next(ROOT.glob("periodic_*/**/example_demand.csv"))
    (folder / table.name).write_bytes(table.read_bytes())
    return table.name


def problem_of(env: Any, reset_info: Mapping[str, Any]) -> Problem:
    """The public description of a world, as the harness hands it to agents."""
    world, past = env.unwrapped, reset_info.get("warm_start")
    return Problem(
        action_space=world.action_space,
        observation_space=world.observation_space,
        observation_fields=world.observation_fields,
        horizon=world.horizon,
        periods=world.public.periods,
        noise_std=world.noise_std,
        reward_scale=world.public.reward_scale,
        action_features=world.public.action_features,
        action_half_width=world.public.action_half_width,
        warm_start=None if past is None else Experience(**past),
    )


def pinned_kernel() -> bool:
    """Return whether this machine has the instructions that the figures were recorded with."""
    if platform.machine().lower() not in ("x86_64", "amd64") or sys.platform != "linux":
        return False
    return {"avx2", "fma"} <= set(Path("/proc/cpuinfo").read_text().split())


def numeric_environment() -> dict[str, str]:
    """Variables of a process whose sums have the recorded order."""
    pinned = {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": AVX512}
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return {**os.environ, **threads, **(pinned if pinned_kernel() else {})}


def golden(name: str) -> Any:
    """Recorded figures."""
    return json.loads((GOLDEN / f"{name}.json").read_text())


def plain(value: Any) -> Any:
    """Arrays and numbers as lists of numbers with twelve digits, and NaN as None."""
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else float(f"{float(value):.12g}")
    return int(value) if isinstance(value, np.integer) else value
