"""Off-policy evaluation: the mean reward per row of a policy, by a log of another one.

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

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from evaluation.statistics.intervals import Interval
from periodic_decisions.logs.log import (
    DecisionLog,
    DecisionLogError,
    Integers,
    LogSeasons,
    phase_label,
    split_seasons,
)
from periodic_decisions.logs.model import CrossFit, RewardModel, cross_fit, fit_model
from periodic_decisions.logs.policies import Policy
from periodic_envs.arrays import Array

MAX_BLIND = 0.05  # share of rows in whose phase the policy's arm was never logged
MIN_EFFECTIVE_SIZE = 20.0  # effective rows: with fewer, intervals are not reliable
NORMAL_QUANTILE = 1.959963984540054  # at 0.975
LOGGED = "the log's own policy"
ESTIMATED = "probabilities were estimated, by the share of each arm in each phase"
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


@dataclass(frozen=True)
class Estimate:
    """Mean reward per row of a policy, as far as a log can tell.

    Attributes:
        policy: Name of the policy.
        estimator: Name of the estimator.
        value: Mean reward per row, with its interval.
        effective_size: Number of equally weighted rows of the same precision.
        blind: Share of the rows in whose phase the policy's arm was never logged. They are left out
            of a partial answer, and else counted in it.
        rows: Rows that the answer is about.
        notes: Assumptions of the answer, as text.
    """

    policy: str
    estimator: str
    value: Interval
    effective_size: float
    blind: float
    rows: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class OffPolicy:
    """A log that is asked about policies.

    Attributes:
        log: The log.
        period: Length of a season, in steps.
        phases: Number of phases; None for one per step.
        seasons_per_block: Least number of whole seasons in a block of the intervals.
        estimated: Whether to estimate probabilities even where they were logged.
        clip: Weights above this are cut to it, which biases estimates; None for none.
        partial: Whether to answer for the rows that the log can tell about where it cannot for all.
    """

    log: DecisionLog
    period: float
    phases: int | None = None
    seasons_per_block: int = 1
    estimated: bool = False
    clip: float | None = None
    partial: bool = False

    def __post_init__(self) -> None:
        if self.clip is not None and not self.clip > 0.0:
            raise ValueError(f"clip must be above 0, got {self.clip!r}")

    @cached_property
    def seasons(self) -> LogSeasons:
        """Rows by phase and block."""
        return split_seasons(
            self.log.step,
            self.period,
            phases=self.phases,
            seasons_per_block=self.seasons_per_block,
        )

    @property
    def known(self) -> Array | None:
        """Logged probabilities, unless they are missing or not to be used."""
        return None if self.estimated else self.log.probability

    @cached_property
    def probability(self) -> Array:
        """Probability of each row, as logged or as estimated."""
        if self.known is not None:
            return self.known
        return estimate_probabilities(self.seasons, self.log.arm, len(self.log.names))

    @cached_property
    def models(self) -> CrossFit:
        """A model for each fold, of all other folds."""
        return cross_fit(self.seasons, self.log.arm, self.log.reward, len(self.log.names))

    @cached_property
    def model(self) -> RewardModel:
        """Model of all rows."""
        phase, arms = self.seasons.phase, len(self.log.names)
        return fit_model(phase, self.log.arm, self.log.reward, seasons=self.seasons, arms=arms)

    def logged(self) -> Estimate:
        """Return the mean reward of the log's own policy."""
        parts = ((self.log.reward, np.ones(len(self.log))),)
        found = block_interval(parts, self.seasons.block)
        return Estimate(LOGGED, "mean", found, float(len(self.log)), 0.0, len(self.log))

    def evaluate(self, policy: Policy, estimator: str = "dr") -> Estimate:
        """Estimate the mean reward of a policy.

        Raises:
            DecisionLogError: If the log cannot tell.
        """
        check_estimator(estimator)
        log = self.log
        chosen = policy.arms(log, self.seasons, lambda: self.models)
        blind = blind_rows(self.seasons, log.arm, chosen, len(log.names), self.known)
        share = float(blind.mean())
        self._require_overlap(policy, chosen, blind, share)
        kept = ~blind if self.partial else np.ones(len(log), dtype=bool)
        weight = ((chosen == log.arm) / self.probability)[kept]
        weight = weight if self.clip is None else np.minimum(weight, self.clip)
        size = effective_size(weight)
        if estimator == "dm":
            value = self._by_model(policy, chosen, kept)
        else:
            require_size(policy.name, size)
            none = np.zeros(len(log))
            by_model = estimator in NEEDS_MODEL
            of_logged = self.models.at(log.arm) if by_model else none
            of_policy = self.models.at(chosen) if by_model else none
            parts = ratios(estimator, log.reward[kept], weight, of_logged[kept], of_policy[kept])
            value = block_interval(parts, self.seasons.block[kept])
        notes = self._notes(share, weight, by_model=estimator == "dm")
        return Estimate(policy.name, estimator, value, size, share, int(kept.sum()), notes)

    def _by_model(self, policy: Policy, chosen: Integers, kept: NDArray[np.bool_]) -> Interval:
        """Return the mean reward by the model, with its own interval."""
        if policy.learned:
            raise DecisionLogError(
                f"the model alone cannot judge {policy.name}, which it chose itself: ask dr or ips"
            )
        counts = self.seasons.count(chosen[kept], len(self.log.names), kept)
        mean, deviation = self.model.average(counts / counts.sum())
        reach = NORMAL_QUANTILE * deviation
        return Interval(mean, mean - reach, mean + reach)

    def _require_overlap(
        self, policy: Policy, chosen: Integers, blind: NDArray[np.bool_], share: float
    ) -> None:
        if share <= (1.0 - 1e-9 if self.partial else MAX_BLIND):
            return
        row = int(blind.argmax())
        arm = self.log.names[int(chosen[row])]
        when = phase_label(self.log, self.seasons, int(self.seasons.phase[row]))
        ask = "" if self.partial else "; partial=True answers for the other steps alone"
        raise DecisionLogError(
            f"the log cannot tell about {policy.name}: in {share:.0%} of the steps it takes an arm "
            f"that the log never chose at that phase, such as {arm!r} at {when}{ask}"
        )

    def _notes(self, share: float, weight: Array, *, by_model: bool) -> tuple[str, ...]:
        estimated = self.known is None and not by_model
        notes = {
            "by the model alone, which is as good as its assumptions": by_model,
            ESTIMATED: estimated,
            "if the log's policy looked at the contexts, these are biased": estimated
            and bool(self.log.context_names),
            f"of {1.0 - share:.0%} of the steps; the log cannot tell about the others": self.partial
            and share > 0.0,
            f"weights were cut to {self.clip or 0.0:g}, which biases the estimate": not by_model
            and self.clip is not None
            and bool((weight >= self.clip).any()),
        }
        return tuple(note for note, applies in notes.items() if applies)


def check_estimator(estimator: str) -> None:
    """Refuse an unknown estimator."""
    if estimator not in ESTIMATORS:
        known = ", ".join(ESTIMATORS)
        raise DecisionLogError(f"there is no estimator {estimator!r}: there are {known}")


def require_size(policy: str, size: float) -> None:
    """Refuse an answer that would rest on too few rows."""
    if size < MIN_EFFECTIVE_SIZE:
        raise DecisionLogError(
            f"the log cannot tell about {policy}: what agrees with it counts as {size:.1f} rows, "
            f"and at least {MIN_EFFECTIVE_SIZE:g} are needed"
        )


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


def block_interval(parts: tuple[Ratio, ...], block: Integers) -> Interval:
    """Return the estimate with a 95 % interval from leaving out one block after the other.

    Args:
        parts: Ratios of sums, as from ``ratios``.
        block: Block of each row; blocks without rows do not count.

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
    reach = float(stdtrit(blocks - 1, 0.975)) * error
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
