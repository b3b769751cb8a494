"""Commands that put to work what a backtest recommends."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from periodic_decisions.backtest.judged import Judged
from periodic_decisions.deciding.durations import MAX_DURATION, written
from periodic_decisions.deciding.settings import DEFAULT_REMEMBERED, MAX_REMEMBERED

LEARNABLE = (
    *("time_column", "arm_column", "reward_column", "arms", "time_format", "duplicates"),
    *("separator", "decimal", "encoding", "na_values"),
)
"""Options of reading that ``decide learn`` has, too; a decider has a zone of its own."""


def init_command(judged: Judged, name: str, agent: str, periods: Sequence[float]) -> str | None:
    """How to make a decider; None where ``decide`` has no clock for the table.

    Args:
        judged: What came of the backtest.
        name: The file of the decider.
        agent: Who decides.
        periods: Seasons in steps that it is told, the main one first.
    """
    step = judged.series.step
    if not isinstance(step, pd.Timedelta):
        return None
    lengths = [(period * step).to_pytimedelta() for period in periods]
    zone = judged.timezone or ("UTC" if _has_offsets(judged) else None)
    options = {
        "arms": judged.series.names,
        "step": written(step.to_pytimedelta()),
        "seasons": [written(length) for length in lengths if length <= MAX_DURATION],
        "timezone": [] if zone is None else zone,
        "objective": "min" if judged.objective == "min" else [],
        "agent": agent,
    }
    return f"periodic-gp decide init {name}{as_options(options)}"


def learn_command(judged: Judged, name: str) -> str | None:
    """How to let a decider learn the table; None where there is no file."""
    if judged.table is None:
        return None
    reading = {key: judged.reading[key] for key in LEARNABLE if key in judged.reading}
    file = shlex.quote(str(judged.table))
    return f"periodic-gp decide learn {name} {file}{as_options(reading)}"


def schedule_commands(judged: Judged, name: str) -> tuple[str, ...]:
    """How to make a decider that follows the schedule of the table, and goes on learning it.

    It is to know all of the table, and means are cheap to keep.
    """
    period = judged.schedule_period
    if period is None:
        return ()
    agent = f"phase-ucb:period={period:.12g},scale=0"
    made = init_command(judged, name, agent, [period])
    cells = int(judged.series.values.size)
    if made and cells > DEFAULT_REMEMBERED:
        made += f" --remember {min(2 * cells, MAX_REMEMBERED)}"  # and as much again, as it grows
    return tuple(word for word in (made, learn_command(judged, name)) if made and word)


def _has_offsets(judged: Judged) -> bool:
    """Whether times have an offset, or count from 1970: without a zone they are read as UTC."""
    return getattr(judged.series.clock.first, "tzinfo", None) is not None


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
