"""What a policy would have brought, by a log that another one made."""

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
    Weighed,
    block_interval,
    effective_size,
    ratios,
)
from periodic_decisions.logs.labels import phase_label
from periodic_decisions.logs.log import Integers, Log, LogError
from periodic_decisions.logs.model import CrossFit, Model, cross_fit, fit_model
from periodic_decisions.logs.overlap import blind_rows
from periodic_decisions.logs.policies import Policy
from periodic_decisions.logs.probabilities import count_by_phase, estimate_probabilities
from periodic_decisions.logs.seasons import Seasons, split_seasons
from periodic_envs.arrays import Array

MAX_BLIND = 0.05
"""Share of rows at most in whose phase the policy's arm was never logged."""
MIN_EFFECTIVE_SIZE = 20.0
"""Effective number of rows at least: with fewer, intervals are not to be believed."""
LOGGED = "the log's own policy"


@dataclass(frozen=True)
class Estimate:
    """What a policy would bring per row, as far as a log can tell.

    Attributes:
        policy: What was asked about.
        estimator: By what it was answered.
        value: Mean reward per row, with its interval.
        effective_size: The number of equally weighed rows that say as much.
        blind: Share of the rows in whose phase the policy's arm was never logged. They are left out
            of a partial answer, and else counted in it.
        rows: Rows that the answer is about.
        notes: What it rests on, in words.
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
        phases: How many phases are told apart; None for one per step.
        seasons_per_block: Whole seasons in a block of the intervals, at least.
        estimated: Whether to estimate probabilities even where they were logged.
        level: Share of intervals that shall contain the truth.
        clip: Weights above this are cut to it, which biases estimates; None for none.
        partial: Whether to answer for the rows that the log can tell about where it cannot for all.
    """

    log: Log
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
    def seasons(self) -> Seasons:
        """The rows by phase and block."""
        return split_seasons(
            self.log.step,
            self.period,
            phases=self.phases,
            seasons_per_block=self.seasons_per_block,
        )

    @property
    def known(self) -> Array | None:
        """The logged probabilities, unless they are not there or not to be used."""
        return None if self.estimated else self.log.probability

    @cached_property
    def probability(self) -> Array:
        """Of each row, as logged or as estimated."""
        if self.known is not None:
            return self.known
        return estimate_probabilities(self.seasons, self.log.arm, len(self.log.names))

    @cached_property
    def models(self) -> CrossFit:
        """A model for each fold, of all other folds."""
        return cross_fit(self.seasons, self.log.arm, self.log.reward, len(self.log.names))

    @cached_property
    def model(self) -> Model:
        """The model of all rows."""
        phase, arms = self.seasons.phase, len(self.log.names)
        return fit_model(phase, self.log.arm, self.log.reward, seasons=self.seasons, arms=arms)

    def logged(self) -> Estimate:
        """What the log's own policy brought."""
        parts = ((self.log.reward, np.ones(len(self.log))),)
        found = block_interval(parts, self.seasons.block, level=self.level)
        return Estimate(LOGGED, "mean", found, float(len(self.log)), 0.0, len(self.log))

    def evaluate(self, policy: Policy, estimator: str = "dr") -> Estimate:
        """Estimate what a policy would have brought.

        Raises:
            LogError: If the log cannot tell.
        """
        if estimator not in ESTIMATORS:
            raise LogError(
                f"there is no estimator {estimator!r}: there are {', '.join(ESTIMATORS)}"
            )
        log = self.log
        chosen = policy.arms(log, self.seasons, lambda: self.models)
        blind = blind_rows(self.seasons, log.arm, chosen, len(log.names), self.known)
        share = float(blind.mean())
        self._require_overlap(policy, chosen, blind, share)
        kept = ~blind if self.partial else np.ones(len(log), dtype=bool)
        weight = self._weights(chosen)[kept]
        size = effective_size(weight)
        notes = self._notes(share, weight, by_model=estimator == "dm")
        if estimator == "dm":
            value = self._by_model(policy, chosen, kept)
        else:
            require_size(policy.name, size)
            rows = self._weighed(estimator, chosen, kept, weight)
            value = self._interval(estimator, rows, self.seasons.block[kept])
        return Estimate(policy.name, estimator, value, size, share, int(kept.sum()), notes)

    def _interval(self, estimator: str, rows: Weighed, block: Integers) -> Interval:
        compact = np.unique(block, return_inverse=True)[1]
        return block_interval(ratios(estimator, rows), compact, level=self.level)

    def _weights(self, chosen: Integers) -> Array:
        weight: Array = (chosen == self.log.arm) / self.probability
        return weight if self.clip is None else np.minimum(weight, self.clip)

    def _weighed(
        self, estimator: str, chosen: Integers, kept: NDArray[np.bool_], weight: Array
    ) -> Weighed:
        reward = self.log.reward[kept]
        if estimator not in NEEDS_MODEL:
            return Weighed(reward, weight, np.zeros_like(reward), np.zeros_like(reward))
        of_logged, of_policy = self.models.at(self.log.arm), self.models.at(chosen)
        return Weighed(reward, weight, of_logged[kept], of_policy[kept])

    def _by_model(self, policy: Policy, chosen: Integers, kept: NDArray[np.bool_]) -> Interval:
        """What the model says, with the interval that it believes in itself."""
        if policy.learned:
            raise LogError(
                f"the model alone cannot judge {policy.name}, which it chose itself: ask dr or ips"
            )
        phases, arms = self.seasons.phases, len(self.log.names)
        counts = count_by_phase(self.seasons.phase[kept], chosen[kept], phases, arms)
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
        raise LogError(
            f"the log cannot tell about {policy.name}: in {share:.0%} of the steps it takes an arm "
            f"that the log never chose at that phase, such as {arm!r} at {when}{ask}"
        )

    def _notes(self, share: float, weight: Array, *, by_model: bool) -> tuple[str, ...]:
        notes = []
        if by_model:
            notes.append("by the model alone, which is as good as its assumptions")
        elif self.known is None:
            notes.append("probabilities were estimated, by the share of each arm in each phase")
            if self.log.context_names:
                notes.append("if the log's policy looked at the contexts, these are biased")
        if self.partial and share > 0.0:
            notes.append(f"of {1.0 - share:.0%} of the steps; the log cannot tell about the others")
        if not by_model and self.clip is not None and (weight >= self.clip).any():
            notes.append(f"weights were cut to {self.clip:g}, which biases the estimate")
        return tuple(notes)


def require_size(policy: str, size: float) -> None:
    """Refuse an answer that would rest on too few rows."""
    if size < MIN_EFFECTIVE_SIZE:
        raise LogError(
            f"the log cannot tell about {policy}: what agrees with it counts as {size:.1f} rows, "
            f"and at least {MIN_EFFECTIVE_SIZE:g} are needed"
        )
