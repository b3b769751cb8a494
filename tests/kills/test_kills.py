"""Commands that are killed and started again have the outcome of one that was not."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.leaderboard.bundle import read_manifest
from evaluation.leaderboard.edition import Edition
from evaluation.leaderboard.submission import verify
from evaluation.protocol import Protocol
from evaluation.store import Store
from tests.contract.conftest import call, command, environment
from tests.platforms import linux_only
from tests.test_envs.portal_files import csv, csv_line

pytestmark = linux_only
ROUNDS = 3
PROTOCOL = """
name = "killed"
envs = ["PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-Synthetic-v0"]
agents = ["random", "gp-ucb"]
seeds = "0:4"
horizon = 30
"""


@dataclass(frozen=True)
class Scenario:
    """A command in a folder.

    Attributes:
        words: The command.
        state: Returns what is finished and must remain; it must be readable after any kill.
        outcome: Returns the result, which must not depend on kills.
        prepare: Makes what the command needs.
    """

    words: tuple[str, ...]
    state: Callable[[Path], set[Any]]
    outcome: Callable[[Path], Any]
    prepare: Callable[[Path], None] = lambda folder: None


def runs_of(folder: Path) -> list[Any]:
    """Return the finished runs of a store."""
    if not (folder / "s.sqlite").exists():
        return []
    with Store(folder / "s.sqlite", create=False) as store:
        return [run for sweep in store.sweeps() for run in store.runs(sweep.id)]


def all_runs(folder: Path) -> Any:
    return [(run.key, run.reason, run.steps, run.regret) for run in runs_of(folder)]


def bundles(folder: Path) -> set[Any]:
    """Return the name of the bundle if there is one; then it is whole."""
    if not (folder / "bundle").exists():
        return set()
    verdicts = verify(folder / "bundle", Protocol.load(folder / "killed.toml"))
    assert all(verdict.passed for verdict in verdicts), verdicts
    return {"bundle"}


def submission(folder: Path) -> Any:
    """Return the files and the regrets."""
    bundles(folder)
    files = sorted(path.name for path in folder.iterdir())
    return files, [run.regret for run in read_manifest(folder / "bundle").runs]


def open_edition(folder: Path) -> None:
    """Open an edition, and make two bundles of which one is in it."""
    for agent, out in (("random", "bundle"), ("fixed", "other")):
        call(folder, "submit", agent, "--protocol", "killed.toml", "--out", out)
    call(folder, "leaderboard", "open", "leaderboard/e1", "--protocol", "killed.toml")
    call(folder, "leaderboard", "add", "other")


def added(folder: Path) -> set[Any]:
    return {entry.id for entry in Edition(folder / "leaderboard" / "e1").entries()}


def checked_edition(folder: Path) -> Any:
    call(folder, "leaderboard", "check")
    edition = Edition(folder / "leaderboard" / "e1")
    return sorted(entry.manifest.label for entry in edition.entries())


def write_files(folder: Path) -> None:
    """Write two years of Madrid's files."""
    (folder / "files").mkdir()
    for year in (2017, 2018):
        days = [(year, month, day) for month in range(1, 13) for day in range(1, 29)]
        rows = [csv_line(station=s, date=date) for s in (4, 8, 16) for date in days]
        (folder / "files" / f"{year}.csv").write_bytes(csv(*rows))


def imported(folder: Path) -> set[Any]:
    """Return the imported years with a hash of their numbers."""
    years = set()
    for path in (folder / "data").rglob("*.npz"):
        with np.load(path, allow_pickle=False) as table:
            years.add((path.name, hashlib.sha256(table["magnitude_7"].tobytes()).hexdigest()))
    return years


def whole_import(folder: Path) -> Any:
    call(folder, "data", "list")
    return imported(folder), [path.name for path in (folder / "data").rglob(".*")]


SCENARIOS = {
    "run": Scenario(
        ("run", "killed.toml", "--store", "s.sqlite", "--workers", "2"),
        lambda folder: set(all_runs(folder)),
        all_runs,
    ),
    "submit": Scenario(
        ("submit", "random", "--protocol", "killed.toml", "--out", "bundle"), bundles, submission
    ),
    "add": Scenario(("leaderboard", "add", "bundle"), added, checked_edition, open_edition),
    "import": Scenario(("data", "import", "files"), imported, whole_import, write_files),
}


def start(scenario: Scenario, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(*scenario.words),
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def finish(scenario: Scenario, folder: Path) -> None:
    with start(scenario, folder) as process:
        output, _ = process.communicate(timeout=300)
    # A killed command may have done its work.
    done = b"[file-exists]" in output or b"[copied-submission]" in output
    assert process.returncode == 0 or done, output[-1500:]


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_commands_lose_nothing(name: str, tmp_path: Path) -> None:
    scenario, rng = SCENARIOS[name], random.Random(100)
    template, whole = tmp_path / "template", tmp_path / "whole"
    template.mkdir()
    (template / "killed.toml").write_text(PROTOCOL)
    scenario.prepare(template)
    shutil.copytree(template, whole)
    began = time.monotonic()
    finish(scenario, whole)
    seconds, expected, killed = time.monotonic() - began, scenario.outcome(whole), 0
    for number in range(ROUNDS):
        folder = Path(shutil.copytree(template, tmp_path / f"work-{number}"))
        before = scenario.state(folder)
        for _ in range(2):
            with start(scenario, folder) as process:
                try:
                    process.communicate(timeout=rng.uniform(0.0, seconds))
                except subprocess.TimeoutExpired:
                    # The command alone, or all of its processes as in a power cut.
                    (os.killpg if rng.random() < 0.5 else os.kill)(process.pid, signal.SIGKILL)
                    killed += 1
            after = scenario.state(folder)
            assert before <= after
            before = after
        finish(scenario, folder)
        assert scenario.outcome(folder) == expected
    assert killed > 0
