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
from evaluation.running.run import Cell, Outcome, cells_of, pack
from evaluation.running.training import LEARNED
from evaluation.store import Store


@dataclass(frozen=True)
class Progress:
    """How far a sweep is.

    Attributes:
        cells: All cells of the protocol.
        done: Finished by now, those of earlier runs included.
        failed: Failed among these.
        cell: The one that has just been finished, None at the start.
        outcome: What came of it.
    """

    cells: int
    done: int
    failed: int
    cell: Cell | None = None
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
        retry_failed: Whether cells that failed before are tried again.
        isolated: Whether agents have processes of their own, without the worlds: slower by some
            0.1 ms a step, for agents that are not trusted.
        on_progress: Told how far it is, at the start and after every cell.
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
    cells = cells_of(protocol)
    stored = store.begin(protocol, cells)
    by_key = {cell.key: cell for cell in cells}
    finished = store.finished(by_key, failures=not retry_failed)
    missing = [
        replace(cell, isolated=isolated) for key, cell in by_key.items() if key not in finished
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
    return Results(store, stored)


def run_cells(
    cells: Collection[Cell],
    *,
    workers: int | None = None,
    on_progress: Callable[[Progress], object] = lambda progress: None,
) -> dict[str, Outcome]:
    """Run a few cells in processes, trainings that they build on among them.

    Args:
        cells: Which.
        workers: Processes; by default one per core.
        on_progress: Told how far it is.

    Returns:
        What came of each, by its key.
    """
    found: dict[str, Outcome] = {}
    on_progress(Progress(len(cells), 0, 0))
    with closing(_executor(workers, None)) as executor, Store() as store:
        for outcome in _outcomes(executor, list(cells), store):
            found[outcome.key] = outcome
            failed = sum(other.reason is not None for other in found.values())
            on_progress(Progress(len(cells), len(found), failed))
    return found


def _outcomes(executor: Executor, cells: list[Cell], store: Store) -> Iterator[Outcome]:
    """Run and keep: trainings first, then what builds on them."""
    trainings = [cell for cell in cells if cell.track == TRAINING]
    for outcome in dispatch(executor, trainings):
        store.save(outcome)
        yield outcome
    lessons = {cell.lesson for cell in cells if cell.lesson is not None}
    learned = {lesson: _learned(store.columns(lesson)) for lesson in lessons}
    taught: list[Cell] = []
    for cell in (cell for cell in cells if cell.track != TRAINING):
        if cell.lesson is None:
            taught.append(cell)
        elif (lesson := learned[cell.lesson]) is not None:
            taught.append(replace(cell, learned=lesson))
        else:
            outcome = Outcome(cell.key, "its training failed", sources=cell.sources)
            store.save(outcome)
            yield outcome
    for outcome in dispatch(executor, taught):
        store.save(outcome)
        yield outcome


def _learned(columns: dict[str, Any]) -> bytes | None:
    """What a training has taught, ready to be sent; None if it failed."""
    lesson = {name: array for name, array in columns.items() if name.startswith(LEARNED)}
    return pack(lesson) if columns else None


def _executor(workers: int | None, dask: str | None) -> Executor:
    if dask is not None:
        from evaluation.running.executors.dask import Dask

        return Dask(dask, workers or 2)
    if workers == 0:
        return InProcess()
    return Pool(os.cpu_count() or 1 if workers is None else workers)
