"""What to use, in one plain sentence."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

import pandas as pd

from evaluation.backtest.judged import Judged
from evaluation.backtest.rewards import FIXED, LEARNED
from evaluation.deciding.durations import MAX_DURATION, written


@dataclass(frozen=True)
class Recommendation:
    """What to use on a table.

    Attributes:
        agent: The agent with the highest reward; None if none finished.
        sentence: What it gained, and whether that is worth anything.
        command: How to use it; None where the command ``decide`` has no clock for it.
    """

    agent: str | None
    sentence: str
    command: str | None = None


def recommend(judged: Judged) -> Recommendation:
    """The agent with the highest reward, and honestly whether it is better than no agent at all.

    It is held against the best fixed arm in hindsight and against the schedule that can be learned
    from the data before each window: whoever has such data needs no agent for the latter.
    """
    if not judged.ranking:
        return Recommendation(None, "No agent finished all windows: nothing can be recommended.")
    agent = judged.ranking[0]
    over, count = judged.gain(agent, FIXED), len(judged.plan.firsts)
    where = f"in {count:,} windows" if count > 1 else "in one window, too few for an interval"
    figures = over.text() + f" {where}"
    if over.clear or (count == 1 and over.estimate > 0):
        verdict = f"{agent} gained {figures} over the best fixed arm; ".replace("+", "")
    elif over.estimate > 0:
        verdict = f"{agent} is not clearly better than the best fixed arm ({figures}), but "
        verdict += "that arm is known only afterwards; "
    else:
        verdict = f"No agent beat the best fixed arm: {agent} came nearest ({figures}), and is "
        verdict += "worth it only where that arm is not known beforehand; "
    return Recommendation(agent, verdict + _advice(judged, agent), _command(judged, agent))


def _advice(judged: Judged, agent: str) -> str:
    """To use it, or the schedule that needs no agent."""
    if LEARNED not in judged.totals:
        return "use it."
    schedule = judged.gain(LEARNED, agent)
    if schedule.clear or (len(judged.plan.firsts) == 1 and schedule.estimate > 0):
        return (
            "a schedule learned from all arms before, which needs no agent, is better still "
            f"({schedule.text()} over it): use {agent} where only the chosen arm's reward is seen."
        )
    return "use it."


def _command(judged: Judged, agent: str) -> str | None:
    """How to make a decider of it."""
    step = judged.series.step
    if not isinstance(step, pd.Timedelta):
        return None
    arms = [f"--arms {shlex.quote(name)}" for name in judged.series.names]
    lengths = [(period * step).to_pytimedelta() for period in judged.plan.periods]
    seasons = [
        f"--seasons {shlex.quote(written(length))}" for length in lengths if length <= MAX_DURATION
    ]
    least = ["--objective min"] if judged.objective == "min" else []
    given = [*arms, f"--step {shlex.quote(written(step.to_pytimedelta()))}", *seasons, *least]
    return " ".join(
        ["periodic-gp decide init decider.json", *given, f"--agent {shlex.quote(agent)}"]
    )
