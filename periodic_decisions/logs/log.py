"""Logs of decisions, their rows by phase of a season and in blocks of whole seasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from periodic_decisions.tables.cells import count
from periodic_decisions.tables.series import TimeGrid
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError

MAX_PHASES = 168  # the hours of a week
MAX_BLOCKS = 60  # longer logs have several seasons in each
MIN_BLOCKS = 4  # fewer blocks say too little about their differences
FOLDS = 5  # parts for cross-fitting, each of whole blocks
DAY, WEEK = pd.Timedelta(days=1), pd.Timedelta(weeks=1)
MONDAY = pd.Timestamp("2024-01-01")

Integers = NDArray[np.intp]


class DecisionLogError(DataError):
    """A question that a log cannot answer, or a log that cannot be used."""


@dataclass(frozen=True, eq=False)
class DecisionLog:
    """Decisions in order of time, one row each; several may stand at one time.

    Attributes:
        source: Name of the log in messages.
        grid: First time and step.
        names: Names of the arms.
        step: Time of each decision, in steps from ``origin``, shape (n,).
        arm: Number of the chosen arm, shape (n,).
        reward: Its reward, shape (n,).
        probability: Probability of its choice, shape (n,); None if unknown.
        contexts: Other facts known at each decision, shape (n, c).
        context_names: Names of the columns of the contexts.
        origin: Step of the first time. Steps of dated times are counted from a Monday's
            midnight, so that phases of a day are hours of the clock; steps of numbers from 0.
        unknown: Rows without a reward, which were left out.
        notes: Findings while reading, as text.
    """

    source: str
    grid: TimeGrid
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
        """Time of each row: a DatetimeIndex, or numbers."""
        steps = self.step - self.origin
        return self.grid.times(int(steps.max()) + 1)[steps]

    def number_of(self, arm: str) -> int:
        """Return the number of an arm by its name."""
        if arm not in self.names:
            raise DecisionLogError(
                f"there is no arm {arm!r} in {self.source}: there are {', '.join(self.names[:20])}"
            )
        return self.names.index(arm)


@dataclass(frozen=True, eq=False)
class LogSeasons:
    """Place of each row of a log in its season, and its block.

    Events of one season depend on each other, so neither intervals nor cross-fitting ever cut
    one: a block is one season or several, and a fold is every fifth block.

    Attributes:
        period: Length of a season in steps.
        phases: Number of phases.
        phase: Phase of each row, shape (n,).
        blocks: Number of blocks.
        block: Block of each row, shape (n,).
        folds: Number of folds.
    """

    period: float
    phases: int
    phase: Integers
    blocks: int
    block: Integers
    folds: int

    @property
    def fold(self) -> Integers:
        """Fold of each row, shape (n,)."""
        return self.block % self.folds

    def starts(self) -> Array:
        """Return the beginning of each phase in the season, in steps."""
        return np.arange(self.phases, dtype=np.float64) * (self.period / self.phases)

    def count(self, arm: Integers, arms: int, rows: Any = slice(None)) -> Array:
        """Count the rows of each arm in each phase, shape (phases, arms)."""
        cells = self.phase[rows] * arms + arm
        counts = np.bincount(cells, minlength=self.phases * arms)
        return counts.reshape(self.phases, arms).astype(np.float64)


def split_seasons(
    step: Integers, period: float, *, phases: int | None = None, seasons_per_block: int = 1
) -> LogSeasons:
    """Sort rows by phase and block.

    Args:
        step: Step of each row, in order.
        period: Length of a season in steps, at least 1.
        phases: Number of phases; None for one per step, up to ``MAX_PHASES``.
        seasons_per_block: Least number of whole seasons in a block: more where one season depends
            on the one before.

    Raises:
        DecisionLogError: If there are fewer than ``MIN_BLOCKS`` blocks of whole seasons.
    """
    if not (np.isfinite(period) and period >= 1.0):
        raise DecisionLogError(f"period must be a number of steps of at least 1, got {period!r}")
    if seasons_per_block < 1 or (phases is not None and phases < 1):
        raise DecisionLogError("phases and the seasons of a block must be at least 1")
    phases = min(max(1, round(period)), MAX_PHASES) if phases is None else phases
    cycle = np.floor(step / period + 1e-9)
    phase = np.floor((step / period - cycle + 1e-9) * phases).astype(np.intp)
    # From the first row on, whatever its phase: so every block but the last has whole seasons.
    season = np.floor((step - step[0]) / period + 1e-9).astype(np.intp)
    whole = int(np.floor((step[-1] - step[0] + 1) / period + 1e-9))
    per_block = max(seasons_per_block, -(-whole // MAX_BLOCKS))
    # The rest at the end, less than a block, goes to the last block; blocks without rows go.
    block = np.minimum(season // per_block, whole // per_block - 1)
    used, block = np.unique(block, return_inverse=True)
    if len(used) < MIN_BLOCKS:
        raise DecisionLogError(
            f"only {count(len(used), 'block')} of {per_block} whole seasons of {period:g} steps "
            f"have rows: at least {MIN_BLOCKS} are needed to say how sure an estimate is"
        )
    folds = min(FOLDS, len(used))
    clipped = np.clip(phase, 0, phases - 1)
    return LogSeasons(period, phases, clipped, len(used), block.astype(np.intp), folds)


def phase_label(log: DecisionLog, seasons: LogSeasons, phase: int) -> str:
    """Return the beginning of a phase: "05:00" of a day, "Tue 05:00" of a week, else "phase 5"."""
    step = log.grid.step
    length = seasons.period * step if isinstance(step, pd.Timedelta) else None
    if length not in (DAY, WEEK):
        return f"phase {phase}"
    moment = MONDAY + phase * (length / seasons.phases)
    return f"{moment:%a %H:%M}" if length == WEEK else f"{moment:%H:%M}"
