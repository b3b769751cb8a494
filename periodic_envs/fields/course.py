"""Course of a changing season: phase, length, amplitude and arms at each step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from periodic_envs.arrays import Array

KINDS = ("phase", "period", "swap", "amplitude")
"""Kinds of changes."""


@dataclass(frozen=True)
class Course:
    """Course of a season over T steps, with an additional entry for the time after the last step.

    Attributes:
        changes: Time of the first step after each change, ascending, shape (k,).
        cycles: Number of seasons since the start, whose fractional part is the phase, shape
            (T + 1,).
        periods: Length of the season in steps, shape (T + 1,).
        amplitudes: Amplitude of the periodic part, which is 1 at the start, shape (T + 1,).
        arms: For each of n arms, the index of the arm whose original rewards it gives, shape
            (T + 1, n), or None if there are no arms or no changes.
    """

    changes: NDArray[np.int64]
    cycles: Array
    periods: Array
    amplitudes: Array
    arms: NDArray[np.intp] | None


@dataclass(frozen=True)
class Change:
    """Change of a season.

    Attributes:
        time: Time of the first step after the change.
        kind: Kind of the change, one of ``KINDS``.
        upwards: True if the phase jumps forwards, or the season becomes longer or stronger; False
            for the opposite.
        order: Random order of the arms. A swap exchanges pairs of neighbours in this order.
    """

    time: int
    kind: str
    upwards: bool
    order: NDArray[np.intp]


def change_times(uniform: Array, horizon: int, gap: int) -> NDArray[np.int64]:
    """Return k ascending times with at least ``gap`` steps before, between and after them.

    Args:
        uniform: Random numbers in [0, 1), in any order, shape (k,).
        horizon: Number of steps in an episode, at least ``(k + 1) gap``.
        gap: Minimum number of steps before, between and after the times.
    """
    # Times are uniform on the steps that remain without the gaps, then shifted by the gaps.
    spare = horizon - (len(uniform) + 1) * gap
    places = np.sort(np.floor(uniform * (spare + 1)).astype(np.int64))
    return places + gap * np.arange(1, len(uniform) + 1)


def course_of(changes: list[Change], *, horizon: int, period: float, size: float) -> Course:
    """Return the course of a season whose changes all have the same size.

    Args:
        changes: Changes in order of time. The first change determines the number of arms.
        horizon: Number of steps in an episode.
        period: Period at the start, in steps.
        size: Size of each change in (0, 1], as defined by ``PeriodicGP-Shift-v0``.
    """
    times = np.array([change.time for change in changes], dtype=np.int64)
    starts = np.concatenate([[0], times])
    factors = {kind: np.ones(len(starts)) for kind in ("period", "amplitude")}
    begin = np.zeros(len(starts))
    arms = [np.arange(len(changes[0].order) if changes else 0)]
    for i, change in enumerate(changes, start=1):
        for kind, factor in factors.items():
            ratio = 1.0 + size if change.upwards else 1.0 / (1.0 + size)
            factor[i] = factor[i - 1] * (ratio if change.kind == kind else 1.0)
        passed = (starts[i] - starts[i - 1]) / (period * factors["period"][i - 1])
        jump = size / 2.0 if change.kind == "phase" else 0.0
        begin[i] = begin[i - 1] + passed + (jump if change.upwards else -jump)
        arms.append(_swapped(arms[-1], change.order, size) if change.kind == "swap" else arms[-1])
    steps = np.arange(horizon + 1)
    segment = np.searchsorted(times, steps, side="right")
    periods = period * factors["period"][segment]
    return Course(
        changes=times,
        cycles=begin[segment] + (steps - starts[segment]) / periods,
        periods=periods,
        amplitudes=factors["amplitude"][segment],
        arms=np.array(arms)[segment] if changes and len(arms[0]) else None,
    )


def _swapped(arms: NDArray[np.intp], order: NDArray[np.intp], share: float) -> NDArray[np.intp]:
    """Return the arms after swapping a share of the arms (at least two arms) in pairs."""
    pairs = max(1, min(len(order) // 2, round(share * len(order) / 2.0)))
    one, other = order[: 2 * pairs : 2], order[1 : 2 * pairs : 2]
    swapped: NDArray[np.intp] = arms.copy()
    swapped[one], swapped[other] = arms[other], arms[one]
    return swapped
