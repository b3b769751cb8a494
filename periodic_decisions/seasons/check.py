"""Description of a table for ``data check``: readings, seasons, gain and schedule."""

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
    """Results of ``check_series``.

    Attributes:
        source: Name of the table.
        series: Readings of the table.
        search: Result of the search for seasons.
        period: Length of the season in steps: the requested length, or else the length of the best
            detected season. None if no length was requested and no season was detected.
        objective: "max" or "min".
        gain: Gain from knowing the phase; None without a period, or if the data do not extend
            into a second season.
        slots: Phases of the season, named by the calendar; None if ``gain`` is None.
        schedule: Arm of each slot; a single arm if knowing the phase yields no gain.
    """

    source: str
    series: Series
    search: SeasonSearch
    period: float | None
    objective: str
    gain: PhaseGain | None
    slots: Slots | None
    schedule: Schedule

    def lines(self) -> list[str]:
        """Return lines that describe the readings, the seasons, the gain and the schedule."""
        parts = (self._readings(), self._season(), self._worth(), self.schedule.lines())
        return [line for part in parts for line in (*part, "")][:-1]

    def _readings(self) -> list[str]:
        series = self.series
        troubles = series.troubles()
        return [
            *(sentence(line) for line in series.report.detected),
            f"{len(series.values):,} steps of {series.grid.step_text()}, {series.span()}.",
            f"{len(series.names):,} arms: {listed(series.names)}.",
            *([sentence(trouble) for trouble in troubles] or ["No gaps and no duplicates."]),
        ]

    def _season(self) -> list[str]:
        if not self.search.seasons:
            return [
                f"No season was detected. At least {MIN_SEASONS} repetitions of a season must fit "
                "into the data, so the longest season that can be detected has "
                f"{self.search.longest:,} steps."
            ]
        best, *rest = self.search.seasons
        return [
            f"The season has {self.in_steps(best.period)}. It is {_evidence(best)}.",
            *(f"Another season has {self.in_steps(c.period)}. It is {_evidence(c)}." for c in rest),
        ]

    def _worth(self) -> list[str]:
        if self.period is None:
            return [
                "Without a season, there is no gain from knowing the phase; give a period to "
                "compute the gain for a season of this length."
            ]
        of = f"With a season of {self.in_steps(self.period)}"
        if self.gain is None:
            return [f"{of}, the data do not reach a second season: the gain cannot be computed."]
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
        return [head, *figures, _verdict(gain), _method(gain, sign)]

    @property
    def word_and_sign(self) -> tuple[str, float]:
        """Noun for the values, and the factor that converts them to rewards."""
        return ("cost", -1.0) if self.objective == "min" else ("reward", 1.0)

    def in_steps(self, period: float) -> str:
        """Return a period as text: in steps and, if the times are dates, in hours or days."""
        text = f"{period:,.6g} steps"
        step = self.series.step
        if isinstance(step, pd.Timedelta):
            hours = period * (step / pd.Timedelta("1h"))  # a Timedelta is limited to 292 years
            days = f"{hours / 24:.5g} days" if hours != 24 else "1 day"
            text += f" ({days})" if hours >= 24 else f" ({hours:.4g} hours)"
        return text


def _evidence(season: Season) -> str:
    word = "strong" if season.strength >= 0.5 else "clear" if season.strength >= 0.1 else "weak"
    share = f"{season.gain:.0%} of the possible gain"
    return (
        f"{word}: it explains {season.strength:.0%} of the variance in held-out seasons, its "
        f"autocorrelation is {season.autocorrelation:.2f}, and knowing it yields "
        f"{'no gain' if season.gain < MIN_SHARE else share}"
    )


def _verdict(gain: PhaseGain) -> str:
    gets = f"yields {gain.share:.0%} of the possible gain"
    gains = "yields no gain" if gain.share < MIN_SHARE else gets
    return f"Knowing the phase {gains} over always choosing the best arm."


def _method(gain: PhaseGain, sign: float) -> str:
    text = (
        "The best arm is chosen from all the data. The arms of the phases are evaluated by "
        f"cross-validation over {gain.seasons:,} seasons"
    )
    held_out, hindsight = (f"{sign * value:,.4g}" for value in (gain.per_phase, gain.hindsight))
    if held_out != hindsight:
        text += f"; for arms chosen in hindsight, the mean is {hindsight}, which is optimistic"
    return f"({text}.)"


def check_series(
    series: Series, *, source: str, period: float | None = None, objective: str = "max"
) -> Check:
    """Search for seasons and measure the gain from knowing them."""
    search = find_seasons(series.values, grid=series.grid, objective=objective)
    if period is None and search.best is not None:
        period = search.best.period
    rewards = rewards_of(without_gaps(series.values), objective)
    slots, gain = None, None
    if period is not None and period <= len(rewards) - 1:
        choices = slot_choices(series.grid, len(rewards), period, joint=True)
        slots, gain = best_slots(rewards, period, choices)
    followed = slots if gain is not None and gain.share >= MIN_SHARE else None
    sign = -1.0 if objective == "min" else 1.0
    schedule = plan(rewards, followed, series.names, sign=sign)
    return Check(source, series, search, period, objective, gain, slots, schedule)
