"""What every study works with: a scale, a store, processes, a folder for pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from evaluation.protocol.entries import Limits, agent_entry, env_entry
from evaluation.protocol.protocol import Protocol
from evaluation.results import Results
from evaluation.running.executors.pool import worker_pool
from evaluation.running.sweep import Progress, run
from evaluation.store import Store
from evaluation.studies.paper.scale import Scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Report = Callable[[Progress], object]


class FailedRunError(Exception):
    """A run of a study that did not finish: a sentence that says which and why."""


class Lab:
    """A place to run studies in.

    Args:
        scale: How much is run.
        store: Where results are kept: a study that was interrupted goes on from there.
        pictures: Folder for pictures; it must exist.
        workers: Processes; 0 for this one; None for one per core.
        reporting: Given the title of what is run, a context that takes its progress.
    """

    def __init__(
        self,
        scale: Scale,
        *,
        store: Store,
        pictures: Path,
        workers: int | None,
        reporting: Callable[[str], AbstractContextManager[Report]],
    ) -> None:
        self.scale = scale
        self.memory: dict[str, Any] = {}  # what several studies need and one has computed
        self._store, self._pictures = store, pictures
        self._workers, self._reporting = workers, reporting

    def run(
        self,
        name: str,
        *,
        envs: Sequence[Any],
        agents: Sequence[Any],
        seeds: int = 1,
        horizon: int | None = None,
    ) -> Results:
        """Run a protocol, or what is missing of it."""
        protocol = Protocol(
            name=f"reproduce-{name}",
            envs=tuple(map(env_entry, envs)),
            agents=tuple(map(agent_entry, agents)),
            seeds=tuple(range(seeds)),
            horizon=horizon,
            limits=Limits(seconds=600.0, memory_mb=4096),
        )
        with self._reporting(name) as report:
            results = run(protocol, store=self._store, workers=self._workers, on_progress=report)
        for failed in results.failures:
            raise FailedRunError(
                f"{failed.agent} in {failed.env}, seed {failed.seed}, failed: {failed.reason}"
            )
        return results

    def map(
        self, name: str, function: Callable[[Item], Answer], items: Sequence[Item]
    ) -> list[Answer]:
        """The function of every item, in processes; the function and the items are picklable."""
        answers: list[Answer] = []
        with self._reporting(name) as report:
            report(Progress(len(items), 0, 0))
            if self._workers == 0:
                found = map(function, items)
                for number, answer in enumerate(found, 1):
                    answers.append(answer)
                    report(Progress(len(items), number, 0))
                return answers
            with closing(_Map(self._workers)) as pool:
                for answer in pool(function, items):
                    answers.append(answer)
                    report(Progress(len(items), len(answers), 0))
        return answers

    def picture(self, figure: Figure, name: str, caption: str) -> str:
        """Save a figure; the Markdown that shows it."""
        figure.savefig(self._pictures / f"{name}.png")
        return f"![{caption}]({self._pictures.name}/{name}.png)\n\n*{caption}*"


class _Map:
    """Processes that answer in order."""

    def __init__(self, workers: int | None) -> None:
        self._pool: Any = worker_pool(workers or os.cpu_count() or 1)

    def __call__(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Any:
        futures = [self._pool.schedule(function, args=[item]) for item in items]
        return (future.result() for future in futures)

    def close(self) -> None:
        self._pool.stop()
        self._pool.join()


def regrets(results: Results) -> pd.DataFrame:
    """Regret of every run: a row for each world and seed, a column for each agent."""
    totals = results.totals
    return totals.pivot(index=["env", "seed"], columns="agent", values="regret")
