"""Reader of logs of decisions from users' tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from agents.base import MAX_REWARD
from periodic_decisions.logs.log import DecisionLog, DecisionLogError, Integers
from periodic_decisions.tables.cells import count, is_number, parse_numbers, parse_times
from periodic_decisions.tables.raw import MAX_VALUES, RawTable, read_table
from periodic_decisions.tables.roles import (
    INDEX,
    Roles,
    arms_of,
    check_known,
    find_roles,
    probability_column_of,
)
from periodic_decisions.tables.series import TimeGrid, find_grid, positions
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError

MAX_SHARE_WITHOUT = 0.5  # maximum share of rows without a probability
MONDAY = "1970-01-05"  # a Monday; dated steps are counted from the last Monday before the log


def read_log(
    source: Any,
    *,
    time_column: str | None = None,
    arm_column: str | None = None,
    reward_column: str | None = None,
    probability_column: str | None = None,
    context_columns: Sequence[str] | None = None,
    step: str | float | None = None,
    time_format: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    na_values: str | float | Sequence[str | float] | None = None,
    timezone: str | None = None,
) -> DecisionLog:
    """Read a long table of decisions: time, arm, reward and, if known, probability and contexts.

    Rows may be in any order, several rows may share a time, and steps may have no row. Rows without
    a reward are counted and left out. If most rows have a probability, rows without a probability
    are left out as well.

    Args:
        source: Path (.csv, .tsv, .txt, .parquet) or DataFrame.
        time_column: Column of the times; required if it is ambiguous.
        arm_column: Column of the chosen arms.
        reward_column: Column of the rewards.
        probability_column: Column of the probabilities of the choices; None to detect it by name.
        context_columns: Numeric columns whose values were known before the choice; None for all
            numeric columns without another role.
        step: Length of a step, such as "1h" or 0.5, to which irregular times are rounded down; None
            for regular times.
        time_format: Format of the times; None to detect it.
        separator: Separator of the fields of a CSV file; None to detect it.
        decimal: Decimal mark of a CSV file; None to detect it.
        encoding: Encoding of a CSV file; None to detect it.
        na_values: Words or numbers for missing values.
        timezone: Time zone of the times.

    Raises:
        DataError: If the table cannot be used or is ambiguous.
    """
    table = read_table(source, separator=separator, encoding=encoding, na_values=na_values)
    check_known(context_columns or (), list(table.columns), f"column of {table.source}")
    probability = probability_column_of(table, probability_column)
    roles = find_roles(
        table.without([probability, *(context_columns or ())]),
        time_column=time_column,
        arm_column=arm_column,
        reward_column=reward_column,
    )
    if roles.arm is None or roles.reward is None:
        raise DecisionLogError(
            "not-a-log",
            f"{table.source} has a column for each arm: a log must be a long table with the "
            "columns time, arm and reward",
        )
    contexts = list(context_columns or ())
    if context_columns is None:
        contexts = _other_numbers(table, roles, probability)
    columns = [roles.reward, *contexts, *([probability] if probability else [])]
    numbers, number_notes = parse_numbers(table, columns, decimal)
    moments, notes = parse_times(
        table, roles.time, time_format=time_format, decimal=decimal, timezone=timezone
    )
    grid, steps = _steps(moments, step, table.source)
    origin = _origin(grid)
    names, codes = arms_of(table, roles.arm, sort=True)
    columns_note = (
        f"the table is a log, with times in {roles.time!r}, arms in {roles.arm!r} and rewards in "
        f"{roles.reward!r}"
    )
    columns_note += (
        f"; probabilities are in {probability!r}" if probability else "; it has no probabilities"
    )
    contexts_note = f"context columns, which only agents use: {', '.join(map(repr, contexts))}"
    _check_numbers(table, columns, numbers, probability)
    log = DecisionLog(
        source=table.source,
        grid=grid,
        names=tuple(names),
        step=origin + steps,
        arm=codes,
        reward=numbers[:, 0],
        probability=numbers[:, -1] if probability else None,
        contexts=numbers[:, 1 : 1 + len(contexts)] if contexts else None,
        context_names=tuple(contexts),
        origin=origin,
        notes=(
            columns_note,
            *([contexts_note] if contexts else []),
            *notes,
            *table.notes,
            *number_notes,
        ),
    )
    return _known_rows(log)


def _other_numbers(table: RawTable, roles: Roles, probability: str | None) -> list[str]:
    used = (roles.time, roles.arm, roles.reward, probability, *INDEX)
    return [name for name in table.columns if name not in used and is_number(table, name)]


def _steps(moments: Any, step: str | float | None, source: str) -> tuple[TimeGrid, Integers]:
    """Return the grid and the step of each time."""
    if step is None:
        grid = find_grid(moments, source)
        try:
            return grid, positions(grid, moments, source)
        except DataError as error:
            raise DecisionLogError(
                error.code,
                f"the times of {source} are irregular or far apart: give a step, such as '1h', to "
                "which times are rounded down",
            ) from error
    stamps = isinstance(moments, pd.DatetimeIndex)
    try:
        length: Any = pd.Timedelta(step) if stamps else float(step)
        positive = length > (pd.Timedelta(0) if stamps else 0.0)
    except (TypeError, ValueError):
        positive = False
    if not positive:
        like = (
            "a length of time such as '1h'"
            if stamps
            else "a positive number, in the unit of the times"
        )
        raise DecisionLogError("invalid-duration", f"step must be {like}, got {step!r}")
    first = moments.min().floor(length) if stamps else np.floor(moments.min() / length) * length
    grid = TimeGrid(first, length)
    # Round-off must not move a time into the previous step.
    exact = np.floor(grid.index(moments) + 1e-9)
    if not exact.max() < MAX_VALUES:
        raise DecisionLogError(
            "sparse-times",
            f"the times of {source} span {exact.max() + 1:,.0f} steps of {grid.step_text()}, but "
            f"at most {MAX_VALUES:,} are allowed: correct invalid times, or use a longer step",
        )
    return grid, exact.astype(np.intp)


def _origin(grid: TimeGrid) -> int:
    first = grid.first
    if isinstance(first, pd.Timestamp):
        first = (first - pd.Timestamp(MONDAY, tz=first.tz)) % pd.Timedelta(weeks=1)
    return int(np.floor(first / grid.step + 1e-9))


def _check_numbers(
    table: RawTable, columns: Sequence[str], numbers: Array, probability: str | None
) -> None:
    """Raise an error for invalid probabilities, contexts with gaps, and rewards above the limit."""
    for name, values in zip(columns, numbers.T, strict=True):
        missing = np.isnan(values)
        if name == probability:
            wrong = ~missing & ~((values > 0.0) & (values <= 1.0))
            wrong |= missing & (missing.mean() > MAX_SHARE_WITHOUT)
            rule = (
                "probabilities must be above 0 and at most 1, and known in most rows; without this "
                "column, probabilities are estimated"
            )
        elif name == columns[0]:
            wrong, rule = (
                np.abs(values) > MAX_REWARD,
                f"rewards must be at most {MAX_REWARD:g} in magnitude",
            )
        else:
            wrong, rule = (
                missing,
                "contexts must not have gaps; select other columns with context_columns",
            )
        if wrong.any():
            row = int(wrong.argmax())
            value = "no value" if missing[row] else f"{values[row]:g}"
            kind = "invalid-probability" if name == probability else "value-too-large"
            raise DecisionLogError(
                "missing-values" if missing[row] else kind,
                f"{table.place(row)} has {value} in column {name!r}: {rule}",
            )


def _known_rows(log: DecisionLog) -> DecisionLog:
    """Return the rows with a reward, in order of time; rows with equal times keep their order.

    If probabilities are logged, rows without a probability are left out as well.
    """
    known = ~np.isnan(log.reward)
    if not known.any():
        raise DecisionLogError("no-rewards", f"{log.source} has no row with a reward")
    without = known & np.isnan(0.0 if log.probability is None else log.probability)
    complete = np.flatnonzero(known & ~without)
    if not len(complete):
        raise DecisionLogError(
            "no-complete-rows", f"{log.source} has no row with both a reward and a probability"
        )
    order = complete[np.argsort(log.step[complete], kind="stable")]
    rows = f"left out {count(int(without.sum()), 'row')} without a probability"
    return replace(
        log,
        step=log.step[order],
        arm=log.arm[order],
        reward=log.reward[order],
        probability=None if log.probability is None else log.probability[order],
        contexts=None if log.contexts is None else log.contexts[order],
        unknown=int((~known).sum()),
        notes=(*log.notes, *([rows] if without.any() else [])),
    )
