"""Running in a copy of the tree the tests that come by a fault."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED = ("agents", "periodic_envs", "evaluation", "tests", "pyproject.toml", "conftest.py")
QUIET = ("-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", "--no-header", "--no-summary")
TOO_SLOW = (-signal.SIGXCPU, -signal.SIGKILL)
MAX_TEST_SECONDS = 60.0
"""Of all tests that a fault is shown to, as measured without it: the quickest ones that come by."""
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


def run_tests(folder: Path, arguments: Sequence[str], seconds: int) -> int:
    """The exit code of pytest in a forked child, ``TOO_SLOW`` after so much processor time.

    Not the time of a clock: on a busy machine every fault would pass for one that is seen.
    """
    child = os.fork()
    if child == 0:
        code = 99
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            code = _run_here(folder, arguments)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


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
            lines[line] = _quickest(tests, seconds)
        everyone = {test for tests in lines.values() for test in tests}
        lines[IMPORTED] = _quickest(everyone, seconds)
        found[Path(file).relative_to(folder).as_posix()] = lines
    return found


def _quickest(tests: set[str], seconds: Mapping[str, float]) -> list[str]:
    chosen, total = [], 0.0
    for test in sorted(tests, key=lambda name: (seconds[name], name)):
        total += seconds[test]
        if chosen and total > MAX_TEST_SECONDS:
            break
        chosen.append(test)
    return chosen
