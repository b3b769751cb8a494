"""Runner: what is missing of a protocol is run, what is finished is kept."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from agents.checks import one_of, require
from evaluation.entries import AgentArgument, checked_agents, entries_of
from evaluation.progress import default_reporter
from evaluation.protocol import Protocol
from evaluation.record import Record
from evaluation.results import Results
from evaluation.runs import Run, runs_of
from evaluation.specs import (
    REFERENCES,
    TRAINING,
    ProtocolError,
    UnknownWorldError,
    parse_seeds,
    require_list,
)
from evaluation.store import Store
from evaluation.workers import Executor, InProcess, Processes
from evaluation.worlds import look_for
from periodic_envs.checks import whole


@dataclass(frozen=True)
class Progress:
    """Progress of a sweep.

    Attributes:
        runs: All runs of the protocol.
        done: Finished by now, those of earlier calls included.
        failed: Failed among these.
        run: The run that has just finished, None at the start.
        record: Its record.
    """

    runs: int
    done: int
    failed: int
    run: Run | None = None
    record: Record | None = None


def run(
    protocol: Protocol | Path | str = "smoke",
    *,
    agents: Collection[AgentArgument] | None = None,
    envs: Collection[str] | None = None,
    seeds: str | Collection[int] | None = None,
    store: Store | Path | str | None = None,
    workers: int | None = None,
    dask: str | None = None,
    retry_failed: bool = False,
    isolation: str = "none",
    references: bool = True,
    on_progress: Callable[[Progress], object] | None = None,
) -> Results:
    """Run a protocol and return its results.

    Args:
        protocol: A protocol, the name of one that comes with the package, or a TOML file.
        agents: Agents instead of the protocol's: its labels, the command line's notation, an
            ``AgentSpec``, or a class; with settings, ``functools.partial(Mine, epsilon=0.1)``; with
            a track or a training, a table as in a protocol, ``{"name": Mine, "track":
            "pretrained", "training_steps": 6400}``.
        envs: Worlds instead of the protocol's: its labels, or the command line's notation.
        seeds: Seeds instead of the protocol's: "0:20" for twenty, or a list of numbers.
        store: Where results are kept; None for memory. What is in it is not run again.
        workers: Processes; 0 to run everything in this one. By default one per core.
        dask: ``tcp://host:port`` of a Dask scheduler, or "local", instead of processes.
        retry_failed: Whether runs that failed before are tried again.
        isolation: "none" for agents in the process of the world, or "sandbox" for agents that you
            do not trust. A sandbox costs the start of Python for every run, and some 0.1 ms a step.
        references: Whether oracle, best fixed action and their like are computed, too.
        on_progress: Called with how far it is, at the start and after every run. By default a bar
            in a notebook, nothing elsewhere, and a warning at the end if runs have failed.

    Raises:
        ValueError: One sentence, if an argument cannot be used.
    """
    one_of("isolation", isolation, ("none", "sandbox"))
    _check_workers(workers)
    report = default_reporter() if on_progress is None else on_progress
    require(callable(report), "on_progress must be a function", on_progress)
    protocol = _asked(_loaded(protocol), agents, envs, seeds, trusted=isolation == "none")
    if not isinstance(store, Store):
        store = Store(store)
    runs = [run for run in runs_of(protocol) if references or run.track != REFERENCES]
    stored = store.begin(protocol, runs)
    by_key = {run.key: run for run in runs}
    finished = store.finished(by_key, failures=not retry_failed)
    missing = [replace(by_key[key], isolation=isolation) for key in by_key if key not in finished]
    failed = len(finished - store.finished(finished, failures=False))
    report(Progress(len(by_key), len(finished), failed))
    if missing:
        handed_out = {run.key: run for run in missing}
        with closing(_executor(workers, dask, missing)) as executor:
            records = _records(executor, missing, _trained(missing, store))
            for done, record in enumerate(records, len(finished) + 1):
                store.save(record)
                failed += record.reason is not None
                report(Progress(len(by_key), done, failed, handed_out[record.key], record))
    results = Results(store.source(stored.id))
    if on_progress is None:
        _warn_of_failures(results)
    return results


def _check_workers(workers: Any) -> None:
    if workers is not None:  # by default one per core
        whole("workers", workers, 0)


def _loaded(protocol: Any) -> Protocol:
    if isinstance(protocol, Protocol):
        return protocol
    if not isinstance(protocol, str | os.PathLike):
        rule = "protocol must be a Protocol, the name of one or the path of a TOML file"
        raise ProtocolError(f"{rule}, got {protocol!r}")
    return Protocol.load(Path(protocol) if isinstance(protocol, os.PathLike) else protocol)


def _warn_of_failures(results: Results) -> None:
    """Warn of failures, which an empty table would hide."""
    if not results.failures:
        return
    first = results.failures[0]
    warnings.warn(
        f"{len(results.failures):,} of {results.size:,} runs failed, the first of them "
        f"{first.agent} in {first.env}, seed {first.seed}: {first.reason}; all are in .failures",
        stacklevel=3,
    )


def _asked(
    protocol: Protocol,
    agents: Collection[AgentArgument] | None,
    envs: Collection[str] | None,
    seeds: str | Collection[int] | None,
    *,
    trusted: bool,
) -> Protocol:
    """Return the checked protocol with what is asked for instead."""
    if seeds is not None and not isinstance(seeds, Iterable):
        raise ProtocolError(f'seeds must be a text ("0:20") or a list ([1, 4, 9]), got {seeds!r}')
    written = seeds if seeds is None or isinstance(seeds, str) else _plain(seeds)
    chosen = protocol.restricted(
        agents=None if agents is None else entries_of(agents),
        envs=None if envs is None else require_list("envs", envs, ProtocolError),
        seeds=None if written is None else parse_seeds(written),
    )
    _look_for_worlds(chosen)
    return checked_agents(chosen, trusted=trusted)


def _plain(seeds: Iterable[Any]) -> list[Any]:
    """Return seeds with Python's numbers for NumPy's."""
    return [int(seed) if isinstance(seed, np.integer) else seed for seed in seeds]


def _look_for_worlds(protocol: Protocol) -> None:
    try:
        for entry in protocol.envs:
            look_for(entry.spec)
    except UnknownWorldError as error:
        raise ProtocolError(f"envs: {error}") from error


def _trained(runs: Collection[Run], store: Store) -> dict[str, bytes]:
    """Return packed records of the trainings that runs build on and that are in the store."""
    needed = {run.training for run in runs if run.training is not None}
    return {key: packed for key in needed if (packed := store.packed(key)) is not None}


def execute_all(
    runs: Collection[Run],
    *,
    workers: int | None = None,
    on_progress: Callable[[Progress], object] = lambda progress: None,
) -> dict[str, Record]:
    """Run a few runs in processes, with the trainings that they build on; return records by key."""
    _check_workers(workers)
    found: dict[str, Record] = {}
    on_progress(Progress(len(runs), 0, 0))
    with closing(_executor(workers, None, runs)) as executor:
        for record in _records(executor, runs, {}):
            found[record.key] = record
            failed = sum(other.reason is not None for other in found.values())
            on_progress(Progress(len(runs), len(found), failed))
    return found


def _records(
    executor: Executor, runs: Collection[Run], trained: dict[str, bytes]
) -> Iterator[Record]:
    """Run trainings first, then what builds on them.

    Args:
        executor: Runs them.
        runs: What to run.
        trained: Packed records of the trainings that were finished before, by their keys.
    """
    for record in dispatch(executor, (run for run in runs if run.track == TRAINING)):
        if record.reason is None:
            trained[record.key] = record.packed
        yield record
    ready: list[Run] = []
    for run in (run for run in runs if run.track != TRAINING):
        if run.training is None:
            ready.append(run)
        elif run.training in trained:
            ready.append(replace(run, learned=trained[run.training]))
        else:
            yield Record(run.key, "its training failed", sources=run.sources)
    yield from dispatch(executor, ready)


def dispatch(executor: Executor, runs: Iterable[Run]) -> Iterator[Record]:
    """Run all runs; yield records as they are finished."""
    waiting = iter(runs)
    running: dict[Future[Record], Run] = {}
    while True:
        for run in islice(waiting, executor.capacity - len(running)):
            running[executor.submit(run)] = run
        if not running:
            return
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            del running[future]
            yield future.result()


def _executor(workers: int | None, dask: str | None, runs: Collection[Run]) -> Executor:
    if dask is None and workers == 0:
        return InProcess()
    for run in runs:
        if run.world_module == "__main__":
            raise ProtocolError(
                f"{run.world.env_id} is defined in this script or notebook, which other processes "
                "do not import: put it into a file of its own and import that, or run with "
                "workers=0"
            )
    if dask is not None:
        from evaluation.cluster import Dask

        return Dask(dask, workers or 2)
    return Processes(os.cpu_count() or 1 if workers is None else workers)
