"""Course of a changing season: phase, length and amplitude at each step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from periodic_envs.arrays import Array

KINDS = ("phase", "period", "swap", "amplitude")
"""Kinds of changes."""


@dataclass(frozen=True)
class Course:
    """History of a season, with an entry for the time after the last step.

    Attributes:
        changes: times of the first step after each change, ascending, shape (k,).
        cycles: seasons since the start, shape (T + 1,); the fractional part is the phase.
        periods: length of the season, shape (T + 1,).
        amplitudes: amplitude of the periodic part, 1 at the start, shape (T + 1,).
        arms: arm whose rewards each arm has, shape (T + 1, n); None without arms.
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
        time: first step after the change.
        kind: one of ``KINDS``.
        upwards: True for later, longer or stronger, false for the opposite.
        order: random order of the arms, in which neighbours are swapped.
    """

    time: int
    kind: str
    upwards: bool
    order: NDArray[np.intp]


def change_times(uniform: Array, horizon: int, gap: int) -> NDArray[np.int64]:
    """Return times with at least ``gap`` steps before, between and after them, shape (k,).

    Args:
        uniform: k numbers in [0, 1), in any order.
        horizon: total number of steps, at least ``(k + 1) gap``.
        gap: number of steps.
    """
    # Sorted uniform times on the spare steps, shifted by the gaps.
    spare = horizon - (len(uniform) + 1) * gap
    places = np.sort(np.floor(uniform * (spare + 1)).astype(np.int64))
    return places + gap * np.arange(1, len(uniform) + 1)


def course_of(changes: list[Change], *, horizon: int, period: float, size: float) -> Course:
    """Return the course of a season with changes of one size.

    Args:
        changes: changes in order of time; the arms are those of the first.
        horizon: number of steps.
        period: period at the start.
        size: size of a change in (0, 1], as defined by ``PeriodicGP-Shift-v0``.
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
    """Return the arms after a share of them, at least two, were swapped in pairs."""
    pairs = max(1, min(len(order) // 2, round(share * len(order) / 2.0)))
    one, other = order[: 2 * pairs : 2], order[1 : 2 * pairs : 2]
    swapped: NDArray[np.intp] = arms.copy()
    swapped[one], swapped[other] = arms[other], arms[one]
    return swapped
