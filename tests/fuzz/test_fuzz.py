"""Readers of files from others, on damaged files of every kind."""

from __future__ import annotations

import json
import random
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import SavedAgentError, load, make_agent
from agents.testing import example_problem, observe
from evaluation.leaderboard.bundle import MANIFEST, STEPS, BundleError, read_manifest
from evaluation.leaderboard.steps import read_steps, replays
from evaluation.leaderboard.submission import verify
from evaluation.store import StoreError
from periodic_decisions.logs.describe import describe
from periodic_decisions.logs.log import split_seasons
from periodic_decisions.logs.reading import read_log
from periodic_decisions.tables.roles import detect_kind
from periodic_decisions.tables.series import read_series
from periodic_envs.data import DataError
from periodic_envs.data.madrid.portal import parse
from tests.fuzz.mutations import mutated
from tests.platforms import linux_only
from tests.test_envs.portal_files import csv, csv_line, txt, txt_line
from tests.test_evaluation.stores import fill, read_all
from tests.test_evaluation.submissions import PROTOCOL, submitted

MAX_MEMORY_BYTES = 2**30
"""Memory that a case may take in addition to that of the process."""
Reader = Callable[[random.Random], object]
pytestmark = linux_only


def stores(folder: Path) -> Reader:
    """Stores, with and without a write-ahead log that a crash has left."""
    whole = {}
    for crashed in (False, True):
        (folder / f"crashed-{crashed}").mkdir()
        path = fill(folder / f"crashed-{crashed}" / "s.sqlite", crashed=crashed)
        log = path.with_name("s.sqlite-wal")
        whole[crashed] = path.read_bytes(), log.read_bytes() if crashed else b""

    def read(rng: random.Random) -> object:
        path = folder / "s.sqlite"
        main, log = whole[rng.random() < 0.5]
        in_log = log and rng.random() < 0.5
        path.write_bytes(main if in_log else mutated(main, rng))
        (folder / "s.sqlite-shm").unlink(missing_ok=True)
        (folder / "s.sqlite-wal").write_bytes(mutated(log, rng) if in_log else log)
        return read_all(path)

    return read


def saved_agents(folder: Path) -> Reader:
    """Saved agents of several families."""
    files = []
    for name in ("periodic-gp-ucb", "ucb1", "linucb", "auto-gp-ucb"):
        agent = make_agent(name, example_problem("finite"), np.random.default_rng(0))
        for t in range(8):
            agent.update(observe(t), agent.act(observe(t)), float(t % 3))
        agent.save(folder / name)
        files.append((folder / name).read_bytes())
    return lambda rng: load(damaged(folder / "agent", files, rng))


def tables(folder: Path) -> Reader:
    """Tables with commas, with semicolons and decimal commas, and with tabs."""
    days = [f"2024-01-{n // 24 + 1:02d} {n % 24:02d}:00,{n},{n}.5" for n in range(48)]
    long = [f"{n // 2 + 1}.03.2023;{'xy'[n % 2]};{n},5" for n in range(56)]
    numbered = [f"{n}\t{n % 7}\t{n % 5}" for n in range(60)]
    files = lines(["time,a,b", *days], ["date;arm;value", *long], ["t\tx\ty", *numbered])
    return lambda rng: read_series(
        damaged(folder / rng.choice(("t.csv", "t.tsv", "t.txt")), files, rng)
    )


def logs(folder: Path) -> Reader:
    """Logs of decisions: dated with probabilities, and numbered with a context."""
    dated = [f"2024-01-{n // 24 + 1:02d} {n % 24:02d}:00,{'xy'[n % 2]},{n},0.5" for n in range(99)]
    numbered = [f"{n}\t{'xy'[n % 2]}\t{n % 5}\t{n}" for n in range(99)]
    files = lines(["time,arm,reward,probability", *dated], ["t\tarm\treward\tload", *numbered])

    def read(rng: random.Random) -> object:
        path = damaged(folder / rng.choice(("l.csv", "l.tsv", "l.txt")), files, rng)
        detect_kind(path)
        log = read_log(path, step=rng.choice((None, "1h", 2.0)))
        return describe(log, split_seasons(log.step, 12.0))

    return read


def portal_files(folder: Path) -> Reader:
    """Madrid's files in both formats."""
    places = [(station, day) for station in (4, 8) for day in range(1, 6)]
    files = [
        csv(*(csv_line(station=s, date=(2018, 3, day)) for s, day in places)),
        txt(*(txt_line(station=s, date=(18, 3, day)) for s, day in places)),
    ]
    return lambda rng: parse(mutated(rng.choice(files), rng), "file")


def manifests(folder: Path) -> Reader:
    """Manifests of submissions, half of them with another value at any place of the JSON."""
    bundle = submitted(folder / "bundle")
    text = (bundle / MANIFEST).read_bytes()
    odd = (None, -1, 2**70, 1.5, "", "x" * 2000, [], {}, [[]], True, {"a": {"b": 1}}, "\ud800")

    def forged(rng: random.Random) -> bytes:
        root: Any = json.loads(text)
        place, key = root, rng.choice(list(root))
        while isinstance(place[key], dict | list) and place[key] and rng.random() < 0.7:
            place = place[key]
            key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        place[key] = rng.choice(odd)
        return json.dumps(root).encode()

    def read(rng: random.Random) -> object:
        (bundle / MANIFEST).write_bytes(forged(rng) if rng.random() < 0.5 else mutated(text, rng))
        read_manifest(bundle)
        return verify(bundle, PROTOCOL)

    return read


def steps(folder: Path) -> Reader:
    """Steps of submissions, packed and unpacked."""
    packed = (submitted(folder / "bundle") / STEPS).read_bytes()
    plain, runs = zlib.decompress(packed), replays(PROTOCOL)

    def read(rng: random.Random) -> object:
        damage_inside = rng.random() < 0.8
        data = zlib.compress(mutated(plain, rng)) if damage_inside else mutated(packed, rng)
        return read_steps(data, runs)

    return read


def lines(*files: list[str]) -> list[bytes]:
    """Return the content of text files."""
    return ["\n".join([*file, ""]).encode() for file in files]


def damaged(path: Path, files: list[bytes], rng: random.Random) -> Path:
    """Write one of the files after some mutations."""
    path.write_bytes(mutated(rng.choice(files), rng))
    return path


@contextmanager
def little_memory() -> Iterator[None]:
    """Limit the memory that readers may take."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MAX_MEMORY_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("prepare", "error", "cases"),
    [
        (stores, StoreError, 1000),
        (saved_agents, SavedAgentError, 4000),
        (tables, DataError, 2000),
        (logs, DataError, 1000),
        (portal_files, DataError, 4000),
        (manifests, BundleError, 2000),
        (steps, BundleError, 2000),
    ],
)
def test_readers_return_data_or_one_sentence(
    prepare: Callable[[Path], Reader], error: type[Exception], cases: int, tmp_path: Path
) -> None:
    read, refused = prepare(tmp_path), 0
    with little_memory(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in range(cases):
            try:
                read(random.Random(f"{prepare.__name__} {case}"))
            except error as sentence:
                text = str(sentence)
                assert 0 < len(text) < 2000, f"case {case}: {text}"
                assert "\n" not in text.strip(), f"case {case}: {text}"
                refused += 1
            except Exception as other:
                raise AssertionError(f"case {case}: {other!r}") from other
    assert refused > 0
