"""What a log is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from periodic_decisions.tables.grid import Clock
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError

Integers = NDArray[np.intp]


class LogError(DataError):
    """A question that a log cannot answer, or a log that cannot be used: one sentence."""


@dataclass(frozen=True, eq=False)
class Log:
    """Decisions in order of time, one row each; several may stand at one time.

    Attributes:
        source: What messages call it.
        clock: The first time and the step.
        names: What the arms are called.
        step: When each decision was made, in steps from ``origin``, shape (n,).
        arm: Number of the arm that was chosen, shape (n,).
        reward: What it brought, shape (n,).
        probability: With what probability it was chosen, shape (n,); None if that is not known.
        contexts: What else was known at each decision, shape (n, c).
        context_names: What the columns of the contexts are called.
        origin: The step of the first time. Steps of dated times are counted from a Monday's
            midnight, so that phases of a day are hours of the clock; steps of numbers from 0.
        unknown: Rows without a reward, which were left out.
        notes: What was found while reading, in words.
    """

    source: str
    clock: Clock
    names: tuple[str, ...]
    step: Integers
    arm: Integers
    reward: Array
    probability: Array | None = None
    contexts: Array | None = None
    context_names: tuple[str, ...] = ()
    origin: int = 0
    unknown: int = 0
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.arm)

    @property
    def moments(self) -> Any:
        """The time of each row: a DatetimeIndex, or numbers."""
        steps = self.step - self.origin
        return self.clock.times(int(steps.max()) + 1)[steps]

    def number_of(self, arm: str) -> int:
        """The number of an arm by its name.

        Raises:
            LogError: If the log has no such arm.
        """
        if arm not in self.names:
            raise LogError(
                f"there is no arm {arm!r} in {self.source}: there are {', '.join(self.names[:20])}"
            )
        return self.names.index(arm)
