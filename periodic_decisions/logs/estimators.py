"""Off-policy estimators of a policy's mean reward per row, with intervals over blocks.

With rows i of reward r, weight w = [arm is the policy's] / probability, and model means q(logged
arm) and q(policy's arm), each estimator is a ratio of sums, or two:

    ips     sum w r / n                              [@horvitz1952generalization]
    snips   sum w r / sum w                          [@swaminathan2015self]
    dr      sum {q(policy) + w (r - q(logged))} / n  [@dudik2014doubly]
    sndr    sum q(policy) / n  +  sum w (r - q(logged)) / sum w

Intervals come from the jackknife that leaves out whole blocks, with Student's quantiles: blocks are
whole seasons, so that rows of one season may hang together as they like.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from evaluation.statistics.intervals import Interval, tail_probabilities
from periodic_decisions.logs.log import Integers, LogError
from periodic_envs.arrays import Array

ESTIMATORS = {
    "dm": "the model alone",
    "ips": "inverse probability weighting",
    "snips": "self-normalised inverse probability weighting",
    "dr": "doubly robust",
    "sndr": "self-normalised doubly robust",
}
"""Names of the estimators, and what they are."""
NEEDS_MODEL = frozenset(("dr", "sndr"))
"""Estimators that need the model of other folds."""
Ratio = tuple[Array, Array]
"""Numerators and denominators of the rows, shape (n,) each."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """Rows as an estimator sees them, arrays of shape (n,).

    Attributes:
        reward: What the logged arm brought.
        weight: How much more likely the policy was to choose that arm than the log was.
        of_logged: The model's mean reward of the logged arm.
        of_policy: The model's mean reward of the policy's arm.
    """

    reward: Array
    weight: Array
    of_logged: Array
    of_policy: Array


def ratios(estimator: str, rows: Weighed) -> tuple[Ratio, ...]:
    """The ratios of sums whose total is the estimate.

    >>> rows = Weighed(*(np.array(x) for x in ([1.0, 2.0], [2.0, 0.0], [0.5, 0.5], [0.5, 1.0])))
    >>> value(ratios("ips", rows)), value(ratios("snips", rows)), value(ratios("dr", rows))
    (1.0, 1.0, 1.25)
    """
    each, weight = np.ones_like(rows.reward), rows.weight
    missed = weight * (rows.reward - rows.of_logged)
    if estimator == "ips":
        return ((weight * rows.reward, each),)
    if estimator == "snips":
        return ((weight * rows.reward, weight),)
    if estimator == "dr":
        return ((rows.of_policy + missed, each),)
    if estimator == "sndr":
        return ((rows.of_policy, each), (missed, weight))
    raise ValueError(f"there is no estimator {estimator!r}: there are {', '.join(ESTIMATORS)}")


def value(parts: tuple[Ratio, ...]) -> float:
    """The estimate."""
    return float(sum(numerator.sum() / denominator.sum() for numerator, denominator in parts))


def block_interval(parts: tuple[Ratio, ...], block: Integers, *, level: float = 0.95) -> Interval:
    """The estimate with an interval from leaving out one block after the other.

    Args:
        parts: Ratios of sums, as from ``ratios``.
        block: Block of each row, from 0 on without a gap.
        level: Share of intervals that shall contain the truth.

    Raises:
        LogError: If all that an estimate rests on lies in one block.
    """
    blocks = int(block.max()) + 1
    without = np.zeros(blocks)
    for numerator, denominator in parts:
        over, under = (
            np.bincount(block, row, minlength=blocks) for row in (numerator, denominator)
        )
        left = under.sum() - under
        if (left <= 0.0).any():
            raise LogError("all rows that tell something lie in one block of seasons")
        without += (over.sum() - over) / left
    deviation = without - without.mean()
    error = float(np.sqrt((blocks - 1) / blocks * (deviation**2).sum()))
    reach = float(stdtrit(blocks - 1, tail_probabilities(level)[1])) * error
    estimate = value(parts)
    return Interval(estimate, estimate - reach, estimate + reach)


def effective_size(weight: Array) -> float:
    """The number of equally weighed rows that would say as much: (sum w)^2 / sum w^2.

    >>> effective_size(np.array([2.0, 2.0, 0.0]))
    2.0
    """
    squares = float((weight**2).sum())
    return float(weight.sum()) ** 2 / squares if squares > 0.0 else 0.0
