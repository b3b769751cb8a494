"""What a file holds, in words: ``periodic-gp data check FILE``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from periodic_decisions.seasons.gain import Gain, best_slots
from periodic_decisions.seasons.lengths import MIN_SEASONS
from periodic_decisions.seasons.phases import without_gaps
from periodic_decisions.seasons.schedule import MIN_SHARE, Schedule, plan
from periodic_decisions.seasons.season import Candidate, Seasons, find_seasons
from periodic_decisions.seasons.slots import Slots, slot_choices
from periodic_decisions.tables.series import Series
from periodic_envs import checks
from periodic_envs.data.gaps import MAX_MISSING
from periodic_envs.data.recording import rewards_of


@dataclass(frozen=True, eq=False)
class Check:
    """A file with what was found in it.

    Attributes:
        source: What the file is called.
        series: The readings.
        seasons: The seasons found in them.
        period: The season in steps: the one asked for, or else the best found, or None.
        objective: "max" or "min".
        gain: What knowing the phase is worth; None without a period or without two seasons.
        slots: The phases of the season in the words of a calendar; None without two seasons.
        schedule: Which arm when; the best one always, if nothing is gained by knowing the phase.
    """

    source: str
    series: Series
    seasons: Seasons
    period: float | None
    objective: str
    gain: Gain | None
    slots: Slots | None
    schedule: Schedule

    def lines(self) -> list[str]:
        """Describe the readings, their seasons, what these are worth and the schedule."""
        parts = (self._readings(), self._season(), self._worth(), self.schedule.lines())
        return [line for part in parts for line in (*part, "")][:-1]

    def _readings(self) -> list[str]:
        series, clock = self.series, self.series.clock
        lines = [
            *(_sentence(line) for line in series.report.taken_for),
            f"{len(series.values):,} steps of {clock.step_text()}, {series.span()}.",
            f"{len(series.names):,} arms: {_listed(series.names)}.",
        ]
        troubles = [*series.report.troubles(), *self._refused(), *sum_of_others(series)]
        return lines + ([_sentence(trouble) for trouble in troubles] or ["No gaps, nothing twice."])

    def _refused(self) -> list[str]:
        """Name the arms that would be more guess than data."""
        share = np.isnan(self.series.values).mean(0)
        arms = [self.series.names[i] for i in np.flatnonzero(share > MAX_MISSING)]
        if not arms:
            return []
        return [
            f"more than {MAX_MISSING:.0%} is missing of {_listed(arms)}: name the other arms as "
            "arms=[...] to go on without"
        ]

    def _season(self) -> list[str]:
        longest = self.seasons.longest
        if longest < 2:
            return [
                f"The data are too short to look for a season: it must fit in {MIN_SEASONS} "
                f"times, so that at least {2 * MIN_SEASONS} steps are needed."
            ]
        if not self.seasons.found:
            range_text = f"Seasons of 2 to {longest:,}" if longest > 2 else "Seasons of 2"
            return [
                "No season was found: nothing repeats more clearly than chance would have it.",
                f"({range_text} steps were looked for: at least {MIN_SEASONS} must fit into the "
                "data.)",
            ]
        best, *rest = self.seasons.found
        return [
            f"The season is {self.in_steps(best.period)}: {_evidence(best)}.",
            *(f"There is also one of {self.in_steps(c.period)}: {_evidence(c)}." for c in rest),
        ]

    def _worth(self) -> list[str]:
        if self.period is None:
            return [
                "Without a season, no phase is worth knowing; give a period to see what it would "
                "gain all the same."
            ]
        of = f"With a season of {self.in_steps(self.period)}"
        if self.gain is None:
            return [f"{of}, there are not two seasons in the data: nothing can be said about it."]
        gain = self.gain
        word, sign = self.word_and_sign
        rows = [
            ("an arm at random", gain.random),
            ("the best arm, always the same", gain.static),
            ("the best arm of each phase", gain.per_phase),
            ("the best arm of each step (needs to know the future)", gain.oracle),
        ]
        width = max(len(name) for name, _ in rows)
        lines = [f"{of}, the mean {word} per step is"]
        lines += [f"  {name:<{width}}  {sign * value:>10,.4g}" for name, value in rows]
        return [*lines, _verdict(gain), _how(gain, sign)]

    @property
    def word_and_sign(self) -> tuple[str, float]:
        """What the values are called, and the factor that makes rewards of them."""
        return ("cost", -1.0) if self.objective == "min" else ("reward", 1.0)

    @property
    def periods(self) -> tuple[float, ...]:
        """The periods found, the best first; if another was asked for, that one alone."""
        found = tuple(season.period for season in self.seasons.found)
        if self.period is None or self.period in found[:1]:
            return found
        return (self.period,)

    def in_steps(self, period: float) -> str:
        """Write a period in steps and, where the steps are times, in time."""
        text = f"{period:,.6g} steps"
        step = self.series.step
        if isinstance(step, pd.Timedelta):
            hours = period * (step / pd.Timedelta("1h"))  # a Timedelta holds 292 years
            days = f"{hours / 24:.5g} days" if hours != 24 else "1 day"
            text += f" ({days})" if hours >= 24 else f" ({hours:.4g} hours)"
        return text


def sum_of_others(series: Series) -> list[str]:
    """A sentence if a column is the total of all others, which is no arm."""
    values = series.values[~np.isnan(series.values).any(1)]
    if values.shape[1] < 3 or not len(values):
        return []
    rest = values.sum(1, keepdims=True) - values
    close = np.isclose(values, rest, rtol=1e-6, atol=1e-9 * np.abs(values).max()).all(0)
    return [
        f"{series.names[i]!r} is the sum of all other arms: if it is no choice of its own, give "
        "arms=[...] with the others alone"
        for i in np.flatnonzero(close)[:1]
        if values[:, i].any()
    ]


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:] + "."


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 8:,} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more


def _evidence(season: Candidate) -> str:
    word = "strong" if season.strength >= 0.5 else "clear" if season.strength >= 0.1 else "weak"
    return (
        f"{word}, it explains {season.strength:.0%} of the variance in seasons that it was not "
        f"fitted to; autocorrelation {season.autocorrelation:.2f}; {_gained(season)}"
    )


def _gained(season: Candidate) -> str:
    if season.gain < MIN_SHARE:
        return "knowing it gains nothing"
    return f"knowing it gains {season.gain:.0%} of what could be gained"


def _verdict(gain: Gain) -> str:
    if gain.share < MIN_SHARE:
        return "Knowing the phase gains nothing over the best arm, always the same."
    return (
        f"Knowing the phase gets {gain.share:.0%} of what could be gained over the best arm, "
        "always the same."
    )


def _how(gain: Gain, sign: float) -> str:
    how = (
        "The best arm is the best over all the data. The arms of each phase are chosen without the "
        f"season that they are judged by, for all {gain.seasons:,} seasons"
    )
    honest, hindsight = (f"{sign * value:,.4g}" for value in (gain.per_phase, gain.hindsight))
    if honest != hindsight:
        how += (
            f"; chosen with that season in view they would have {hindsight}, but a season to come "
            "cannot be seen"
        )
    return f"({how}.)"


def check_series(
    series: Series, *, source: str, period: float | None = None, objective: str = "max"
) -> Check:
    """Look for seasons, and measure what they are worth."""
    checks.one_of("objective", objective, ("max", "min"))
    if period is not None and not checks.positive("period", period) >= 2.0:
        raise ValueError(f"period must be at least 2 steps, got {period!r}")
    seasons = find_seasons(series.values, clock=series.clock, objective=objective)
    if period is None and seasons.best is not None:
        period = seasons.best.period
    rewards = rewards_of(without_gaps(series.values), objective)
    slots, gain = None, None
    if period is not None and period <= len(rewards) - 1:
        choices = slot_choices(series.clock, len(rewards), period, joint=True)
        slots, gain = best_slots(rewards, period, choices)
    followed = slots if gain is not None and gain.share >= MIN_SHARE else None
    sign = -1.0 if objective == "min" else 1.0
    schedule = plan(rewards, followed, series.names, sign=sign)
    return Check(source, series, seasons, period, objective, gain, slots, schedule)
