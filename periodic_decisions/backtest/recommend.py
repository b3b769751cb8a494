"""What to use, in plain sentences, and the commands for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from periodic_decisions.backtest.commands import init_command, learn_command, schedule_commands
from periodic_decisions.backtest.judged import Judged
from periodic_decisions.backtest.rewards import (
    FIXED,
    HINDSIGHT,
    LEARNED,
    LEARNED_FIXED,
    ORACLE,
    UNIFORM,
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
"""References in a sentence."""
DECIDER, SCHEDULE = "decider", "schedule"
"""Files in the commands."""


@dataclass(frozen=True)
class Recommendation:
    """What to use on a table.

    Attributes:
        agent: The agent with the highest reward; None if none finished.
        sentence: What it gained, and whether that is worth anything.
        command: How to use it; None where there is nothing to gain, or the command ``decide`` has
            no clock for it.
        learn: How to let it learn the table; None if agents started from nothing.
        schedule: How to use the schedule instead, where it got more: commands, one after the other.
        notes: What else to know before using it, a sentence each.
    """

    agent: str | None
    sentence: str
    command: str | None = None
    learn: str | None = None
    schedule: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def recommend(judged: Judged) -> Recommendation:
    """The agent with the highest reward, and honestly whether it is better than no agent at all.

    It is held against the baseline (the best fixed arm in hindsight, unless another was asked for)
    and against the schedule that can be learned from the data before each window: whoever has such
    data needs no agent for the latter.
    """
    if not judged.ranking:
        return Recommendation(None, "No agent finished all windows: nothing can be recommended.")
    agent = judged.ranking[0]
    if _is_hopeless(judged):
        return Recommendation(agent, NOTHING_TO_GAIN)
    command = init_command(judged, DECIDER, agent, judged.plan.periods)
    learn = learn_command(judged, DECIDER) if command and judged.plan.warm else None
    return Recommendation(
        agent,
        _verdict(judged, agent) + _advice(judged, agent),
        command,
        learn,
        schedule_commands(judged, SCHEDULE) if _schedule_leads(judged, agent) else (),
        tuple(_notes(judged, command, learn)),
    )


def _verdict(judged: Judged, agent: str) -> str:
    """What the agent gained, over whom, and what it knew beforehand."""
    base = _base(judged, agent)
    over, count, phrase = judged.gain(agent, base), len(judged.plan.firsts), _phrase(base)
    where = f"in {count:,} windows" if count > 1 else "in one window, too few for an interval"
    told = _told(judged)
    afterwards = base == FIXED
    if over.clear or (count == 1 and over.estimate > 0):
        figures = over.text().replace("+", "")
        if count > 1:
            return f"{agent} gained {figures} {where} over {phrase}{told}; "
        return f"{agent} gained {figures} over {phrase}{told} ({where}); "
    if over.estimate > 0:
        but = ", but that arm is known only afterwards" if afterwards else ""
        return f"{agent} is not clearly better than {phrase} ({over.text()} {where}){told}{but}; "
    only = ", and is worth it only where that arm is not known beforehand" if afterwards else ""
    nearest = f"{agent} came nearest ({over.text()} {where}){told}{only}; "
    return f"No agent beat {phrase}: {nearest}"


def _base(judged: Judged, agent: str) -> str:
    """What the agent is held against: not itself."""
    return FIXED if judged.baseline == agent else judged.baseline


def _phrase(row: str) -> str:
    return PHRASES.get(row, row)


def _told(judged: Judged) -> str:
    warm = judged.plan.warm
    return f", after it was told the best arm of each of the {warm:,} steps before" if warm else ""


def _is_hopeless(judged: Judged) -> bool:
    """Whether nothing that could have been done was clearly better than an arm at random."""
    tried = [judged.ranking[0], *(row for row in (LEARNED, LEARNED_FIXED) if row in judged.totals)]
    return not any(_is_better(judged, row, UNIFORM) for row in tried)


def _is_better(judged: Judged, row: str, than: str) -> bool:
    """Clearly, or by the only figure that there is."""
    gain = judged.gain(row, than)
    return gain.clear or (len(judged.plan.firsts) == 1 and gain.estimate > 0)


def _schedule_leads(judged: Judged, agent: str) -> bool:
    """Whether the schedule learned before got more than the agent, clearly or not."""
    return LEARNED in judged.totals and judged.total_reward(LEARNED) > judged.total_reward(agent)


def _advice(judged: Judged, agent: str) -> str:
    """To use it, or what needs no agent."""
    otherwise = f"use {agent} where only the chosen arm's reward is seen."
    schedule = f"follow it where all arms are measured, and {otherwise}"
    leads = _schedule_leads(judged, agent)
    if leads and _is_better(judged, LEARNED, agent):
        return f"a schedule {_lead(judged, agent)}: {schedule}"
    fixed = judged.total_reward(LEARNED_FIXED)
    is_no_worse = judged.gain(agent, FIXED).estimate <= 0.0 and fixed >= judged.total_reward(agent)
    if is_no_worse and not (leads and judged.total_reward(LEARNED) > fixed):
        means = judged.sign * np.nanmean(judged.series.values, axis=0)
        best = judged.series.names[int(means.argmax())]
        return f"always {best}, the best arm so far, did no worse and needs no agent: {otherwise}"
    return f"a schedule {_lead(judged, agent)}: {schedule}" if leads else "use it."


def _lead(judged: Judged, agent: str) -> str:
    """How far the schedule is ahead, with both figures."""
    base = _base(judged, agent)
    gain, theirs = judged.gain(LEARNED, agent), judged.gain(agent, base)
    mine = judged.gain(LEARNED, base)
    both = f"{mine.number(mine.estimate)} against {theirs.number(theirs.estimate)}"
    over = "" if base == LEARNED else f"{both} over {_phrase(base)}; "
    clearly = "is better still" if gain.clear else "got more, but not clearly"
    if len(judged.plan.firsts) == 1:
        clearly = "got more in the one window"
    return (
        f"learned from all arms before, which needs no agent, {clearly} "
        f"({over}{gain.text()} over {agent})"
    )


def _notes(judged: Judged, command: str | None, learn: str | None) -> list[str]:
    """What else to know before using it."""
    notes = []
    if judged.plan.warm:
        knows = "decide learn lets the decider know the past, as agents did here. " if learn else ""
        notes.append(f"{knows}Run with --warm-start 0 for what agents gain from nothing.")
    untold = [period for period in judged.periods if period not in judged.plan.periods]
    if command and untold:
        longer = ", ".join(f"{period:,.6g}" for period in untold)
        notes.append(
            f"The command has the seasons that agents were told; longer than a window of "
            f"{judged.plan.steps:,} steps, and so left out: {longer}. To try agents that know "
            f"them, give --window-steps {np.ceil(max(untold)):.0f}."
        )
    if command:
        notes.append(
            "Add --explore 0.05 to draw one choice in twenty at random: without that, the "
            "decider's log says nothing about arms that it did not choose."
        )
    return notes
