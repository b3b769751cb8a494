"""Plant small faults one by one, a sample with a fixed seed, and list those that no test sees.

``python -m tests.mutation [--faults N] [PATH ...]``; a path is a folder or a file of a package.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import accumulate, groupby
from pathlib import Path

from tests.mutation.faults import fault_at, places

ROOT = Path(__file__).parents[2]
TARGETS = (
    *("agents/gp", "agents/zoo", "periodic_envs/env.py", "periodic_envs/vector.py"),
    *("evaluation/statistics", "evaluation/runner.py", "evaluation/store.py", "periodic_decisions"),
)
SUITES = {
    "agents": "tests/test_agents",
    "periodic_envs": "tests/test_envs",
    "evaluation": "tests/test_evaluation",
    "periodic_decisions": "tests/test_decisions",
}
CONTRACT = ("tests/contract", "tests/snapshots")
"""Tests of whole commands and processes: run for faults that the tests of the package miss."""
SEED = 0
MAX_SECONDS = 60.0
"""Duration of the tests that a fault is shown to: the quickest of those that run its line."""
IMPORTED = 0
"""Key of all tests of a file: constants and defaults are computed when it is imported."""
Tests = dict[str, dict[int, list[str]]]
"""The tests of every file and line, the quickest first."""


def main() -> None:
    """Print every fault that survives, and the share of seen faults of every path."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=60, help="in each path")
    parser.add_argument("paths", nargs="*", default=TARGETS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder).resolve() / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "out", "__pycache__"))
        for package, paths in groupby(arguments.paths, lambda path: path.partition("/")[0]):
            tests = tests_by_line(copy, package)
            for path in paths:
                judge(copy, path, tests, arguments.faults)


def judge(copy: Path, path: str, tests: Tests, number: int) -> None:
    """Plant the faults of one path and print the outcomes."""
    outcomes: Counter[str] = Counter()
    for file, place in sample(path, number):
        source = (ROOT / file).read_text(encoding="utf-8")
        fault = fault_at(source, place)
        (copy / file).write_text(fault.source, encoding="utf-8")
        lines = tests.get(file, {})
        outcome = outcome_of(copy, lines.get(fault.line) or lines.get(IMPORTED, []))
        (copy / file).write_text(source, encoding="utf-8")
        outcomes[outcome] += 1
        if outcome != "seen":
            print(f"{outcome}: {file}:{fault.line}: {fault.was} -> {fault.becomes}", flush=True)
    seen = outcomes.total() - outcomes["survives"]
    print(f"{path}: {seen} of {outcomes.total()} seen, {dict(outcomes)}", flush=True)


def outcome_of(copy: Path, tests: list[str]) -> str:
    """Return "seen", "seen by contract" or "survives"."""
    if tests and run_tests(copy, "-x", *tests).returncode:
        return "seen"
    return "seen by contract" if run_tests(copy, "-x", *CONTRACT).returncode else "survives"


def sample(path: str, number: int) -> list[tuple[str, int]]:
    """Return files and numbers of places within them, the same ones every time."""
    sites = [
        (file.relative_to(ROOT).as_posix(), place)
        for file in sorted((ROOT / path).rglob("*.py")) or [ROOT / path]
        for place in range(len(places(ast.parse(file.read_text(encoding="utf-8")))))
    ]
    return random.Random(SEED).sample(sites, min(number, len(sites)))


def run_tests(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in the copy, without compiled files: those of one second and size look alike."""
    settings = {
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(copy),  # workers would import the installed package
        "COVERAGE_FILE": str(copy / ".coverage"),
    }
    options = ["-p", "no:cacheprovider", "--hypothesis-seed=0", "--timeout=200"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *arguments],
        cwd=copy,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
    )


def tests_by_line(copy: Path, package: str) -> Tests:
    """Run the tests of a package without a fault and return which of them run which line."""
    from coverage import CoverageData

    plugin = ["-p", "tests.mutation.contexts"]
    options = [*plugin, f"--cov={package}", "--cov-report=", "--durations=0"]
    done = run_tests(copy, *options, SUITES[package])
    if done.returncode:
        raise SystemExit(f"the tests fail without any fault:\n{done.stdout[-3000:]}")
    calls = re.findall(r"^([\d.]+)s call +(\S.*)$", done.stdout, re.MULTILINE)
    seconds = defaultdict(float, {name: float(duration) for duration, name in calls})
    data = CoverageData(str(copy / ".coverage"))
    data.read()
    return {
        Path(file).relative_to(copy).as_posix(): by_line(data.contexts_by_lineno(file), seconds)
        for file in data.measured_files()
    }


def by_line(contexts: dict[int, list[str]], seconds: dict[str, float]) -> dict[int, list[str]]:
    """Return the tests of each line of a file, and of ``IMPORTED`` those of all lines."""
    tests = {line: set(filter(None, names)) for line, names in contexts.items()}
    tests[IMPORTED] = set[str]().union(*tests.values())
    return {line: quickest(names, seconds) for line, names in tests.items()}


def quickest(names: Iterable[str], seconds: dict[str, float]) -> list[str]:
    """Return tests of at most ``MAX_SECONDS`` together, at least one."""
    ordered = sorted(names, key=lambda name: (seconds[name], name))
    totals = accumulate(seconds[name] for name in ordered)
    pairs = zip(ordered, totals, strict=True)
    return [name for name, total in pairs if total <= MAX_SECONDS] or ordered[:1]


if __name__ == "__main__":
    main()
