"""What workers must import before they know somebody's world."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from evaluation.own_worlds import WorldModule, know, modules_of
from evaluation.running.executors.base import SweepStoppedError
from evaluation.running.worker import execute_all
from evaluation.runs import Run
from evaluation.specs import UnknownWorldError


def world_modules(runs: Iterable[Run]) -> tuple[WorldModule, ...]:
    """The modules of the worlds of runs that are not ours.

    Raises:
        SweepStoppedError: If a worker could not import one.
    """
    worlds = {run.world.env_id: run.world for run in runs}
    try:
        return modules_of(worlds.values())
    except UnknownWorldError as error:
        raise SweepStoppedError(str(error)) from error


def execute_knowing(runs: Sequence[Run], ledger: Path, modules: Sequence[WorldModule]) -> None:
    """In a worker: run runs in worlds that it may have to import first.

    Args:
        runs: Which.
        ledger: Where to write down that a run is begun, and what came of it.
        modules: What to import.
    """
    know(modules)
    execute_all(runs, ledger)
