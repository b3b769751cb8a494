"""Handing out cells, whoever runs them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Protocol

from evaluation.running.run import Cell, Outcome

SECONDS_PER_BATCH = 0.5
"""Short cells are handed out together until they are expected to take this long."""
MOST_CELLS_PER_BATCH = 64
DEATHS_ALLOWED = 1
"""A process may have been killed from outside: its cell gets one more chance, alone."""


class BatchLostError(Exception):
    """The process of a batch is gone, and its outcomes with it.

    Args:
        reason: Why, as the record of a cell says it.
        hung: Whether it was stopped for taking too long: trying again would take as long.
    """

    def __init__(self, reason: str, hung: bool) -> None:
        super().__init__(reason, hung)
        self.reason, self.hung = reason, hung


class Executor(Protocol):
    """Somebody who runs batches of cells.

    Attributes:
        capacity: How many batches are worth handing out at a time.
    """

    capacity: int

    def submit(self, cells: Sequence[Cell]) -> Future[list[Outcome]]:
        """Run a batch; the future may raise ``BatchLostError``."""

    def close(self) -> None:
        """Stop at once."""


def batch_seconds(cells: Sequence[Cell]) -> float:
    """When a batch is stopped from outside, should its supervision have failed."""
    return sum(2.0 * cell.limits.seconds + 10.0 for cell in cells)


def dispatch(executor: Executor, cells: Iterable[Cell]) -> Iterator[Outcome]:
    """Run all cells; outcomes come as they are finished, one for every cell.

    A batch whose process dies costs nobody but the guilty: its cells are run again one by one.
    """
    waiting = _Waiting(cells)
    running: dict[Future[list[Outcome]], list[Cell]] = {}
    while waiting or running:
        while waiting and len(running) < executor.capacity:
            batch = waiting.take()
            running[executor.submit(batch)] = batch
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            batch = running.pop(future)
            try:
                outcomes = future.result()
            except BatchLostError as lost:
                yield from waiting.give_back(batch, lost)
                continue
            for cell, outcome in zip(batch, outcomes, strict=True):
                waiting.learn(cell, outcome)
                yield outcome


class _Waiting:
    """The cells that are still to run, in order, and how long their like has taken."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._cells = deque(cells)
        self._alone: deque[Cell] = deque()
        self._deaths: dict[str, int] = {}
        self._seconds: dict[tuple[str, str], float] = {}

    def __bool__(self) -> bool:
        return bool(self._cells or self._alone)

    def take(self) -> list[Cell]:
        """The next batch: one cell, and more as long as they are known to be short."""
        if self._alone:
            return [self._alone.popleft()]
        batch = [self._cells.popleft()]
        expected = self._expected(batch[0])
        while self._cells and len(batch) < MOST_CELLS_PER_BATCH:
            expected += self._expected(self._cells[0])
            if expected > SECONDS_PER_BATCH:
                break
            batch.append(self._cells.popleft())
        return batch

    def _expected(self, cell: Cell) -> float:
        return self._seconds.get((cell.env, cell.agent), SECONDS_PER_BATCH)

    def learn(self, cell: Cell, outcome: Outcome) -> None:
        """Remember how long such a cell takes."""
        self._seconds[cell.env, cell.agent] = outcome.seconds

    def give_back(self, batch: list[Cell], lost: BatchLostError) -> Iterator[Outcome]:
        """Cells of a lost batch are run alone; the one that is lost again has failed."""
        if len(batch) > 1:
            self._alone.extend(batch)
            return
        (cell,) = batch
        deaths = self._deaths[cell.key] = self._deaths.get(cell.key, 0) + 1
        if lost.hung or deaths > DEATHS_ALLOWED:
            yield Outcome(cell.key, lost.reason)
        else:
            self._alone.append(cell)
