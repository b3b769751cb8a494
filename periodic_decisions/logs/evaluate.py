"""Off-policy evaluation: a policy's mean reward per row, estimated from a log of another policy.

Each row has a reward r, a weight w = [logged arm = policy's arm] / probability, and the model means
q(logged) and q(policy) of the two arms. An estimator is a ratio of sums over the n rows, or the sum
of two ratios:

    ips     sum w r / n                              [@horvitz1952generalization]
    snips   sum w r / sum w                          [@swaminathan2015self]
    dr      sum {q(policy) + w (r - q(logged))} / n  [@dudik2014doubly]
    sndr    sum q(policy) / n  +  sum w (r - q(logged)) / sum w

Intervals come from the jackknife over blocks, with quantiles of Student's t distribution. Each
block consists of whole seasons, so that rows of the same season may be dependent.
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

MAX_BLIND = 0.05  # maximum share of rows at phases where the policy's arm was never logged
MIN_EFFECTIVE_SIZE = 20.0  # with fewer effective rows, intervals are not reliable
NORMAL_QUANTILE = 1.959963984540054  # quantile of the standard normal distribution at 0.975
LOGGED = "the log's own policy"
ESTIMATED = "probabilities were estimated by the share of each arm in each phase"
ESTIMATORS = {
    "dm": "direct method (only the model)",
    "ips": "inverse probability weighting",
    "snips": "self-normalised inverse probability weighting",
    "dr": "doubly robust",
    "sndr": "self-normalised doubly robust",
}
NEEDS_MODEL = frozenset(("dr", "sndr"))  # estimators that use models fitted to other folds
PRIOR_ROWS = 1.0  # pseudo-rows per phase, divided among the arms by their shares in the log
# Significance level of the test whether chance explains that an arm is absent, over all phases.
CHANCE = 0.05
Ratio = tuple[Array, Array]  # numerators and denominators of the rows, shape (n,) each


@dataclass(frozen=True)
class Estimate:
    """Estimate of the mean reward per row of a policy.

    Attributes:
        policy: Name of the policy.
        estimator: Name of the estimator.
        value: Mean reward per row, with its interval.
        effective_size: Number of equally weighted rows that would give the same precision.
        blind: Share of the rows at phases where the policy's arm was never logged. Partial
            estimates leave these rows out; other estimates include them.
        rows: Number of rows that the estimate uses.
        notes: Assumptions and limits of the estimate, as text.
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
    """Off-policy evaluation of policies from one log.

    Attributes:
        log: The log.
        period: Length of a season, in steps.
        phases: Number of phases; None for one phase per step.
        seasons_per_block: Minimum number of whole seasons in a jackknife block.
        estimated: True to estimate probabilities even if they were logged.
        clip: Upper limit of the weights, which biases estimates; None for no limit.
        partial: True to estimate only for the supported rows if the log does not support all rows.
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
            raise DecisionLogError("out-of-range", f"clip must be above 0, got {self.clip!r}")

    @cached_property
    def seasons(self) -> LogSeasons:
        """Phases and blocks of the rows."""
        return split_seasons(
            self.log.step,
            self.period,
            phases=self.phases,
            seasons_per_block=self.seasons_per_block,
        )

    @property
    def known(self) -> Array | None:
        """Logged probabilities; None if they are missing or are to be estimated."""
        return None if self.estimated else self.log.probability

    @cached_property
    def probability(self) -> Array:
        """Logged or estimated probability of the logged arm in each row."""
        if self.known is not None:
            return self.known
        return estimate_probabilities(self.seasons, self.log.arm, len(self.log.names))

    @cached_property
    def models(self) -> CrossFit:
        """Models of the rewards, each fitted without one fold."""
        return cross_fit(self.seasons, self.log.arm, self.log.reward, len(self.log.names))

    @cached_property
    def model(self) -> RewardModel:
        """Model of the rewards, fitted to all rows."""
        phase, arms = self.seasons.phase, len(self.log.names)
        return fit_model(phase, self.log.arm, self.log.reward, seasons=self.seasons, arms=arms)

    def logged(self) -> Estimate:
        """Return the mean reward of the log's own policy."""
        parts = ((self.log.reward, np.ones(len(self.log))),)
        interval = block_interval(parts, self.seasons.block)
        return Estimate(LOGGED, "mean", interval, float(len(self.log)), 0.0, len(self.log))

    def evaluate(self, policy: Policy, estimator: str = "dr") -> Estimate:
        """Estimate the mean reward of a policy.

        Raises:
            DecisionLogError: If the log does not support the estimate.
        """
        check_estimator(estimator)
        log = self.log
        chosen = policy.arms(log, self.seasons, lambda: self.models)
        blind = blind_rows(self.seasons, log.arm, chosen, len(log.names), self.known)
        share = float(blind.mean())
        self._require_overlap(policy, chosen, blind, share)
        used = ~blind if self.partial else np.ones(len(log), dtype=bool)
        weight = ((chosen == log.arm) / self.probability)[used]
        weight = weight if self.clip is None else np.minimum(weight, self.clip)
        size = effective_size(weight)
        if estimator == "dm":
            value = self._by_model(policy, chosen, used)
        else:
            require_size(policy.name, size)
            none = np.zeros(len(log))
            by_model = estimator in NEEDS_MODEL
            of_logged = self.models.at(log.arm) if by_model else none
            of_policy = self.models.at(chosen) if by_model else none
            parts = ratios(estimator, log.reward[used], weight, of_logged[used], of_policy[used])
            value = block_interval(parts, self.seasons.block[used])
        notes = self._notes(share, weight, by_model=estimator == "dm")
        return Estimate(policy.name, estimator, value, size, share, int(used.sum()), notes)

    def _by_model(self, policy: Policy, chosen: Integers, used: NDArray[np.bool_]) -> Interval:
        """Return the mean reward of the policy in the ``used`` rows, with its 95 % interval.

        Both are computed from the model of the rewards.
        """
        if policy.learned:
            raise DecisionLogError(
                "circular-estimate",
                f"the estimator dm cannot evaluate {policy.name}, whose arms were chosen by the "
                "model: use dr or ips",
            )
        counts = self.seasons.count(chosen[used], len(self.log.names), used)
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
        hint = (
            ""
            if self.partial
            else f"; at most {MAX_BLIND:.0%} are allowed: partial=True leaves these steps out"
        )
        raise DecisionLogError(
            "no-overlap",
            f"cannot evaluate {policy.name} from the log: in {share:.0%} of the steps, the policy "
            "chooses an arm that was never logged at that phase of the season, such as "
            f"{arm!r} at {when}{hint}",
        )

    def _notes(self, share: float, weight: Array, *, by_model: bool) -> tuple[str, ...]:
        estimated = self.known is None and not by_model
        notes = {
            "the estimate relies on the assumptions of the model": by_model,
            ESTIMATED: estimated,
            "estimates are biased if the log's policy used the contexts": estimated
            and bool(self.log.context_names),
            f"the estimate is for {1.0 - share:.0%} of the steps; the log does not support the "
            "other steps": self.partial and share > 0.0,
            f"weights were clipped at {self.clip or 0.0:g}, which biases the estimate": not by_model
            and self.clip is not None
            and bool((weight >= self.clip).any()),
        }
        return tuple(note for note, applies in notes.items() if applies)


def check_estimator(estimator: str) -> None:
    """Raise an error if the estimator is unknown."""
    if estimator not in ESTIMATORS:
        known = ", ".join(ESTIMATORS)
        raise DecisionLogError(
            "unknown-estimator", f"unknown estimator {estimator!r}: expected one of {known}"
        )


def require_size(policy: str, size: float) -> None:
    """Raise an error if the effective number of rows is too small."""
    if size < MIN_EFFECTIVE_SIZE:
        raise DecisionLogError(
            "too-few-rows",
            f"cannot evaluate {policy} from the log: the effective number of rows that agree with "
            f"the policy is {size:.1f}, but at least {MIN_EFFECTIVE_SIZE:g} are needed",
        )


def ratios(
    estimator: str, reward: Array, weight: Array, of_logged: Array, of_policy: Array
) -> tuple[Ratio, ...]:
    """Return pairs of numerators and denominators, from which ``value`` computes the estimate.

    The estimate is the sum, over the pairs, of the sum of numerators over the sum of denominators.

    >>> rows = [np.array(x) for x in ([1.0, 2.0], [2.0, 0.0], [0.5, 0.5], [0.5, 1.0])]
    >>> value(ratios("ips", *rows)), value(ratios("snips", *rows)), value(ratios("dr", *rows))
    (1.0, 1.0, 1.25)

    Args:
        estimator: One of ``ESTIMATORS``.
        reward: Rewards of the logged arms, shape (n,), like all following arguments.
        weight: Probability of the logged arm under the policy, divided by its probability in the
            log.
        of_logged: Model means of the logged arms.
        of_policy: Model means of the policy's arms.
    """
    ones = np.ones_like(reward)
    correction = weight * (reward - of_logged)
    return {
        "ips": ((weight * reward, ones),),
        "snips": ((weight * reward, weight),),
        "dr": ((of_policy + correction, ones),),
        "sndr": ((of_policy, ones), (correction, weight)),
    }[estimator]


def value(parts: tuple[Ratio, ...]) -> float:
    """Return the estimate: the sum, over the pairs, of total numerator / total denominator."""
    return float(sum(numerator.sum() / denominator.sum() for numerator, denominator in parts))


def block_interval(parts: tuple[Ratio, ...], block: Integers) -> Interval:
    """Return the estimate with a 95 % interval from the jackknife over blocks.

    Args:
        parts: Numerators and denominators, as returned by ``ratios``.
        block: Block of each row.

    Raises:
        DecisionLogError: If one block holds all rows with a positive denominator.
    """
    used, block = np.unique(block, return_inverse=True)
    blocks = len(used)
    without = np.zeros(blocks)
    for pair in parts:
        over, under = (np.bincount(block, row, minlength=blocks) for row in pair)
        left = under.sum() - under
        if (left <= 0.0).any():
            raise DecisionLogError(
                "too-few-seasons",
                "an interval needs rows with a positive weight in at least two blocks of whole "
                "seasons, but a single block has all of these rows",
            )
        without += (over.sum() - over) / left
    deviation = without - without.mean()
    # Jackknife: var = (B - 1) / B sum_b (theta_(b) - mean)^2, with B - 1 degrees of freedom.
    error = float(np.sqrt((blocks - 1) / blocks * (deviation**2).sum()))
    reach = float(stdtrit(blocks - 1, 0.975)) * error
    estimate = value(parts)
    return Interval(estimate, estimate - reach, estimate + reach)


def effective_size(weight: Array) -> float:
    """Return the effective number of rows, (sum w)^2 / sum w^2.

    This number of equally weighted rows would give the same precision.

    >>> effective_size(np.array([2.0, 2.0, 0.0]))
    2.0
    """
    squares = float((weight**2).sum())
    return float(weight.sum()) ** 2 / squares if squares > 0.0 else 0.0


def estimate_probabilities(seasons: LogSeasons, arm: Integers, arms: int) -> Array:
    """Return, for each row, the smoothed share of its arm in the rows of the same phase.

    A share is smoothed towards the share of the arm in all rows. The estimates assume that the
    choices of the log depended only on the phase. Otherwise they can be biased.
    """
    counts = seasons.count(arm, arms)
    smoothed = counts + PRIOR_ROWS * counts.sum(0) / counts.sum()
    return np.asarray((smoothed / smoothed.sum(1, keepdims=True))[seasons.phase, arm])


def blind_rows(
    seasons: LogSeasons, arm: Integers, policy: Integers, arms: int, probability: Array | None
) -> NDArray[np.bool_]:
    """Return a mask of the rows at phases where the policy's arm was never logged, shape (n,).

    If probabilities were logged, an arm counts as never logged at a phase only if chance does not
    explain its absence. Chance does not explain the absence in two cases:

    * The arm, with its lowest logged probability, would almost surely have occurred in the rows of
      the phase.
    * In every row of the phase, the logged arm is so probable that the probability of all other
      arms is below the lowest logged probability of the arm.
    """
    unseen = seasons.count(arm, arms) == 0.0
    if probability is not None:
        lowest, room = np.ones(arms), np.zeros(seasons.phases)
        np.minimum.at(lowest, arm, probability)
        np.maximum.at(room, seasons.phase, 1.0 - probability)
        rows = np.bincount(seasons.phase, minlength=seasons.phases)
        # P(arm absent in all rows of a phase) = (1 - p)^rows, with Bonferroni's correction.
        by_chance = (1.0 - lowest) ** rows[:, None] >= CHANCE / seasons.phases
        unseen &= ~(by_chance & (room[:, None] >= lowest - 1e-9))
    return np.asarray(unseen[seasons.phase, policy])
