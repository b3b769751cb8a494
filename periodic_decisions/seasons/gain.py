"""How much a policy that knows the phase could gain over one that always chooses the same arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from periodic_decisions.seasons.phases import by_slot
from periodic_decisions.seasons.slots import Slots, slot_choices
from periodic_envs.arrays import Array


@dataclass(frozen=True, eq=False)
class Gain:
    """Mean rewards per step of policies that know more and more.

    Attributes:
        random: Mean reward of arms chosen at random.
        static: Mean reward of the arm that was best on average, in hindsight, whatever the period.
        per_phase: Mean reward of the arm that was best at the same phase in the other seasons.
        hindsight: Mean reward of the arm that was best at the same phase, the season itself
            included: more than can be expected of seasons to come.
        oracle: Mean reward of the best arm at every step.
        seasons: Number of seasons; the last one may be incomplete.
        profile: Mean reward of each arm by phase, shape (phases, arms).
    """

    random: float
    static: float
    per_phase: float
    hindsight: float
    oracle: float
    seasons: int
    profile: Array

    @property
    def share(self) -> float:
        """The share of the oracle's gain over the static arm that the phase gives, at least 0."""
        return max(0.0, self.signed_share)

    @property
    def signed_share(self) -> float:
        """The same, below 0 if choosing by phase loses."""
        room = self.oracle - self.static
        return (self.per_phase - self.static) / room if room > 0 else 0.0


def measure_gain(rewards: Array, period: float, slots: Slots | None = None) -> Gain | None:
    """Compare policies on rewards (steps, arms) without gaps; None if there are not two seasons.

    What is best at a phase is chosen by seasons other than the one that it is judged by: there are
    so many phases that luck would seem to be skill.

    Args:
        rewards: Rewards, shape (steps, arms).
        period: The length of the season in steps.
        slots: The phases; None for the steps of the season.
    """
    if period > len(rewards) - 1:
        return None
    if slots is None:
        (slots,) = slot_choices(None, len(rewards), period)
    season, phase = slots.season, slots.slot
    steps = np.arange(len(rewards))
    sums, counts = by_slot(rewards, season, phase, len(slots))
    best_by_phase = best_in_others(sums, counts)
    profile = sums.sum(0) / np.maximum(counts.sum(0), 1.0)
    return Gain(
        random=float(rewards.mean()),
        static=float(rewards.mean(0).max()),
        per_phase=float(rewards[steps, best_by_phase[season, phase]].mean()),
        hindsight=float(rewards[steps, profile.argmax(1)[phase]].mean()),
        oracle=float(rewards.max(1).mean()),
        seasons=int(season.max()) + 1,
        profile=profile,
    )


def best_in_others(sums: Array, counts: Array) -> NDArray[np.intp]:
    """Find the arm that was best at each slot in the other seasons, shape (seasons, slots).

    Args:
        sums: Sums of the rewards of each (season, slot, arm).
        counts: Numbers of the rewards of each.
    """
    all_sums, all_counts = sums.sum(0), counts.sum(0)
    others = np.maximum(all_counts - counts, 1.0)
    known_elsewhere = (all_counts - counts)[..., 0] > 0
    best_elsewhere = (all_sums.sum(0) - sums.sum(1)).argmax(1)
    best_by_phase = ((all_sums - sums) / others).argmax(2)
    # A phase that no other season has (the only whole season) is no reason to leave the best arm.
    best: NDArray[np.intp] = np.where(known_elsewhere, best_by_phase, best_elsewhere[:, None])
    return best


def best_slots(
    rewards: Array, period: float, choices: Sequence[Slots]
) -> tuple[Slots, Gain | None]:
    """Choose the slots by which most is gained in seasons left out."""
    measured = [(slots, measure_gain(rewards, period, slots)) for slots in choices]
    return max(measured, key=lambda pair: 0.0 if pair[1] is None else pair[1].signed_share)
