"""What is fuzzed: a reader, files that it can read, and how it says no."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from agents import SavedAgentError, load, make_agent
from agents.testing import example_problem, observe
from evaluation.leaderboard.bundle import (
    MANIFEST,
    STEPS,
    BundleError,
    read_table,
    table_shape,
)
from evaluation.leaderboard.replay import run_forms
from evaluation.leaderboard.verify import verify
from evaluation.store import StoreError
from periodic_decisions.logs.describe import describe
from periodic_decisions.logs.log import split_seasons
from periodic_decisions.logs.reading import read_log, tell_kind
from periodic_decisions.tables.series import read_series
from periodic_envs.data import DataError
from periodic_envs.data.madrid.portal import parse
from tests.fuzz.mutations import mutated
from tests.test_envs.portal_files import csv, csv_line, txt, txt_line
from tests.test_evaluation.stores import fill, shown
from tests.test_evaluation.submissions import PROTOCOL, submitted


class Target(ABC):
    """A reader.

    Attributes:
        share: Of all cases.
        refuses: The errors by which it says in a sentence what is wrong.
    """

    share: float
    refuses: tuple[type[Exception], ...]

    @abstractmethod
    def prepare(self, folder: Path) -> None:
        """Make files that can be read."""

    @abstractmethod
    def attempt(self, folder: Path, rng: random.Random) -> None:
        """Damage one, and read it."""


class Stores(Target):
    """Stores, with and without a log that a crash has left."""

    share, refuses = 0.1, (StoreError,)

    def prepare(self, folder: Path) -> None:
        """One of either kind."""
        self._whole = {}
        for crashed in (False, True):
            place = folder / f"crashed-{crashed}"
            place.mkdir()
            path = fill(place / "s.sqlite", crashed=crashed)
            log = path.with_name(f"{path.name}-wal")
            self._whole[crashed] = (path.read_bytes(), log.read_bytes() if crashed else None)

    def attempt(self, folder: Path, rng: random.Random) -> None:
        """Damage the file or its log, and show all that is in it."""
        path = folder / "s.sqlite"
        log = path.with_name("s.sqlite-wal")
        main, written = self._whole[rng.random() < 0.5]
        in_log = written is not None and rng.random() < 0.5
        path.write_bytes(main if in_log else mutated(main, rng))
        path.with_name("s.sqlite-shm").unlink(missing_ok=True)
        log.unlink(missing_ok=True)
        if written is not None:
            log.write_bytes(mutated(written, rng) if in_log else written)
        shown(path)


class SavedAgents(Target):
    """Saved agents of several families."""

    share, refuses = 0.2, (SavedAgentError,)
    names = ("periodic-gp-ucb", "ucb1", "linucb", "auto-gp-ucb")

    def prepare(self, folder: Path) -> None:
        """Agents with some experience."""
        self._files = []
        for name in self.names:
            agent = make_agent(name, example_problem("finite"), np.random.default_rng(0))
            for t in range(8):
                agent.update(observe(t), agent.act(observe(t)), float(t % 3))
            agent.save(folder / name)
            self._files.append((folder / name).read_bytes())

    def attempt(self, folder: Path, rng: random.Random) -> None:
        """Damage one, and load it."""
        path = folder / "agent"
        path.write_bytes(mutated(rng.choice(self._files), rng))
        load(path)


class Tables(Target):
    """Anybody's tables."""

    share, refuses = 0.15, (DataError,)
    lines = (
        ("time,a,b", [f"2024-01-{n // 24 + 1:02d} {n % 24:02d}:00,{n},{n}.5" for n in range(48)]),
        ("date;arm;value", [f"{n // 2 + 1}.03.2023;{'xy'[n % 2]};{n},5" for n in range(56)]),
        ("t\tx\ty", [f"{n}\t{n % 7}\t{n % 5}" for n in range(60)]),
    )

    def prepare(self, folder: Path) -> None:
        """Commas, semicolons with decimal commas, tabs."""
        self._files = ["\n".join([head, *rows, ""]).encode() for head, rows in self.lines]

    def attempt(self, folder: Path, rng: random.Random) -> None:
        """Damage one, and read it."""
        path = folder / rng.choice(("t.csv", "t.tsv", "t.txt"))
        path.write_bytes(mutated(rng.choice(self._files), rng))
        read_series(path)


class Logs(Target):
    """Anybody's logs of decisions."""

    share, refuses = 0.1, (DataError,)

    def prepare(self, folder: Path) -> None:
        """Dated, with probabilities; numbered, with a context."""
        dated = [
            f"2024-01-{n // 24 + 1:02d} {n % 24:02d}:00,{'xy'[n % 2]},{n},0.5" for n in range(99)
        ]
        plain = [f"{n}\t{'xy'[n % 2]}\t{n % 5}\t{n}" for n in range(99)]
        files = ["time,arm,reward,probability", *dated], ["t\tarm\treward\tload", *plain]
        self._files = ["\n".join([*lines, ""]).encode() for lines in files]

    def attempt(self, folder: Path, rng: random.Random) -> None:
        """Damage one, say what it is, read it and describe it."""
        path = folder / rng.choice(("l.csv", "l.tsv", "l.txt"))
        path.write_bytes(mutated(rng.choice(self._files), rng))
        tell_kind(path)
        log = read_log(path, step=rng.choice((None, "1h", 2.0)))
        describe(log, split_seasons(log.step, 12.0))


class PortalFiles(Target):
    """Madrid's files, in both formats."""

    share, refuses = 0.25, (DataError,)

    def prepare(self, folder: Path) -> None:
        """Some days of some stations."""
        days = range(1, 6)
        self._files = [
            csv(*(csv_line(station=s, date=(2018, 3, d)) for s in (4, 8) for d in days)),
            txt(*(txt_line(station=s, date=(18, 3, d)) for s in (4, 8) for d in days)),
        ]

    def attempt(self, folder: Path, rng: random.Random) -> None:
        """Damage one, and read it."""
        parse(mutated(rng.choice(self._files), rng), "file")


class Bundles(Target):
    """Submissions: the manifest through all that reads it, the steps through their reader."""

    share, refuses = 0.2, (BundleError,)

    def prepare(self, folder: Path) -> None:
        """One that passes."""
        self._bundle = submitted(folder / "bundle")
        self._manifest = (self._bundle / MANIFEST).read_bytes()
        self._steps = (self._bundle / STEPS).read_bytes()
        self._forms = run_forms(PROTOCOL)

    def attempt(self, folder: Path, rng: random.Random) -> None:
        """Damage a file; steps get their right hash, so that they are looked at."""
        if rng.random() < 0.5:
            (self._bundle / MANIFEST).write_bytes(self._mutated_manifest(rng))
            # The process that unpacks a stranger's steps takes longer than all the rest.
            with mock.patch("evaluation.leaderboard.bundle._read_in_child", read_table):
                found = verify(self._bundle, PROTOCOL)
            assert found
            return
        data = mutated(self._steps, rng)
        _in_child(lambda: read_table(data, *table_shape(self._forms)))

    def _mutated_manifest(self, rng: random.Random) -> bytes:
        """Half of them are JSON still: another value at any place."""
        if rng.random() < 0.5:
            return mutated(self._manifest, rng)
        plain: Any = json.loads(self._manifest)
        where, key = self._place(plain, rng)
        odd = (None, -1, 2**70, 1.5, "", "x" * 2000, [], {}, [[]], True, {"a": {"b": 1}}, "\ud800")
        where[key] = rng.choice(odd)
        return json.dumps(plain).encode()

    def _place(self, plain: Any, rng: random.Random) -> tuple[Any, Any]:
        keys = list(plain) if isinstance(plain, dict) else list(range(len(plain)))
        key = rng.choice(keys)
        deeper = isinstance(plain[key], dict | list) and plain[key] and rng.random() < 0.7
        return self._place(plain[key], rng) if deeper else (plain, key)


REFUSED = 3
"""Exit code of a child that refuses a table."""


def _in_child(read: Callable[[], object]) -> None:
    """Read in a fork: Arrow may end its process."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            read()
            code = 0
        except BundleError:
            code = REFUSED
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code in (REFUSED, -signal.SIGABRT):
        raise BundleError("refused")
    assert code == 0, f"the reader of steps ended with {code}"


TARGETS: tuple[Target, ...] = (
    Stores(),
    SavedAgents(),
    Tables(),
    Logs(),
    PortalFiles(),
    Bundles(),
)


def seed_of(target: Target, case: int) -> int:
    """The same on every machine."""
    digest = hashlib.sha256(f"{type(target).__name__} {case}".encode()).digest()
    return int.from_bytes(digest[:8], "big")
