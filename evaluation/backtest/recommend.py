"""What to use, in one plain sentence."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evaluation.backtest.judged import Judged
from evaluation.backtest.rewards import FIXED, LEARNED, LEARNED_FIXED, UNIFORM
from evaluation.deciding.durations import MAX_DURATION, written

NOTHING_TO_GAIN = (
    "No gain was shown: no agent, and nothing learned from earlier data, was clearly better than "
    "an arm at random. Any fixed arm does as well."
)


@dataclass(frozen=True)
class Recommendation:
    """What to use on a table.

    Attributes:
        agent: The agent with the highest reward; None if none finished.
        sentence: What it gained, and whether that is worth anything.
        command: How to use it; None where there is nothing to gain, or the command ``decide`` has
            no clock for it.
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
    if _is_hopeless(judged):
        return Recommendation(agent, NOTHING_TO_GAIN)
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


def _is_hopeless(judged: Judged) -> bool:
    """Whether nothing that could have been done was clearly better than an arm at random."""
    tried = [judged.ranking[0], *(row for row in (LEARNED, LEARNED_FIXED) if row in judged.totals)]
    return not any(_is_better(judged, row, UNIFORM) for row in tried)


def _is_better(judged: Judged, row: str, than: str) -> bool:
    """Clearly, or by the only figure that there is."""
    gain = judged.gain(row, than)
    return gain.clear or (len(judged.plan.firsts) == 1 and gain.estimate > 0)


def _advice(judged: Judged, agent: str) -> str:
    """To use it, or what needs no agent."""
    otherwise = f"use {agent} where only the chosen arm's reward is seen."
    if LEARNED in judged.totals and _is_better(judged, LEARNED, agent):
        return (
            "a schedule learned from all arms before, which needs no agent, is better still "
            f"({judged.gain(LEARNED, agent).text()} over it): {otherwise}"
        )
    if judged.gain(agent, FIXED).estimate <= 0.0 <= judged.gain(LEARNED_FIXED, agent).estimate:
        means = judged.sign * np.nanmean(judged.series.values, axis=0)
        best = judged.series.names[int(means.argmax())]
        return f"always {best}, the best arm so far, did no worse and needs no agent: {otherwise}"
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
    zone = [] if judged.timezone is None else [f"--timezone {shlex.quote(judged.timezone)}"]
    given = [
        *arms,
        f"--step {shlex.quote(written(step.to_pytimedelta()))}",
        *seasons,
        *zone,
        *least,
    ]
    return " ".join(["periodic-gp decide init decider", *given, f"--agent {shlex.quote(agent)}"])
