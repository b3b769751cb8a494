"""Running a protocol: what is missing is run, what is finished is kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evaluation.protocol.entries import parse_seeds
from evaluation.protocol.protocol import TRAINING, Protocol
from evaluation.results import Results
from evaluation.running.executors import Executor, InProcess, Pool, dispatch
from evaluation.running.run import Outcome, Run, pack, runs_of
from evaluation.running.training import LEARNED
from evaluation.store import Store


@dataclass(frozen=True)
class Progress:
    """How far a sweep is.

    Attributes:
        runs: All runs of the protocol.
        done: Finished by now, those of earlier runs included.
        failed: Failed among these.
        run: The one that has just been finished, None at the start.
        outcome: What came of it.
    """

    runs: int
    done: int
    failed: int
    run: Run | None = None
    outcome: Outcome | None = None


def run(
    protocol: Protocol | Path | str = "smoke",
    *,
    agents: Collection[str] | None = None,
    envs: Collection[str] | None = None,
    seeds: str | Collection[int] | None = None,
    store: Store | Path | str | None = None,
    workers: int | None = None,
    dask: str | None = None,
    retry_failed: bool = False,
    isolated: bool = False,
    on_progress: Callable[[Progress], object] = lambda progress: None,
) -> Results:
    """Run a protocol and return what came of it.

    Args:
        protocol: A protocol, the name of one that comes with the package, or a TOML file.
        agents: Instead of the protocol's: labels of it, or the command line's notation.
        envs: Likewise.
        seeds: Likewise: "0:20" or numbers.
        store: Where results are kept; None for memory. What is in it is not run again.
        workers: Processes; 0 to run everything in this one. By default one per core.
        dask: "tcp://host:port" of a Dask scheduler, or "local", instead of processes.
        retry_failed: Whether runs that failed before are tried again.
        isolated: Whether agents have processes of their own, without the worlds: slower by some
            0.1 ms a step, for agents that are not trusted.
        on_progress: Told how far it is, at the start and after every run.
    """
    if not isinstance(protocol, Protocol):
        protocol = Protocol.load(protocol)
    protocol = protocol.restricted(
        agents=agents,
        envs=envs,
        seeds=None if seeds is None else parse_seeds(seeds if isinstance(seeds, str) else [*seeds]),
    )
    if not isinstance(store, Store):
        store = Store(store)
    runs = runs_of(protocol)
    stored = store.begin(protocol, runs)
    by_key = {run.key: run for run in runs}
    finished = store.finished(by_key, failures=not retry_failed)
    missing = [
        replace(run, isolated=isolated) for key, run in by_key.items() if key not in finished
    ]
    failed = len(finished - store.finished(finished, failures=False))
    done = len(finished)
    on_progress(Progress(len(by_key), done, failed))
    if missing:
        with closing(_executor(workers, dask)) as executor:
            for outcome in _outcomes(executor, missing, store):
                done += 1
                failed += outcome.reason is not None
                on_progress(Progress(len(by_key), done, failed, by_key[outcome.key], outcome))
    return Results(store.source(stored.id))


def execute_all(
    runs: Collection[Run],
    *,
    workers: int | None = None,
    on_progress: Callable[[Progress], object] = lambda progress: None,
) -> dict[str, Outcome]:
    """Run a few runs in processes, trainings that they build on among them.

    Args:
        runs: Which.
        workers: Processes; by default one per core.
        on_progress: Told how far it is.

    Returns:
        What came of each, by its key.
    """
    found: dict[str, Outcome] = {}
    on_progress(Progress(len(runs), 0, 0))
    with closing(_executor(workers, None)) as executor, Store() as store:
        for outcome in _outcomes(executor, list(runs), store):
            found[outcome.key] = outcome
            failed = sum(other.reason is not None for other in found.values())
            on_progress(Progress(len(runs), len(found), failed))
    return found


def _outcomes(executor: Executor, runs: list[Run], store: Store) -> Iterator[Outcome]:
    """Run and keep: trainings first, then what builds on them."""
    trainings = [run for run in runs if run.track == TRAINING]
    for outcome in dispatch(executor, trainings):
        store.save(outcome)
        yield outcome
    keys = {run.training for run in runs if run.training is not None}
    learned = {key: _learned(store.columns(key)) for key in keys}
    ready: list[Run] = []
    for run in (run for run in runs if run.track != TRAINING):
        if run.training is None:
            ready.append(run)
        elif (known := learned[run.training]) is not None:
            ready.append(replace(run, learned=known))
        else:
            outcome = Outcome(run.key, "its training failed", sources=run.sources)
            store.save(outcome)
            yield outcome
    for outcome in dispatch(executor, ready):
        store.save(outcome)
        yield outcome


def _learned(columns: dict[str, Any]) -> bytes | None:
    """What a training has taught, ready to be sent; None if it failed."""
    learned = {name: array for name, array in columns.items() if name.startswith(LEARNED)}
    return pack(learned) if columns else None


def _executor(workers: int | None, dask: str | None) -> Executor:
    if dask is not None:
        from evaluation.running.executors.dask import Dask

        return Dask(dask, workers or 2)
    if workers == 0:
        return InProcess()
    return Pool(os.cpu_count() or 1 if workers is None else workers)
