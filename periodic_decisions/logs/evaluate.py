"""Off-policy evaluation: the reward that a policy would have had, by a log of another one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from evaluation.statistics.intervals import Interval, tail_probabilities
from periodic_decisions.logs.estimators import (
    ESTIMATORS,
    NEEDS_MODEL,
    blind_rows,
    block_interval,
    effective_size,
    estimate_probabilities,
    ratios,
)
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
LOGGED = "the log's own policy"
ESTIMATED = "probabilities were estimated, by the share of each arm in each phase"


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
        level: Coverage of the intervals.
        clip: Weights above this are cut to it, which biases estimates; None for none.
        partial: Whether to answer for the rows that the log can tell about where it cannot for all.
    """

    log: DecisionLog
    period: float
    phases: int | None = None
    seasons_per_block: int = 1
    estimated: bool = False
    level: float = 0.95
    clip: float | None = None
    partial: bool = False

    def __post_init__(self) -> None:
        tail_probabilities(self.level)
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
        found = block_interval(parts, self.seasons.block, level=self.level)
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
            value = block_interval(parts, self.seasons.block[kept], level=self.level)
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
        reach = float(ndtri(tail_probabilities(self.level)[1])) * deviation
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
