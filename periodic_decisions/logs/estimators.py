"""Off-policy estimators of a policy's mean reward per row, with intervals over blocks.

With rows i of reward r, weight w = [arm is the policy's] / probability, and model means q(logged
arm) and q(policy's arm), each estimator is a ratio of sums, or two:

    ips     sum w r / n                              [@horvitz1952generalization]
    snips   sum w r / sum w                          [@swaminathan2015self]
    dr      sum {q(policy) + w (r - q(logged))} / n  [@dudik2014doubly]
    sndr    sum q(policy) / n  +  sum w (r - q(logged)) / sum w

Intervals come from the jackknife that leaves out whole blocks, with Student's quantiles: blocks are
whole seasons, so that rows of one season may depend on each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from evaluation.statistics.intervals import Interval, tail_probabilities
from periodic_decisions.logs.log import DecisionLogError, Integers, LogSeasons
from periodic_envs.arrays import Array

ESTIMATORS = {
    "dm": "the model alone",
    "ips": "inverse probability weighting",
    "snips": "self-normalised inverse probability weighting",
    "dr": "doubly robust",
    "sndr": "self-normalised doubly robust",
}
NEEDS_MODEL = frozenset(("dr", "sndr"))  # the model of other folds
PRIOR_ROWS = 1.0  # imagined rows of every phase, shared as all phases together are
CHANCE = 0.05  # largest probability of an accidental absence, over all phases together
Ratio = tuple[Array, Array]  # numerators and denominators of the rows, shape (n,) each


def ratios(
    estimator: str, reward: Array, weight: Array, of_logged: Array, of_policy: Array
) -> tuple[Ratio, ...]:
    """Return the ratios of sums whose total is the estimate.

    >>> rows = [np.array(x) for x in ([1.0, 2.0], [2.0, 0.0], [0.5, 0.5], [0.5, 1.0])]
    >>> value(ratios("ips", *rows)), value(ratios("snips", *rows)), value(ratios("dr", *rows))
    (1.0, 1.0, 1.25)

    Args:
        estimator: Of ``ESTIMATORS``.
        reward: Reward of the logged arm, shape (n,), as all others.
        weight: Ratio of the policy's and the log's probability of that arm.
        of_logged: The model's mean reward of the logged arm.
        of_policy: The model's mean reward of the policy's arm.
    """
    each = np.ones_like(reward)
    missed = weight * (reward - of_logged)
    return {
        "ips": ((weight * reward, each),),
        "snips": ((weight * reward, weight),),
        "dr": ((of_policy + missed, each),),
        "sndr": ((of_policy, each), (missed, weight)),
    }[estimator]


def value(parts: tuple[Ratio, ...]) -> float:
    """Return the estimate."""
    return float(sum(numerator.sum() / denominator.sum() for numerator, denominator in parts))


def block_interval(parts: tuple[Ratio, ...], block: Integers, *, level: float = 0.95) -> Interval:
    """Return the estimate with an interval from leaving out one block after the other.

    Args:
        parts: Ratios of sums, as from ``ratios``.
        block: Block of each row; blocks without rows do not count.
        level: Coverage of the interval.

    Raises:
        DecisionLogError: If the whole estimate rests on one block.
    """
    used, block = np.unique(block, return_inverse=True)
    blocks = len(used)
    without = np.zeros(blocks)
    for pair in parts:
        over, under = (np.bincount(block, row, minlength=blocks) for row in pair)
        left = under.sum() - under
        if (left <= 0.0).any():
            raise DecisionLogError("all rows that tell something lie in one block of seasons")
        without += (over.sum() - over) / left
    deviation = without - without.mean()
    error = float(np.sqrt((blocks - 1) / blocks * (deviation**2).sum()))
    reach = float(stdtrit(blocks - 1, tail_probabilities(level)[1])) * error
    estimate = value(parts)
    return Interval(estimate, estimate - reach, estimate + reach)


def effective_size(weight: Array) -> float:
    """Return the number of equally weighted rows of the same precision: (sum w)^2 / sum w^2.

    >>> effective_size(np.array([2.0, 2.0, 0.0]))
    2.0
    """
    squares = float((weight**2).sum())
    return float(weight.sum()) ** 2 / squares if squares > 0.0 else 0.0


def estimate_probabilities(seasons: LogSeasons, arm: Integers, arms: int) -> Array:
    """Return the share in its phase of the arm of each row, smoothed towards its share in all rows.

    It is the probability of the row where the log chose by the phase and by chance alone. Where the
    log used more than the phase, and that is related to the rewards, estimates are biased.
    """
    counts = seasons.count(arm, arms)
    smoothed = counts + PRIOR_ROWS * counts.sum(0) / counts.sum()
    return np.asarray((smoothed / smoothed.sum(1, keepdims=True))[seasons.phase, arm])


def blind_rows(
    seasons: LogSeasons, arm: Integers, policy: Integers, arms: int, probability: Array | None
) -> NDArray[np.bool_]:
    """Return the rows in whose phase the policy's arm was never logged, shape (n,).

    Where probabilities were logged, an absence counts only if it is no accident: if the phase has
    so many rows that the arm, at the lowest probability it ever had, should have come up, or if the
    probabilities there left it no room.
    """
    unseen = seasons.count(arm, arms) == 0.0
    if probability is not None:
        lowest, room = np.ones(arms), np.zeros(seasons.phases)
        np.minimum.at(lowest, arm, probability)
        np.maximum.at(room, seasons.phase, 1.0 - probability)
        rows = np.bincount(seasons.phase, minlength=seasons.phases)
        by_chance = (1.0 - lowest) ** rows[:, None] >= CHANCE / seasons.phases
        unseen &= ~(by_chance & (room[:, None] >= lowest - 1e-9))
    return np.asarray(unseen[seasons.phase, policy])
