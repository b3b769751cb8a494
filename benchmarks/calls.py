"""Numbers of Python calls, functions and files in everyday operations.

Every operation is run once by the ``main`` function of the command line, in a new interpreter.
Functions that are called while modules are imported are not counted, and a generator counts once.
A file of this repository counts if at least one of its functions is called.

Calls in worker processes are not counted. In the operations with "one process", agents run in the
main process, so their calls are counted.

    python benchmarks/calls.py [--json]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("periodic_envs", "agents", "evaluation", "periodic_decisions", "studies")
TABLE = "example_demand.csv"
ARMS = ["--arms", "Station", "--arms", "Offices", "--arms", "Airport"]
INIT = ["decide", "init", "state", *ARMS, "--step", "1h", "--seasons", "1 day"]
SMOKE = ["run", "smoke", "--agents", "random", "--store", "smoke.sqlite"]
COMMANDS = {
    "run smoke": SMOKE,
    "run smoke, one process": [*SMOKE, "--workers", "0"],
    "decide ask": ["decide", "ask", "state", "--at", "2026-11-16 09:00"],
    "backtest": ["backtest", TABLE],
    "backtest, one process": ["backtest", TABLE, "--workers", "0"],
}
"""Counted commands; each runs in a folder that contains the example table and a decider."""


class Counter:
    """Context manager that counts Python calls, except calls during imports."""

    def __init__(self) -> None:
        self.calls = 0
        self.functions: set[tuple[str, str]] = set()
        self._own = tuple(f"{ROOT / package}{os.sep}" for package in PACKAGES)
        self._importing: FrameType | None = None
        self._first: dict[Any, int] = {}

    def __enter__(self) -> Counter:
        sys.setprofile(self._event)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _event(self, frame: FrameType, event: str, _: Any) -> None:
        if self._importing is not None:
            if event == "return" and frame is self._importing:
                self._importing = None
            return
        if event != "call":
            return
        code = frame.f_code
        if code.co_filename.startswith("<frozen importlib"):
            self._importing = frame
            return
        if frame.f_lasti != self._first.setdefault(code, frame.f_lasti):
            return  # a generator that continues was already counted
        self.calls += 1
        if code.co_filename.startswith(self._own):
            self.functions.add((code.co_filename, f"{code.co_name}:{code.co_firstlineno}"))

    def counts(self) -> dict[str, int]:
        """Return the number of calls, and of distinct functions and files of this repository."""
        files = {file for file, _ in self.functions}
        return {"calls": self.calls, "functions": len(self.functions), "files": len(files)}


def command_line() -> Callable[[], Any]:
    """Return the function that the console script calls."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, name = project["scripts"]["periodic-gp"].partition(":")
    main: Callable[[], Any] = getattr(importlib.import_module(module), name)
    return main


def count_command(words: list[str]) -> dict[str, int]:
    """Run a command in this process and return the counts of its calls."""
    main = command_line()
    sys.argv = ["periodic-gp", *words]
    status: Any = 0
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        try:
            with Counter() as counter:
                main()
        except SystemExit as error:
            status = error.code
    if status:
        raise SystemExit(f"periodic-gp {' '.join(words)} ended with exit status {status}")
    return counter.counts()


def count_step() -> dict[str, int]:
    """Return the counts of the calls of one step, after ten other steps."""
    import gymnasium as gym

    importlib.import_module("periodic_envs")
    env = gym.make("PeriodicGP-SyntheticDiscrete-v0").unwrapped
    env.reset(seed=0)
    for _ in range(10):
        env.step(0)
    with Counter() as counter:
        env.step(0)
    return counter.counts()


def run_fresh(folder: Path, call: str) -> Any:
    """Call a function of this module in a new interpreter, in a folder, and return its result."""
    setup = f"import json, sys; sys.path[:0] = [{str(ROOT)!r}, {str(Path(__file__).parent)!r}]"
    code = f"{setup}; import calls; print(json.dumps(calls.{call}))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        cwd=folder,
        env={**os.environ, "XDG_CONFIG_HOME": str(folder), "PERIODIC_GP_DATA": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def counts() -> dict[str, dict[str, int]]:
    """Return the counts of all operations, each in a separate process."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        table = next(ROOT.glob(f"periodic_*/**/{TABLE}"))
        (folder / TABLE).write_bytes(table.read_bytes())
        run_fresh(folder, f"count_command({INIT!r})")
        counted = {}
        for name, words in COMMANDS.items():
            counted[name] = run_fresh(folder, f"count_command({words!r})")
            (folder / "smoke.sqlite").unlink(missing_ok=True)
        return counted | {"env.step": run_fresh(folder, "count_step()")}


def main() -> None:
    """Count the calls of all operations and print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    as_json = parser.parse_args().json
    table = counts()
    if as_json:
        print(json.dumps(table, indent=1))
        return
    print(f"{'operation':<24}{'Python calls':>14}{'own functions':>15}{'own files':>11}")
    for name, row in table.items():
        print(f"{name:<24}{row['calls']:>14,}{row['functions']:>15}{row['files']:>11}")


if __name__ == "__main__":
    main()
