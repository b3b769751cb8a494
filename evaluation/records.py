"""What is known of finished runs, and the one interface through which results are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray


@dataclass(frozen=True)
class StoredSweep:
    """A protocol that was run: the protocol as plain data, and when and how it was run."""

    id: int
    hash: str
    name: str
    protocol: dict[str, Any]
    data: dict[str, str | None]
    command: str
    started: str


@dataclass(frozen=True)
class StoredRun:
    """A run of a sweep with its totals; ``reason`` is set if it failed."""

    key: str
    env: str
    agent: str
    track: str
    seed: int
    reason: str | None
    steps: int
    regret: float | None
    agent_seconds: float | None


class RunSource(Protocol):
    """Where finished runs come from: a store, or the accepted submissions of an edition."""

    @property
    def sweep(self) -> StoredSweep:
        """The sweep that the runs belong to."""

    def runs(self) -> list[StoredRun]:
        """The finished runs with their totals, ordered by world, track, agent and seed."""

    def columns(self, key: str) -> dict[str, NDArray[Any]]:
        """The steps of a run; nothing for a failed one."""

    def size(self) -> int:
        """How many runs the sweep has, finished or not."""

    def machines(self) -> list[dict[str, Any]]:
        """The machines that the runs were computed on."""
