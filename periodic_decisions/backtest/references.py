"""Rewards of reference policies in a window, in units of the reward."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.references import phase_bins, reference_rewards
from periodic_decisions.seasons.schedule import measure_gain
from periodic_envs.arrays import Array
from periodic_envs.env import PeriodicBanditEnv

ORACLE, FIXED, UNIFORM = "oracle", "best-fixed", "uniform-random"
HINDSIGHT = "best-per-phase"
LEARNED, LEARNED_FIXED = "learned-schedule", "learned-fixed"
SCHEDULES = (HINDSIGHT, LEARNED)  # these need a season
MEANINGS = {
    ORACLE: "the best arm of every step, which is known only afterwards",
    HINDSIGHT: "the best arm of each phase of the season told first, in hindsight for each window",
    LEARNED: "the best arm of each phase in all data before the window, by the season worth most",
    FIXED: "the best arm of each window, in hindsight",
    LEARNED_FIXED: "the best arm of all data before the window",
    UNIFORM: "an arm at random",
}


def window_references(
    env: PeriodicBanditEnv, before: Array, periods: Sequence[float]
) -> dict[str, float]:
    """Return the total reward of each of ``MEANINGS`` in one window.

    Args:
        env: The window, a replayed table.
        before: Rewards of all arms at all steps before the window, shape (steps, arms).
        periods: Seasons in steps. The learned schedule has the one that was worth most before,
            judged by seasons left out; without any there are no schedules.
    """
    env.reset(seed=0)
    assert env.episode is not None
    process, first = env.episode.process, env.episode.first_step
    arms = np.arange(env.public.n_actions or 0)
    rewards = np.array([process.mean(arms, first + t) for t in range(env.horizon)])
    found = {name: float(each.sum()) for name, each in reference_rewards(env).items()}
    steps = np.arange(len(before) + len(rewards))
    found[LEARNED_FIXED] = _learned(before, rewards, np.zeros_like(steps))
    if periods:
        found[LEARNED] = _learned(before, rewards, phase_bins(steps, worth_most(before, periods)))
    else:
        del found[HINDSIGHT]
    return {name: found[name] for name in MEANINGS if name in found}


def worth_most(before: Array, periods: Sequence[float]) -> float:
    """Return the season by whose phases a schedule gains most, judged by seasons left out."""

    def worth(period: float) -> float:
        gain = measure_gain(before, period) if len(before) else None
        return -np.inf if gain is None else gain.per_phase

    return max(periods, key=worth)


def _learned(before: Array, rewards: Array, bins: NDArray[np.intp]) -> float:
    """Return the total reward of the arms that were best before in the same bin.

    In a bin without data it is the arm that was best in all, and without any data an arm at random.
    """
    if not len(before):
        return float(rewards.mean(1).sum())
    chosen = np.full(bins.max() + 1, before.mean(0).argmax())
    for bin in np.unique(bins[: len(before)]):
        chosen[bin] = before[bins[: len(before)] == bin].mean(0).argmax()
    return float(rewards[np.arange(len(rewards)), chosen[bins[len(before) :]]].sum())
