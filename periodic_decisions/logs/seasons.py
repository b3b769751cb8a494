"""The rows of a log by phase, and in blocks of whole seasons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from periodic_decisions.logs.log import Integers, LogError
from periodic_decisions.tables.report import count
from periodic_envs.arrays import Array

MAX_PHASES = 168
"""Phases that are told apart at most: the hours of a week."""
MAX_BLOCKS = 60
"""Blocks at most; longer logs have several seasons in each."""
MIN_BLOCKS = 4
"""Blocks at least: fewer say too little about how much blocks differ."""
FOLDS = 5
"""Parts for cross-fitting, each of whole blocks."""


@dataclass(frozen=True, eq=False)
class Seasons:
    """Where each row of a log is in its season, and in which block it is.

    What happens within a season hangs together, so neither intervals nor cross-fitting ever cut
    one: a block is one season or several, and a fold is every fifth block.

    Attributes:
        period: Length of a season in steps.
        phases: How many phases are told apart.
        phase: Phase of each row, shape (n,).
        blocks: How many blocks there are.
        block: Block of each row, shape (n,).
        folds: How many folds there are.
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
        """Where in the season each phase begins, in steps."""
        return np.arange(self.phases, dtype=np.float64) * (self.period / self.phases)


def split_seasons(
    step: Integers, period: float, *, phases: int | None = None, seasons_per_block: int = 1
) -> Seasons:
    """Sort rows by phase and block.

    Args:
        step: Step of each row, in order.
        period: Length of a season in steps, at least 1.
        phases: How many phases are told apart; None for one per step, up to ``MAX_PHASES``.
        seasons_per_block: Whole seasons in a block at least: more where what happens in one season
            hangs together with the next.

    Raises:
        LogError: If there are fewer than ``MIN_BLOCKS`` blocks of whole seasons.
    """
    if not (np.isfinite(period) and period >= 1.0):
        raise LogError(f"period must be a number of steps of at least 1, got {period!r}")
    if seasons_per_block < 1 or (phases is not None and phases < 1):
        raise LogError("phases and the seasons of a block must be at least 1")
    phases = min(max(1, round(period)), MAX_PHASES) if phases is None else phases
    cycle = np.floor(step / period + 1e-9)
    phase = np.floor((step / period - cycle + 1e-9) * phases).astype(np.intp)
    # From the first row on, whatever its phase: so every block but the last has whole seasons.
    season = np.floor((step - step[0]) / period + 1e-9).astype(np.intp)
    whole = int(np.floor((step[-1] - step[0] + 1) / period + 1e-9))
    per_block = max(seasons_per_block, -(-whole // MAX_BLOCKS))
    if whole // per_block < MIN_BLOCKS:
        raise LogError(
            f"the log has {count(whole, 'whole season')} of {period:g} steps in blocks of "
            f"{per_block}: at least {MIN_BLOCKS} blocks are needed to say how sure an estimate is"
        )
    # What is left at the end, less than a block, goes to the last block; blocks without rows go.
    block = np.minimum(season // per_block, whole // per_block - 1)
    used, block = np.unique(block, return_inverse=True)
    if len(used) < MIN_BLOCKS:
        raise LogError(
            f"only {count(len(used), 'block')} of whole seasons have rows: at least {MIN_BLOCKS} "
            "are needed to say how sure an estimate is"
        )
    folds = min(FOLDS, len(used))
    clipped = np.clip(phase, 0, phases - 1)
    return Seasons(period, phases, clipped, len(used), block.astype(np.intp), folds)
