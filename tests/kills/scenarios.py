"""What is killed, and what must be true afterwards."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.leaderboard.bundle import read_manifest
from evaluation.leaderboard.edition import Edition
from evaluation.leaderboard.verify import verify
from evaluation.protocol import Protocol
from evaluation.sandbox import own_python
from evaluation.store import Store
from tests.test_envs.portal_files import csv, csv_line

COMMAND = own_python("from periodic_decisions.cli import main; sys.argv[0] = 'periodic-gp'; main()")
PROTOCOL = """
name = "killed"
envs = ["PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-Synthetic-v0"]
agents = ["random", "gp-ucb"]
seeds = "0:4"
horizon = 30
"""


def environment(folder: Path) -> dict[str, str]:
    """Nobody's settings and data are touched."""
    mine = {"XDG_CONFIG_HOME": folder / "settings", "PERIODIC_GP_DATA": folder / "data"}
    return {**os.environ, **{name: str(place) for name, place in mine.items()}}


def call(folder: Path, *words: str) -> str:
    """A command to its end, which must be a good one."""
    done = subprocess.run(
        [*COMMAND, *words],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(words)}: {done.stdout[-500:]} {done.stderr[-1500:]}"
    return done.stdout


class Scenario(ABC):
    """A command in a folder.

    Attributes:
        words: The command.
    """

    words: tuple[str, ...]

    def prepare(self, folder: Path) -> None:
        """Make what the command needs."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "killed.toml").write_text(PROTOCOL)

    @abstractmethod
    def state(self, folder: Path) -> set[Any]:
        """What is finished and may not get lost; reading it must work after any kill."""

    @abstractmethod
    def outcome(self, folder: Path) -> Any:
        """What is there at the end, the same however often the command was killed."""


class Sweep(Scenario):
    """``run``."""

    words = ("run", "killed.toml", "--store", "s.sqlite", "--workers", "2")

    def state(self, folder: Path) -> set[Any]:
        """Keys of the finished runs."""
        if not (folder / "s.sqlite").exists():
            return set()
        with Store(folder / "s.sqlite", create=False) as store:
            return {run.key for sweep in store.sweeps() for run in store.runs(sweep.id)}

    def outcome(self, folder: Path) -> Any:
        """All runs with their regrets."""
        with Store(folder / "s.sqlite", create=False) as store:
            (sweep,) = store.sweeps()
            runs = store.runs(sweep.id)
            return [(run.key, run.reason, run.steps, run.regret) for run in runs]


class Submission(Scenario):
    """``submit``."""

    words = ("submit", "random", "--protocol", "killed.toml", "--out", "bundle")

    def state(self, folder: Path) -> set[Any]:
        """A bundle that appears is whole."""
        if (folder / "bundle").exists():
            self._verify(folder)
            return {"bundle"}
        return set()

    def outcome(self, folder: Path) -> Any:
        """What was handed in, and no traces of the work."""
        left = sorted(path.name for path in folder.iterdir())
        return left, self._verify(folder)

    def _verify(self, folder: Path) -> Any:
        found = verify(folder / "bundle", Protocol.load(folder / "killed.toml"))
        assert all(verdict.passed for verdict in found), found
        return [run.regret for run in read_manifest(folder / "bundle").runs]


class Addition(Scenario):
    """``leaderboard add``."""

    words = ("leaderboard", "add", "bundle")

    def prepare(self, folder: Path) -> None:
        """Open an edition, and make two bundles of which one is in it."""
        super().prepare(folder)
        for agent, out in (("random", "bundle"), ("fixed", "other")):
            call(folder, "submit", agent, "--protocol", "killed.toml", "--out", out)
        call(folder, "leaderboard", "open", "e1", "--protocol", "killed.toml")
        call(folder, "leaderboard", "add", "other")

    def state(self, folder: Path) -> set[Any]:
        """Return what was added, after the edition's own check of every file."""
        return {entry.id for entry in Edition(folder / "leaderboard" / "e1").entries()}

    def outcome(self, folder: Path) -> Any:
        """Return the submissions, and no other folders."""
        call(folder, "leaderboard", "check")
        edition = Edition(folder / "leaderboard" / "e1")
        return sorted(entry.manifest.label for entry in edition.entries()), edition.strays()


class Import(Scenario):
    """``data import``."""

    words = ("data", "import", "files")

    def prepare(self, folder: Path) -> None:
        """Two years of files."""
        super().prepare(folder)
        (folder / "files").mkdir()
        for year in (2017, 2018):
            days = [(year, month, day) for month in range(1, 13) for day in range(1, 29)]
            lines = [csv_line(station=s, date=date) for s in (4, 8, 16) for date in days]
            (folder / "files" / f"{year}.csv").write_bytes(csv(*lines))

    def state(self, folder: Path) -> set[Any]:
        """Years that are there, each of them whole."""
        return {name for name, _ in self._tables(folder)}

    def outcome(self, folder: Path) -> Any:
        """The imported numbers, and no traces of the work."""
        call(folder, "data", "list")
        return self._tables(folder), [path.name for path in (folder / "data").rglob(".*")]

    def _tables(self, folder: Path) -> list[tuple[str, str]]:
        found = []
        for path in sorted((folder / "data").rglob("*.npz")):
            with np.load(path, allow_pickle=False) as table:
                numbers = table["magnitude_7"].tobytes()
            found.append((path.name, hashlib.sha256(numbers).hexdigest()))
        return found


SCENARIOS: tuple[Scenario, ...] = (Sweep(), Submission(), Addition(), Import())


def fresh(template: Path, folder: Path) -> Path:
    """A copy of what was prepared."""
    return Path(shutil.copytree(template, folder))


def as_text(outcome: Any) -> str:
    """To be compared and shown."""
    return json.dumps(outcome, default=repr, sort_keys=True)
