"""Logs of decisions, with rows grouped by phase and by blocks of whole seasons."""

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

MAX_PHASES = 168  # default maximum number of phases: the hours of a week
MAX_BLOCKS = 60  # maximum number of blocks; in longer logs, a block has several seasons
MIN_BLOCKS = 4  # fewer blocks are too few to estimate a variance
FOLDS = 5  # maximum number of parts for cross-fitting; a part consists of whole blocks
DAY, WEEK = pd.Timedelta(days=1), pd.Timedelta(weeks=1)
MONDAY = pd.Timestamp("2024-01-01")

Integers = NDArray[np.intp]


class DecisionLogError(DataError):
    """Raised if a log cannot be used, or does not support an estimate."""


@dataclass(frozen=True, eq=False)
class DecisionLog:
    """Decisions in order of time, one per row; several decisions may share a time.

    Attributes:
        source: Name of the log in messages.
        grid: First time, and length of a step.
        names: Names of the arms.
        step: Step of each decision, shape (n,); the first time has the step ``origin``.
        arm: Number of the chosen arm, shape (n,).
        reward: Reward of the chosen arm, shape (n,).
        probability: Probability of the choice, shape (n,); None if unknown.
        contexts: Other values that were known before each decision, shape (n, c), or None.
        context_names: Names of the columns of the contexts.
        origin: Step of the first time. If times are dates, steps are counted from a Monday at
            midnight, so that phases of a day are hours of the clock. Otherwise steps are counted
            from time 0.
        unknown: Number of rows without a reward, which were left out.
        notes: Notes on reading the table, as text.
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
        """Return the number of an arm."""
        if arm not in self.names:
            raise DecisionLogError(
                "unknown-arm",
                f"unknown arm {arm!r}: the arms of {self.source} are {', '.join(self.names[:20])}",
            )
        return self.names.index(arm)


@dataclass(frozen=True, eq=False)
class LogSeasons:
    """Phase, block and fold of each row of a log.

    Rows of the same season may be dependent, so intervals and cross-fitting never split a season:
    a block consists of one or more seasons, and a fold consists of every fifth block.

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
        """Return the start of each phase within the season in steps, shape (phases,)."""
        return np.arange(self.phases, dtype=np.float64) * (self.period / self.phases)

    def count(self, arm: Integers, arms: int, rows: Any = slice(None)) -> Array:
        """Return the number of rows with each arm in each phase, shape (phases, arms).

        Args:
            arm: Arm of each counted row.
            arms: Number of arms.
            rows: Index of the counted rows; by default, all rows are counted.
        """
        cells = self.phase[rows] * arms + arm
        counts = np.bincount(cells, minlength=self.phases * arms)
        return counts.reshape(self.phases, arms).astype(np.float64)


def split_seasons(
    step: Integers, period: float, *, phases: int | None = None, seasons_per_block: int = 1
) -> LogSeasons:
    """Assign rows to phases and blocks.

    Args:
        step: Step of each row, in order.
        period: Length of a season in steps, at least 1.
        phases: Number of phases; None for one per step, up to ``MAX_PHASES``.
        seasons_per_block: Minimum number of whole seasons in a block; use more if consecutive
            seasons are dependent.

    Raises:
        DecisionLogError: If an argument is out of range, or if there are fewer than ``MIN_BLOCKS``
            blocks of whole seasons.
    """
    if not (np.isfinite(period) and period >= 1.0):
        raise DecisionLogError(
            "out-of-range", f"period must be finite and at least 1 step, got {period!r}"
        )
    if seasons_per_block < 1 or (phases is not None and phases < 1):
        raise DecisionLogError(
            "out-of-range",
            f"phases and seasons_per_block (--block-seasons) must be at least 1, got {phases} and "
            f"{seasons_per_block}",
        )
    phases = min(max(1, round(period)), MAX_PHASES) if phases is None else phases
    # Round-off must not move a row into the previous phase or season.
    cycle = np.floor(step / period + 1e-9)
    phase = np.floor((step / period - cycle + 1e-9) * phases).astype(np.intp)
    # Seasons are counted from the first row, so that every block but the last has whole seasons.
    season = np.floor((step - step[0]) / period + 1e-9).astype(np.intp)
    whole = int(np.floor((step[-1] - step[0] + 1) / period + 1e-9))
    per_block = max(seasons_per_block, -(-whole // MAX_BLOCKS))
    # The remainder at the end joins the last block; blocks without rows are dropped.
    block = np.minimum(season // per_block, whole // per_block - 1)
    used, block = np.unique(block, return_inverse=True)
    if len(used) < MIN_BLOCKS:
        raise DecisionLogError(
            "too-few-seasons",
            f"an interval needs rows in at least {MIN_BLOCKS} blocks of "
            f"{count(per_block, 'whole season')} of {period:g} steps, got rows in "
            f"{count(len(used), 'block')}",
        )
    folds = min(FOLDS, len(used))
    clipped = np.clip(phase, 0, phases - 1)
    return LogSeasons(period, phases, clipped, len(used), block.astype(np.intp), folds)


def phase_label(log: DecisionLog, seasons: LogSeasons, phase: int) -> str:
    """Return the label of a phase: "05:00" in a day, "Tue 05:00" in a week, or "phase 5"."""
    step = log.grid.step
    length = seasons.period * step if isinstance(step, pd.Timedelta) else None
    if length not in (DAY, WEEK):
        return f"phase {phase}"
    moment = MONDAY + phase * (length / seasons.phases)
    return f"{moment:%a %H:%M}" if length == WEEK else f"{moment:%H:%M}"
