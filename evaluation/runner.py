"""Runner of protocols. Only runs that are not in the store are executed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from evaluation.console import Reporter, in_notebook
from evaluation.entries import AgentArgument, checked_agents, entries_of
from evaluation.protocol import Protocol
from evaluation.record import Record
from evaluation.results import Results
from evaluation.runs import Run, runs_of
from evaluation.specs import (
    REFERENCES,
    TRAINING,
    ProtocolError,
    UnknownWorldError,
    look_for,
    parse_seeds,
    require_list,
)
from evaluation.store import Store
from evaluation.workers import Executor, InProcess, Processes, execute
from periodic_envs.checks import one_of, whole


@dataclass(frozen=True)
class Progress:
    """Progress of a sweep.

    Attributes:
        runs: Number of runs of the protocol.
        done: Number of finished runs, including those of earlier calls.
        failed: Number of finished runs that failed.
        run: The run that finished last; None at the start.
        record: Record of the run that finished last; None at the start.
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
        protocol: A protocol, the name of a built-in protocol, or the path of a TOML file.
        agents: Agents that replace those of the protocol. Each is a label of the protocol, an agent
            in the notation of the command line, an ``AgentSpec``, or a class. To pass settings to a
            class, use ``functools.partial(MyAgent, epsilon=0.1)``. To set a track or the number of
            training steps, use a dictionary with the fields of a protocol, such as
            ``{"name": MyAgent, "track": "pretrained", "training_steps": 6400}``.
        envs: Worlds that replace those of the protocol. Each is a label of the protocol, or a world
            in the notation of the command line.
        seeds: Seeds that replace those of the protocol: "0:20" for twenty seeds, or a list of
            numbers.
        store: Store of results, or its path; None for a store in memory. Runs that the store
            contains are not repeated.
        workers: Number of worker processes, by default one per core. With 0, all runs are executed
            in the current process.
        dask: Address of a Dask scheduler, ``tcp://host:port``, or "local" for a Dask cluster on
            this machine. The cluster then replaces the worker processes.
        retry_failed: Repeat runs that failed before.
        isolation: "none" for agents in the same process as the world, or "sandbox" for untrusted
            agents.
            With a sandbox, Python is started for every run, and a step takes about 0.1 ms longer.
        references: Compute the reference rows (oracle, best fixed action, ...).
        on_progress: Function that is called with the progress at the start and after every run. By
            default, progress is printed in notebooks only, and a warning is issued at the end if
            runs have failed.

    Raises:
        ValueError: If an argument is invalid.
    """
    one_of("isolation", isolation, ("none", "sandbox"))
    protocol = _chosen(protocol, agents, envs, seeds, trusted=isolation == "none")
    if not isinstance(store, Store):
        store = Store(store)
    runs = [run for run in runs_of(protocol) if references or run.track != REFERENCES]
    stored = store.begin(protocol, runs)
    by_key = {run.key: run for run in runs}
    finished = store.finished(by_key, failures=not retry_failed)
    missing = [replace(by_key[key], isolation=isolation) for key in by_key if key not in finished]
    failed = len(finished - store.finished(finished, failures=False))
    executor = _executor(workers, dask, missing)
    with closing(executor), Reporter(quiet=on_progress is not None or not in_notebook()) as line:
        report = on_progress or line
        report(Progress(len(by_key), len(finished), failed))
        records = _records(executor, missing, _trained(missing, store))
        for done, record in enumerate(records, len(finished) + 1):
            store.save(record)
            failed += record.reason is not None
            report(Progress(len(by_key), done, failed, by_key[record.key], record))
    results = Results(store.source(stored.id))
    if on_progress is None and results.failures:
        first = results.failures[0]
        warnings.warn(
            f"{len(results.failures):,} of {results.size:,} runs failed, the first of them "
            f"{first.agent} in {first.env}, seed {first.seed}: {first.reason}; all failed runs are "
            "in the attribute .failures of the results",
            stacklevel=2,
        )
    return results


def _chosen(
    protocol: Any,
    agents: Collection[AgentArgument] | None,
    envs: Collection[str] | None,
    seeds: str | Collection[int] | None,
    *,
    trusted: bool,
) -> Protocol:
    """Return the protocol after validation, with the given agents, worlds and seeds."""
    if not isinstance(protocol, Protocol):
        if not isinstance(protocol, str | os.PathLike):
            rule = (
                "protocol must be a Protocol, the name of a built-in protocol, or the path of a "
                "TOML file"
            )
            raise ProtocolError("invalid-argument", f"{rule}, got {protocol!r}")
        protocol = Protocol.load(protocol)
    chosen = protocol.restricted(
        agents=None if agents is None else entries_of(agents),
        envs=None
        if envs is None
        else require_list("envs", envs, partial(ProtocolError, "not-a-list")),
        seeds=None if seeds is None else parse_seeds(seeds),
    )
    try:
        for entry in chosen.envs:
            look_for(entry.spec)
    except UnknownWorldError as error:
        raise ProtocolError(error.code, f"envs: {error}") from error
    return checked_agents(chosen, trusted=trusted)


def _trained(runs: Collection[Run], store: Store) -> dict[str, bytes]:
    """Return the packed records of the stored training runs that ``runs`` require, by key."""
    needed = {run.training for run in runs if run.training is not None}
    return {key: packed for key in needed if (packed := store.packed(key)) is not None}


def execute_all(
    runs: Collection[Run],
    *,
    workers: int | None = None,
    on_progress: Callable[[Progress], object] = lambda progress: None,
) -> dict[str, Record]:
    """Execute runs, including training runs, in worker processes; return records by key."""
    records: dict[str, Record] = {}
    failed = 0
    on_progress(Progress(len(runs), 0, 0))
    with closing(_executor(workers, None, runs)) as executor:
        for record in _records(executor, runs, {}):
            records[record.key] = record
            failed += record.reason is not None
            on_progress(Progress(len(runs), len(records), failed))
    return records


def _records(
    executor: Executor | InProcess, runs: Collection[Run], trained: dict[str, bytes]
) -> Iterator[Record]:
    """Execute the training runs, then the other runs; yield their records.

    Args:
        executor: Executor of the runs.
        runs: Runs to execute.
        trained: Packed records of finished training runs, by key. New records are added.
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
            yield Record(run.key, "the training of the agent failed", sources=run.sources)
    yield from dispatch(executor, ready)


def dispatch(executor: Executor | InProcess, runs: Iterable[Run]) -> Iterator[Record]:
    """Execute runs; yield their records in order of completion."""
    if isinstance(executor, InProcess):
        yield from map(execute, runs)
        return
    waiting = iter(runs)
    running: set[Future[Record]] = set()
    while True:
        running |= {
            executor.submit(run) for run in islice(waiting, executor.capacity - len(running))
        }
        if not running:
            return
        done, running = wait(running, return_when=FIRST_COMPLETED)
        yield from (future.result() for future in done)


def _executor(workers: int | None, dask: str | None, runs: Collection[Run]) -> Executor | InProcess:
    if workers is not None:  # None stands for one worker per core
        whole("workers", workers, 0)
    if not runs or (dask is None and workers == 0):
        return InProcess()
    for run in runs:
        if run.world_module == "__main__":
            raise ProtocolError(
                "not-importable",
                f"{run.world.env_id} is defined in this script or notebook, which worker processes "
                "do not import: define the world in a separate file and import this file, or run "
                "with workers=0",
            )
    if dask is not None:
        from evaluation.cluster import Dask

        return Dask(dask, workers or 2)
    return Processes(os.cpu_count() or 1 if workers is None else workers)
