"""Where a log cannot tell anything about a policy: phases in which the log never did the like."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from periodic_decisions.logs.log import Integers
from periodic_decisions.logs.probabilities import count_by_phase
from periodic_decisions.logs.seasons import Seasons
from periodic_envs.arrays import Array

CHANCE = 0.05
"""An arm is absent by no accident if that is less likely than this, over all phases together."""


def blind_rows(
    seasons: Seasons, arm: Integers, policy: Integers, arms: int, probability: Array | None
) -> NDArray[np.bool_]:
    """The rows in whose phase the policy's arm was never logged, shape (n,).

    Where probabilities were logged, an absence counts only if it is no accident: if the phase has
    so many rows that the arm, at the lowest probability it ever had, should have come up, or if the
    probabilities there left it no room.
    """
    unseen = count_by_phase(seasons.phase, arm, seasons.phases, arms) == 0.0
    if probability is not None:
        unseen &= ~_accidental(seasons, arm, arms, probability)
    return np.asarray(unseen[seasons.phase, policy])


def _accidental(
    seasons: Seasons, arm: Integers, arms: int, probability: Array
) -> NDArray[np.bool_]:
    """Whether an arm may be absent from a phase by chance alone, shape (phases, arms)."""
    lowest = np.ones(arms)
    np.minimum.at(lowest, arm, probability)
    rows = np.bincount(seasons.phase, minlength=seasons.phases)
    room = np.zeros(seasons.phases)
    np.maximum.at(room, seasons.phase, 1.0 - probability)
    by_chance = (1.0 - lowest) ** rows[:, None] >= CHANCE / seasons.phases
    return np.asarray(by_chance & (room[:, None] >= lowest - 1e-9))
