"""Running in a copy of the tree the tests that come by a fault."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED = ("agents", "periodic_envs", "evaluation", "tests", "pyproject.toml", "conftest.py")
QUIET = ("-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", "--no-header", "--no-summary")
IMPORTED = 0
"""In place of a line: constants and defaults are computed when the file is imported."""
Tests = Mapping[str, Mapping[int, Sequence[str]]]
"""Of every file and line the tests that come by, the quickest first; of ``IMPORTED`` all."""


def copy_tree(folder: Path) -> None:
    """The tree without compiled code: faults of one second and one size look alike to its cache."""
    for name in COPIED:
        place = ROOT / name
        if place.is_dir():
            shutil.copytree(place, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(place, folder / name)


def run_tests(folder: Path, arguments: Sequence[str], seconds: float) -> int | None:
    """The exit code of pytest in a forked child, None if it took too long."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = _run_here(folder, arguments)
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return None


def _run_here(folder: Path, arguments: Sequence[str]) -> int:
    import pytest

    os.chdir(folder)
    sys.dont_write_bytecode = True
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]  # those of the copy are meant
    sys.path.insert(0, str(folder))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for standard in (1, 2):
        os.dup2(nowhere, standard)
    return int(pytest.main([*QUIET, *arguments]))


def tests_by_line(folder: Path, data: Path, seconds: Mapping[str, float]) -> Tests:
    """Which tests come by which line, from what coverage has written.

    Args:
        folder: The copy of the tree.
        data: The file of coverage.
        seconds: How long every test took.
    """
    from coverage import CoverageData

    read = CoverageData(str(data))
    read.read()
    found: dict[str, dict[int, list[str]]] = {}
    for file in read.measured_files():
        lines: dict[int, list[str]] = {}
        for line, contexts in read.contexts_by_lineno(file).items():
            tests = {name for context in contexts if (name := context.partition("|")[0]) in seconds}
            lines[line] = sorted(tests, key=seconds.__getitem__)
        everyone = {test for tests in lines.values() for test in tests}
        lines[IMPORTED] = sorted(everyone, key=seconds.__getitem__)
        found[Path(file).relative_to(folder).as_posix()] = lines
    return found
