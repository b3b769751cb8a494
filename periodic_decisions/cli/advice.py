"""What to do next with a table, on the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evaluation.cli.shared import say, say_prose
from evaluation.specs import WorldSpec

if TYPE_CHECKING:  # pandas is too slow for a help text
    from periodic_decisions.backtest.recommend import Recommendation


def say_advice(advice: Recommendation) -> None:
    """The closing sentence, the commands that follow from it, and what else to know."""
    say_prose(advice.sentence)
    if advice.schedule and advice.command:
        say("If only the chosen arm's reward will be seen:")
    for command in (advice.command, advice.learn):
        if command is not None:
            say(f"  {command}")
    if advice.schedule:
        say("If all arms are measured, the schedule; let it learn again as the table grows:")
    for command in advice.schedule:
        say(f"  {command}")
    for note in advice.notes:
        say_prose(note)


def play_command(periods: Sequence[float], data: dict[str, Any], rest: dict[str, Any]) -> str:
    """The command that plays with the seasons that were found."""
    plain = [int(period) if period.is_integer() else period for period in periods]
    period = plain if len(plain) > 1 else plain[0]
    spec = WorldSpec("PeriodicGP-Replay-v0", {**data, "period": period, **rest})
    agent = "seasons-gp-ucb" if len(plain) > 1 else "periodic-gp-ucb:time_length_scale=1"
    return f"periodic-gp play {shlex.quote(str(spec))} {agent}"
