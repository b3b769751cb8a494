"""Recommendation after a backtest, in plain sentences, with the commands for it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from periodic_decisions.backtest.references import (
    FIXED,
    HINDSIGHT,
    LEARNED,
    LEARNED_FIXED,
    ORACLE,
    UNIFORM,
)
from periodic_decisions.backtest.result import BacktestResult
from periodic_decisions.decider.settings import (
    DEFAULT_REMEMBERED,
    MAX_DURATION,
    MAX_REMEMBERED,
    written,
)

NOTHING_TO_GAIN = (
    "No gain was shown: no agent, and nothing learned from earlier data, was clearly better than "
    "an arm at random. Any fixed arm does as well."
)
PHRASES = {
    FIXED: "the best fixed arm",
    LEARNED_FIXED: "the best arm of all data before",
    LEARNED: "the schedule learned before",
    HINDSIGHT: "the best arm of each phase",
    ORACLE: "the oracle",
    UNIFORM: "an arm at random",
}
DECIDER, SCHEDULE = "decider", "schedule"  # files in the commands
LEARNABLE = (  # options of reading that ``decide learn`` has; a decider has a zone of its own
    *("time_column", "arm_column", "reward_column", "arms", "time_format", "duplicates"),
    *("separator", "decimal", "encoding", "na_values"),
)


@dataclass(frozen=True)
class Recommendation:
    """Recommendation for a table.

    Attributes:
        agent: The agent with the highest reward; None if none finished.
        sentence: Its gain, and advice.
        command: Command to make a decider of it; None where there is nothing to gain, or a decider
            has no clock for the table.
        learn: Command to learn the table; None if agents started from nothing.
        schedule: Commands to use the schedule instead, where it got more.
        notes: Other facts, a sentence each.
    """

    agent: str | None
    sentence: str
    command: str | None = None
    learn: str | None = None
    schedule: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def lines(self) -> Iterator[tuple[str, bool]]:
        """Yield lines for the terminal, and whether each is prose."""
        yield self.sentence, True
        if self.schedule and self.command:
            yield "If only the chosen arm's reward will be seen:", False
        yield from ((f"  {command}", False) for command in (self.command, self.learn) if command)
        if self.schedule:
            yield (
                "If all arms are measured, the schedule; let it learn again as the table grows:",
                False,
            )
        yield from ((f"  {command}", False) for command in self.schedule)
        yield from ((note, True) for note in self.notes)


def recommend(result: BacktestResult) -> Recommendation:
    """Return the agent with the highest reward, and whether it is better than no agent at all.

    It is compared with the baseline (the best fixed arm in hindsight, unless another was asked for)
    and with the schedule that can be learned from the data before each window: with such data, the
    latter needs no agent.
    """
    if not result.ranking:
        return Recommendation(None, "No agent finished all windows: nothing can be recommended.")
    agent = result.ranking[0]
    tried = [agent, *(row for row in (LEARNED, LEARNED_FIXED) if row in result.totals)]
    if not any(_is_better(result, row, UNIFORM) for row in tried):
        return Recommendation(agent, NOTHING_TO_GAIN)
    command = init_command(result, DECIDER, agent, result.plan.periods)
    learn = learn_command(result, DECIDER) if command and result.plan.warm else None
    return Recommendation(
        agent,
        f"{_verdict(result, agent)}; {_advice(result, agent)}",
        command,
        learn,
        schedule_commands(result) if _schedule_leads(result, agent) else (),
        tuple(_notes(result, command, learn)),
    )


def _verdict(result: BacktestResult, agent: str) -> str:
    """Return the gain of the agent over the baseline, and its knowledge before."""
    base = _base(result, agent)
    over, count, phrase = result.gain(agent, base), len(result.plan.firsts), PHRASES.get(base, base)
    where = f"in {count:,} windows" if count > 1 else "in one window, too few for an interval"
    warm = result.plan.warm
    told = f", after it was told the best arm of each of the {warm:,} steps before" if warm else ""
    if over.clear or (count == 1 and over.estimate > 0):
        figures = over.text().replace("+", "")
        if count > 1:
            return f"{agent} gained {figures} {where} over {phrase}{told}"
        return f"{agent} gained {figures} over {phrase}{told} ({where})"
    if over.estimate > 0:
        but = ", but that arm is known only afterwards" if base == FIXED else ""
        return f"{agent} is not clearly better than {phrase} ({over.text()} {where}){told}{but}"
    only = ", and is worth it only where that arm is not known beforehand" * (base == FIXED)
    nearest = f"{agent} came nearest ({over.text()} {where}){told}{only}"
    return f"No agent beat {phrase}: {nearest}"


def _base(result: BacktestResult, agent: str) -> str:
    """Return the row that the agent is compared with: not itself."""
    return FIXED if result.baseline == agent else result.baseline


def _is_better(result: BacktestResult, row: str, than: str) -> bool:
    """Return whether a row is clearly better, or by the only figure that there is."""
    gain = result.gain(row, than)
    return gain.clear or (len(result.plan.firsts) == 1 and gain.estimate > 0)


def _schedule_leads(result: BacktestResult, agent: str) -> bool:
    """Return whether the schedule learned before got more than the agent, clearly or not."""
    return LEARNED in result.totals and result.total_reward(LEARNED) > result.total_reward(agent)


def _advice(result: BacktestResult, agent: str) -> str:
    """Advise to use the agent, or what needs none."""
    otherwise = f"use {agent} where only the chosen arm's reward is seen."
    leads = _schedule_leads(result, agent)
    fixed = result.total_reward(LEARNED_FIXED)
    is_no_worse = result.gain(agent, FIXED).estimate <= 0.0 and fixed >= result.total_reward(agent)
    clearly = leads and _is_better(result, LEARNED, agent)
    if is_no_worse and not clearly and not (leads and result.total_reward(LEARNED) > fixed):
        means = result.sign * np.nanmean(result.series.values, axis=0)
        best = result.series.names[int(means.argmax())]
        return f"always {best}, the best arm so far, did no worse and needs no agent: {otherwise}"
    if not leads:
        return "use it."
    lead = _lead(result, agent)
    return f"a schedule {lead}: follow it where all arms are measured, and {otherwise}"


def _lead(result: BacktestResult, agent: str) -> str:
    """Describe the lead of the schedule with both figures."""
    base = _base(result, agent)
    gain, of_agent = result.gain(LEARNED, agent), result.gain(agent, base)
    of_schedule = result.gain(LEARNED, base)
    both = (
        f"{of_schedule.number(of_schedule.estimate)} against {of_agent.number(of_agent.estimate)}"
    )
    over = "" if base == LEARNED else f"{both} over {PHRASES.get(base, base)}; "
    clearly = "is better still" if gain.clear else "got more, but not clearly"
    if len(result.plan.firsts) == 1:
        clearly = "got more in the one window"
    figures = f"{over}{gain.text()} over {agent}"
    return f"learned from all arms before, which needs no agent, {clearly} ({figures})"


def _notes(result: BacktestResult, command: str | None, learn: str | None) -> Iterator[str]:
    """Yield other facts to know before using the agent."""
    if result.plan.warm:
        knows = "decide learn lets the decider know the past, as agents did here. " if learn else ""
        yield f"{knows}Run with --warm-start 0 for what agents gain from nothing."
    if command is None:
        return
    untold = [period for period in result.periods if period not in result.plan.periods]
    if untold:
        longer = ", ".join(f"{period:,.6g}" for period in untold)
        yield (
            "The command has the seasons that agents were told; longer than a window of "
            f"{result.plan.steps:,} steps, and so left out: {longer}. To try agents that know "
            f"them, give --window-steps {np.ceil(max(untold)):.0f}."
        )
    yield (
        "Add --explore 0.05 to draw one choice in twenty at random: without that, the "
        "decider's log says nothing about arms that it did not choose."
    )


def init_command(
    result: BacktestResult, name: str, agent: str, periods: Sequence[float]
) -> str | None:
    """Return the command to make a decider; None where it has no clock for the table.

    Args:
        result: Of the backtest.
        name: The file of the decider.
        agent: The agent.
        periods: Seasons in steps, the main one first.
    """
    step = result.series.step
    if not isinstance(step, pd.Timedelta):
        return None
    lengths = [(period * step).to_pytimedelta() for period in periods]
    # Times with an offset, or since 1970, are read as UTC without a zone.
    aware = getattr(result.series.grid.first, "tzinfo", None) is not None
    options = {
        "arms": result.series.names,
        "step": written(step.to_pytimedelta()),
        "seasons": [written(length) for length in lengths if length <= MAX_DURATION],
        "timezone": result.timezone or ("UTC" if aware else []),
        "objective": "min" if result.objective == "min" else [],
        "agent": agent,
    }
    return f"periodic-gp decide init {name}{as_options(options)}"


def learn_command(result: BacktestResult, name: str) -> str | None:
    """Return the command to learn the table; None where there is no file."""
    if result.table is None:
        return None
    reading = {key: result.reading[key] for key in LEARNABLE if key in result.reading}
    file = shlex.quote(str(result.table))
    return f"periodic-gp decide learn {name} {file}{as_options(reading)}"


def schedule_commands(result: BacktestResult) -> tuple[str, ...]:
    """Return the commands to follow the schedule of the table, and to go on learning it.

    The decider needs all of the table, and means are cheap to keep.
    """
    period = result.schedule_period or 0.0
    agent = f"phase-ucb:period={period:.12g},scale=0"
    made, learn = init_command(result, SCHEDULE, agent, [period]), learn_command(result, SCHEDULE)
    if not period or made is None:
        return ()
    cells = int(result.series.values.size)
    if cells > DEFAULT_REMEMBERED:  # and as much again, as the table grows
        made += f" --remember {min(2 * cells, MAX_REMEMBERED)}"
    return (made, learn) if learn else (made,)


def as_options(arguments: Mapping[str, Any]) -> str:
    """Return arguments as options of a command, with a space before each word.

    >>> as_options({"time_column": "Zeit", "arms": ["a", "b c"]})
    " --time-column Zeit --arms a --arms 'b c'"
    """
    words = []
    for name, value in arguments.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            words += [f"--{name.replace('_', '-')}", shlex.quote(str(one))]
    return "".join(f" {word}" for word in words)
