"""Description of a table: its readings, seasons, their worth and the schedule (``data check``)."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from periodic_decisions.seasons.find import MIN_SEASONS, Season, SeasonSearch, find_seasons
from periodic_decisions.seasons.schedule import MIN_SHARE, PhaseGain, Schedule, best_slots, plan
from periodic_decisions.seasons.slots import Slots, slot_choices, without_gaps
from periodic_decisions.tables.cells import listed, sentence
from periodic_decisions.tables.series import Series
from periodic_envs.data.recording import rewards_of


@dataclass(frozen=True, eq=False)
class Check:
    """A table with the findings about it.

    Attributes:
        source: Name of the table.
        series: The readings.
        seasons: The seasons found in them.
        period: The season in steps: the one asked for, or else the best found, or None.
        objective: "max" or "min".
        gain: Worth of knowing the phase; None without a period or without two seasons.
        slots: The phases of the season, named by the calendar; None without two seasons.
        schedule: The arm of each slot; the best one always, if knowing the phase gains nothing.
    """

    source: str
    series: Series
    seasons: SeasonSearch
    period: float | None
    objective: str
    gain: PhaseGain | None
    slots: Slots | None
    schedule: Schedule

    def lines(self) -> list[str]:
        """Describe the readings, their seasons, what these are worth and the schedule."""
        parts = (self._readings(), self._season(), self._worth(), self.schedule.lines())
        return [line for part in parts for line in (*part, "")][:-1]

    def _readings(self) -> list[str]:
        series = self.series
        troubles = series.troubles()
        return [
            *(sentence(line) for line in series.report.taken_for),
            f"{len(series.values):,} steps of {series.grid.step_text()}, {series.span()}.",
            f"{len(series.names):,} arms: {listed(series.names)}.",
            *([sentence(trouble) for trouble in troubles] or ["No gaps, nothing twice."]),
        ]

    def _season(self) -> list[str]:
        if not self.seasons.found:
            return [
                f"No season was found among those of 2 to {self.seasons.longest:,} steps: at least "
                f"{MIN_SEASONS} must fit into the data."
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
        rows = {
            "an arm at random": gain.random,
            "the best arm, always the same": gain.static,
            "the best arm of each phase": gain.per_phase,
            "the best arm of each step (needs to know the future)": gain.oracle,
        }
        width = max(map(len, rows))
        figures = [f"  {name:<{width}}  {sign * value:>10,.4g}" for name, value in rows.items()]
        head = f"{of}, the mean {word} per step is"
        return [head, *figures, _verdict(gain), _how(gain, sign)]

    @property
    def word_and_sign(self) -> tuple[str, float]:
        """Noun for the values, and the factor that makes rewards of them."""
        return ("cost", -1.0) if self.objective == "min" else ("reward", 1.0)

    def in_steps(self, period: float) -> str:
        """Write a period in steps and, where the steps are times, in time."""
        text = f"{period:,.6g} steps"
        step = self.series.step
        if isinstance(step, pd.Timedelta):
            hours = period * (step / pd.Timedelta("1h"))  # a Timedelta holds 292 years
            days = f"{hours / 24:.5g} days" if hours != 24 else "1 day"
            text += f" ({days})" if hours >= 24 else f" ({hours:.4g} hours)"
        return text


def _evidence(season: Season) -> str:
    word = "strong" if season.strength >= 0.5 else "clear" if season.strength >= 0.1 else "weak"
    share = f"{season.gain:.0%} of what could be gained"
    return (
        f"{word}, it explains {season.strength:.0%} of the variance in seasons that it was not "
        f"fitted to; autocorrelation {season.autocorrelation:.2f}; knowing it gains "
        f"{'nothing' if season.gain < MIN_SHARE else share}"
    )


def _verdict(gain: PhaseGain) -> str:
    gets = f"gets {gain.share:.0%} of what could be gained"
    gains = "gains nothing" if gain.share < MIN_SHARE else gets
    return f"Knowing the phase {gains} over the best arm, always the same."


def _how(gain: PhaseGain, sign: float) -> str:
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
    seasons = find_seasons(series.values, grid=series.grid, objective=objective)
    if period is None and seasons.best is not None:
        period = seasons.best.period
    rewards = rewards_of(without_gaps(series.values), objective)
    slots, gain = None, None
    if period is not None and period <= len(rewards) - 1:
        choices = slot_choices(series.grid, len(rewards), period, joint=True)
        slots, gain = best_slots(rewards, period, choices)
    followed = slots if gain is not None and gain.share >= MIN_SHARE else None
    sign = -1.0 if objective == "min" else 1.0
    schedule = plan(rewards, followed, series.names, sign=sign)
    return Check(source, series, seasons, period, objective, gain, slots, schedule)
