"""Small stores, and everything that commands read of one."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.protocol import Protocol
from evaluation.record import Record
from evaluation.results import Results
from evaluation.runs import Run, runs_of
from evaluation.specs import REFERENCE_ROWS, REFERENCES
from evaluation.store import Store

PROTOCOL = Protocol.from_dict(
    {
        "name": "p",
        "envs": ["PeriodicGP-SyntheticDiscrete-v0"],
        "agents": ["random", "ucb1"],
        "seeds": "0:2",
        "horizon": 3,
    }
)
RUNS = runs_of(PROTOCOL)
OTHER = PROTOCOL.restricted(agents=["random"], seeds=[5])


def a_record(run: Run, regret: float = 1.0, reason: str | None = None) -> Record:
    """Return a possible record of a run of three steps."""
    more: dict[str, Any] = {"seconds": 0.5, "machine": {"python": "3"}, "sources": "abc"}
    if reason is not None:
        return Record(run.key, reason, **more)
    t, regrets = np.arange(3), np.full(3, regret)
    if run.agent == REFERENCES:
        rows = dict.fromkeys(REFERENCE_ROWS, regrets)
        return Record.of(run.key, {"t": t, "period": np.ones(1), **rows}, **more)
    own = {"action": t, "reward": regrets / 2, "regret": regrets, "seconds": regrets / 10}
    return Record.of(run.key, {"t": t, **own}, **more)


def fill(path: Path, *, crashed: bool = False) -> Path:
    """Write a store with two sweeps; with ``crashed``, most of it is in the write-ahead log."""
    begun = path.with_name("begun.sqlite") if crashed else path
    with Store(begun) as store:
        store.begin(PROTOCOL, RUNS)
        store.save(a_record(RUNS[0], 1.0))
    with Store(begun) as store:
        for place, run in enumerate(RUNS[1:-1], 1):
            store.save(a_record(run, 1.0 + place / 7, "it hung" if place == 3 else None))
        store.begin(OTHER, runs_of(OTHER))
        if crashed:
            copy(begun, path)
    return path


def copy(source: Path, target: Path) -> None:
    """Copy the file of a store and its log."""
    for ending in ("", "-wal"):
        file = source.with_name(source.name + ending)
        if file.exists():
            shutil.copyfile(file, target.with_name(target.name + ending))


def read_all(path: Path) -> list[Any]:
    """Return everything that commands read of a store."""
    with Store(path, create=False) as store:
        answer: list[Any] = []
        for sweep in store.sweeps():
            results = Results(store.source(sweep.id))
            steps = path.with_name("steps.csv")
            results.save_steps(steps)
            answer += [sweep, results.size, results.runs, results.machines, steps.read_text()]
            answer += [results.totals.to_csv(), results.failures]
        answer.append(sorted(store.finished([run.key for run in RUNS])))
        return answer
