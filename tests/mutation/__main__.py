"""Put faults in, a sample of them with a fixed seed, and name those that no test sees.

``python -m tests.mutation [FAULTS [FOLDER ...]]``
"""

from __future__ import annotations

import ast
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.mutation.clock import VARIABLE
from tests.mutation.faults import fault_at, places
from tests.mutation.running import (
    IMPORTED,
    ROOT,
    TOO_SLOW,
    Tests,
    copy_tree,
    run_tests,
    tests_by_line,
)

SEED = 0
FAULTS = 150
"""In each folder. All of them would take a day."""
MAX_SECONDS = 120
"""Of processor time for a fault; one that makes the tests that slow has been seen."""
AGENTS, JUDGES = "tests/test_agents", "tests/test_evaluation"
TESTS = {
    "agents/gp": [
        f"{AGENTS}/test_{name}.py"
        for name in (
            *("kernels", "posteriors", "engines", "beta", "acquisition", "fit", "mixture", "stack"),
            *("saving", "contexts", "late_and_old", "gp_edges", "auto", "forgetting", "beyond"),
        )
    ],
    "evaluation/statistics": [
        f"{JUDGES}/test_{name}.py"
        for name in ("statistics", "changes", "columns", "summary", "statistics_edges")
    ],
}
"""The folders, and the tests of each."""


def main() -> None:
    """Print every survivor as it is found, and the share that was seen at the end."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else FAULTS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        copy_tree(folder)
        for chosen in sys.argv[2:] or TESTS:
            judge(folder, chosen, number)


def judge(folder: Path, chosen: str, number: int) -> None:
    """All faults of the sample in one folder."""
    judge_by(measure(folder, TESTS[chosen]), folder, chosen, number)


def judge_by(tests: Tests, folder: Path, chosen: str, number: int) -> None:
    """The same, by tests of which it is known where they come by."""
    drawn = sample(chosen, number)
    print(f"{chosen}: {len(drawn)} faults drawn (seed {SEED}) of {len(sites(chosen))}", flush=True)
    seen: Counter[str] = Counter()
    for file, place in drawn:
        fault = fault_at((ROOT / file).read_text(encoding="utf-8"), place)
        there = tests.get(file, {})
        by = there.get(fault.line) or there.get(IMPORTED, ())
        (folder / file).write_text(fault.source, encoding="utf-8")
        code = run_tests(folder, ["-x", *by], MAX_SECONDS) if by else 0
        (folder / file).write_bytes((ROOT / file).read_bytes())
        outcome = "survives" if code == 0 else "too slow" if code in TOO_SLOW else "seen"
        seen[outcome] += 1
        if outcome != "seen":
            how = f"{len(by)} tests come by" if by else "no test comes by"
            print(
                f"{outcome}: {file}:{fault.line}: {fault.was} -> {fault.becomes} ({how})",
                flush=True,
            )
    caught = seen.total() - seen["survives"]
    print(f"{chosen}: {caught} of {seen.total()} seen, {caught / seen.total():.0%}", flush=True)


def sites(chosen: str) -> list[tuple[str, int]]:
    """All places of a folder's files, and their numbers within the file."""
    found = []
    for path in sorted((ROOT / chosen).rglob("*.py")):
        number = len(places(ast.parse(path.read_text(encoding="utf-8"))))
        found += [(path.relative_to(ROOT).as_posix(), place) for place in range(number)]
    return found


def sample(chosen: str, number: int) -> list[tuple[str, int]]:
    """The faults to try, always the same ones."""
    found = sites(chosen)
    return random.Random(SEED).sample(found, min(number, len(found)))


def measure(folder: Path, files: list[str]) -> Tests:
    """Run the tests without a fault: they must pass, and say where they come by."""
    os.environ["COVERAGE_FILE"] = str(folder / ".coverage")
    os.environ[VARIABLE] = str(folder / "seconds.txt")
    (folder / "seconds.txt").unlink(missing_ok=True)
    begun = time.monotonic()
    there = [file for file in files if (folder / file).is_file()]
    options = ["--cov=agents", "--cov=evaluation", "--cov-context=test", "--cov-report="]
    plugin = ["-p", "tests.mutation.clock"]
    code = run_tests(folder, [*options, *plugin, *there], 7200)
    if code != 0:
        raise SystemExit(f"the tests fail without any fault (exit code {code}): mend them first")
    print(f"the tests alone took {time.monotonic() - begun:.0f} s", flush=True)
    lines = (folder / "seconds.txt").read_text(encoding="utf-8").splitlines()
    seconds = {nodeid: float(text) for text, _, nodeid in (line.partition("\t") for line in lines)}
    return tests_by_line(folder, folder / ".coverage", seconds)


if __name__ == "__main__":
    main()
