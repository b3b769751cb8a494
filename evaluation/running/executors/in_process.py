"""Everything in this process, for debugging: a debugger stops in the agent."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from evaluation.running.execution import execute
from evaluation.running.record import Record
from evaluation.running.run import Run


class InProcess:
    """Runs each batch when it is submitted. An agent that kills its process kills everything."""

    capacity = 1

    def submit(self, runs: Sequence[Run]) -> Future[list[Record]]:
        """Run a batch now."""
        future: Future[list[Record]] = Future()
        future.set_result([execute(run) for run in runs])
        return future

    def close(self) -> None:
        """There is nothing to stop."""
