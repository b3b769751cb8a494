"""Commands that set up a decider with the best agent of a backtest."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from periodic_decisions.backtest.result import BacktestResult
from periodic_decisions.backtest.windows import LEARNED
from periodic_decisions.decider.settings import (
    DEFAULT_REMEMBERED,
    MAX_DURATION,
    MAX_REMEMBERED,
    duration_text,
)

LEARNABLE = (  # reading options that ``decide learn`` takes; a decider has its own time zone
    *("time_column", "arm_column", "reward_column", "arms", "time_format", "duplicates"),
    *("separator", "decimal", "encoding", "na_values"),
)


def setup_commands(result: BacktestResult) -> dict[str, tuple[str, ...]]:
    """Return commands for the best agent, and for the learned schedule if it did better.

    The result is empty if the steps of the table are not lengths of time. A schedule needs the
    rewards of all arms.
    """
    if not result.ranking or not isinstance(result.series.step, pd.Timedelta):
        return {}
    agent = result.ranking[0]
    init, learn = _init(result, "decider", agent, result.plan.periods), _learn(result, "decider")
    commands: dict[str, tuple[str, ...]] = {agent: (init, learn) if result.plan.warm else (init,)}
    period = result.schedule_period
    if period and result.totals[LEARNED].sum() > result.totals[agent].sum():
        schedule = _init(result, "schedule", f"phase-ucb:period={period:.12g},scale=0", [period])
        cells = int(result.series.values.size)
        if cells > DEFAULT_REMEMBERED:  # twice the size, so that the table can grow
            schedule += f" --remember {min(2 * cells, MAX_REMEMBERED)}"
        commands[LEARNED] = (schedule, _learn(result, "schedule"))
    return commands


def _init(result: BacktestResult, name: str, agent: str, periods: Sequence[float]) -> str:
    step: Any = result.series.step
    lengths = [(period * step).to_pytimedelta() for period in periods]
    # Times with an offset and Unix times are read as UTC.
    aware = getattr(result.series.grid.first, "tzinfo", None) is not None
    options = {
        "arms": result.series.names,
        "step": duration_text(step.to_pytimedelta()),
        "seasons": [duration_text(length) for length in lengths if length <= MAX_DURATION],
        "timezone": result.reading.get("timezone") or ("UTC" if aware else []),
        "objective": "min" if result.objective == "min" else [],
        "agent": agent,
    }
    return f"periodic-gp decide init {name}{as_options(options)}"


def _learn(result: BacktestResult, name: str) -> str:
    reading = {key: result.reading[key] for key in LEARNABLE if key in result.reading}
    return f"periodic-gp decide learn {name} {shlex.quote(str(result.table))}{as_options(reading)}"


def as_options(arguments: Mapping[str, Any]) -> str:
    """Return arguments as command-line options, with a space before each word.

    >>> as_options({"time_column": "Zeit", "arms": ["a", "b c"]})
    " --time-column Zeit --arms a --arms 'b c'"
    """
    words = []
    for name, value in arguments.items():
        for item in value if isinstance(value, list | tuple) else [value]:
            words += [f"--{name.replace('_', '-')}", shlex.quote(str(item))]
    return "".join(f" {word}" for word in words)
