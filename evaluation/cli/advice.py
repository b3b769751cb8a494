"""What a backtest recommends, on the terminal."""

from __future__ import annotations

from evaluation.backtest.recommend import Recommendation
from evaluation.cli.shared import say, say_prose


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
