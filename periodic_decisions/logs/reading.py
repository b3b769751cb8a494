"""Logs from anybody's table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from agents.base import MAX_REWARD
from periodic_decisions.logs.log import Integers, Log, LogError
from periodic_decisions.tables import absent
from periodic_decisions.tables.columns import Roles, check_known, find_roles
from periodic_decisions.tables.formats import Table, as_text, read_table
from periodic_decisions.tables.grid import Clock, find_clock, positions
from periodic_decisions.tables.limits import MAX_VALUES, UNNAMED, check_name
from periodic_decisions.tables.times import parse_times
from periodic_decisions.tables.values import Marks, find_marks, is_number, parse_numbers
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError

PROBABILITY = frozenset(
    (
        *("probability", "prob", "propensity", "propensity_score", "pscore", "action_prob"),
        "wahrscheinlichkeit",
    )
)
"""What a column of probabilities is called, in small letters."""
MAX_SHARE_WITHOUT = 0.5
"""Of rows without a probability: beyond that it is a column that should not be used."""
MONDAY = "1970-01-05"
"""Steps of dated times are counted from the last Monday before the first of them."""


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
) -> Log:
    """Read a long table of decisions: time, arm, reward and, if known, probability and contexts.

    Rows may come in any order, several may stand at one time, and times may be missing. A row
    without a reward (not known yet) is counted and left out, and so is one without a probability
    among others that have one (the arm was drawn from equal ones, say).

    Args:
        source: A path (.csv, .tsv, .txt, .parquet) or a DataFrame.
        time_column: Which column is the time; needed where that is not plain to see.
        arm_column: Which column names the arm that was chosen.
        reward_column: Which column is the reward.
        probability_column: Which column is the probability with which that arm was chosen; None
            for the one that is called so, if there is one.
        context_columns: Columns of numbers that were known before the choice; None for all columns
            of numbers that are nothing else.
        step: Length of a step, as in "1h" or 0.5, to which irregular times are rounded down; None
            for times that are regular.
        time_format: How times are written; None to find out.
        separator: What separates the fields of a CSV file; None to find out.
        decimal: The decimal mark of a CSV file; None to find out.
        encoding: How the letters of a CSV file are written; None to find out.
        na_values: Words or numbers that say that nothing was measured.
        timezone: The zone whose clocks give the times.

    Raises:
        DataError: If the table cannot be used, or can be read in more than one way.
    """
    given = read_table(source, separator=separator, encoding=encoding)
    table = absent.without(given, absent.checked_words(na_values))
    probability = probability_column_of(table, probability_column)
    asked = list(context_columns or ())
    check_known(asked, list(table.columns), f"column of {table.source}")
    roles = _roles(
        without(table, [probability, *asked]),
        time_column=time_column,
        arm_column=arm_column,
        reward_column=reward_column,
        time_format=time_format,
    )
    table = absent.kept(table, given, [roles.time, roles.arm])
    if roles.arm is None or roles.reward is None:
        raise LogError(
            f"{table.source} has a column for each arm; a log is a long table with the columns "
            "time, arm and reward"
        )
    contexts = asked if context_columns is not None else _other_numbers(table, roles, probability)
    numbers = [roles.reward, *contexts, *([probability] if probability else [])]
    marks = find_marks(table, numbers, decimal)
    moments, notes = parse_times(
        table, roles.time, time_format=time_format, marks=marks, timezone=timezone
    )
    clock, steps = _steps(moments, step, table.source)
    origin = _origin(clock)
    names, codes = _arms(table, roles.arm)
    log = Log(
        source=table.source,
        clock=clock,
        names=names,
        step=origin + steps,
        arm=codes,
        reward=_rewards(table, roles.reward, marks),
        probability=_probabilities(table, probability, marks) if probability else None,
        contexts=_contexts(table, contexts, marks),
        context_names=tuple(contexts),
        origin=origin,
        notes=(*_said(roles, probability, contexts), *notes, *table.notes, *marks.lines()),
    )
    return _known_rows(log)


def _roles(table: Table, **columns: str | None) -> Roles:
    """Time, arm and reward; what may be a wide table to others is a log that is not understood."""
    try:
        return find_roles(table, arms=None, **columns)
    except DataError as error:
        if "arms=[" not in str(error):
            raise
        raise LogError(
            f"cannot tell which columns of {table.source} are the arm, the reward and the "
            "probability: give arm_column, reward_column and, if there is one, "
            f"probability_column; there are {', '.join(map(repr, list(table.columns)[:10]))}"
        ) from None


def probability_column_of(table: Table, asked: str | None = None) -> str | None:
    """The column of probabilities: the one asked for, or the one that is called so."""
    if asked is not None:
        check_known([asked], list(table.columns), f"column of {table.source}")
        return asked
    found = [name for name in table.columns if name.lower().replace(" ", "_") in PROBABILITY]
    if len(found) > 1:
        raise LogError(
            f"{table.source} has more than one column that may be the probability: give "
            f"probability_column={' or '.join(map(repr, found))}"
        )
    return found[0] if found else None


def without(table: Table, names: Sequence[str | None]) -> Table:
    """The table without some columns."""
    kept = {name: column for name, column in table.columns.items() if name not in names}
    return replace(table, columns=kept)


def _other_numbers(table: Table, roles: Roles, probability: str | None) -> list[str]:
    used = (roles.time, roles.arm, roles.reward, probability, UNNAMED, "index", "Unnamed: 0")
    columns = table.columns.items()
    return [name for name, values in columns if name not in used and is_number(values)]


def _steps(moments: Any, step: str | float | None, source: str) -> tuple[Clock, Integers]:
    """The clock, and which of its steps each time is."""
    if step is None:
        clock = find_clock(moments, source)
        try:
            return clock, positions(clock, moments, source)
        except DataError as error:
            raise LogError(
                f"the times of {source} are not regular, or far apart: give a step, such as '1h', "
                "to which they are rounded down"
            ) from error
    stamps = isinstance(moments, pd.DatetimeIndex)
    try:
        length: Any = pd.Timedelta(step) if stamps else float(step)
        positive = length > (pd.Timedelta(0) if stamps else 0.0)
    except (TypeError, ValueError):
        positive = False
    if not positive:
        like = "a length of time such as '1h'" if stamps else "a positive number, as the times are"
        raise LogError(f"step must be {like}, got {step!r}")
    first = moments.min().floor(length) if stamps else np.floor(moments.min() / length) * length
    clock = Clock(first, length)
    # A share of a step is forgiven, lest round-off puts a time into the step before.
    exact = np.floor(clock.index(moments) + 1e-9)
    if not exact.max() < MAX_VALUES:
        raise LogError(
            f"the times of {source} are {exact.max() + 1:,.0f} steps of {clock.step_text()}: is "
            "one of them wrong, or the step too short?"
        )
    return clock, exact.astype(np.intp)


def _origin(clock: Clock) -> int:
    if not isinstance(clock.first, pd.Timestamp):
        return int(np.floor(clock.first / clock.step + 1e-9))
    monday = pd.Timestamp(MONDAY, tz=clock.first.tz)
    into_week = (clock.first - monday) % pd.Timedelta(weeks=1)
    return int(np.floor(into_week / clock.step + 1e-9))


def _arms(table: Table, column: str) -> tuple[tuple[str, ...], Integers]:
    codes, found = pd.factorize(np.array(as_text(table.columns[column]), dtype=object), sort=True)
    for code, name in enumerate(found):
        check_name(name, f"the arm in {table.place(int((codes == code).argmax()))}")
    if len(found) < 2:
        raise LogError(f"a choice needs at least two arms, {table.source} has only {found[0]!r}")
    return tuple(found), codes.astype(np.intp)


def _rewards(table: Table, name: str, marks: Marks) -> Array:
    values = parse_numbers(table, name, marks)
    large = np.abs(values) > MAX_REWARD
    if large.any():
        row = int(large.argmax())
        raise LogError(
            f"{table.place(row)} has the reward {values[row]:g} in column {name!r}: squares of "
            f"rewards must stay finite, so that they are at most {MAX_REWARD:g} in magnitude"
        )
    return values


def _probabilities(table: Table, name: str, marks: Marks) -> Array:
    values = parse_numbers(table, name, marks)
    missing = np.isnan(values)
    wrong = ~missing & ~((values > 0.0) & (values <= 1.0))
    if missing.sum() > MAX_SHARE_WITHOUT * len(values):
        wrong = missing
    if wrong.any():
        row = int(wrong.argmax())
        value = values[row]
        said = "no probability" if np.isnan(value) else f"a probability of {value:g}"
        raise LogError(
            f"{table.place(row)} has {said} in column {name!r}: the arm of a row was chosen with a "
            "probability above 0 and at most 1; mend it, or take the column out to have the "
            "probabilities estimated"
        )
    return values


def _contexts(table: Table, names: Sequence[str], marks: Marks) -> Array | None:
    if not names:
        return None
    found = np.stack([parse_numbers(table, name, marks) for name in names], axis=1)
    missing = np.isnan(found)
    if missing.any():
        row, column = map(int, np.argwhere(missing)[0])
        raise LogError(
            f"{table.place(row)} has nothing in the context column {names[column]!r}: fill it, or "
            "name the other columns as context_columns"
        )
    return found


def _known_rows(log: Log) -> Log:
    """The rows with a reward, in order of time; rows of one time stay in the order of the table.

    Rows without a probability are left out, too: at such a moment none of the arms has one.
    """
    known = ~np.isnan(log.reward)
    if not known.any():
        raise LogError(f"{log.source} has no row with a reward")
    probability = np.ones(len(known)) if log.probability is None else log.probability
    without = known & np.isnan(probability)
    kept = np.flatnonzero(known & ~without)
    if not len(kept):
        raise LogError(f"{log.source} has no row with both a reward and a probability")
    order = kept[np.argsort(log.step[kept], kind="stable")]
    count = int(without.sum())
    rows = f"{count:,} rows have" if count > 1 else "1 row has"
    left_out = (f"{rows} no probability and {'are' if count > 1 else 'is'} left out",)

    def chosen(values: Any) -> Any:
        return None if values is None else values[order]

    return replace(
        log,
        step=chosen(log.step),
        arm=chosen(log.arm),
        reward=chosen(log.reward),
        probability=chosen(log.probability),
        contexts=chosen(log.contexts),
        unknown=int((~known).sum()),
        notes=(*log.notes, *(left_out if count else ())),
    )


def _said(roles: Roles, probability: str | None, contexts: Sequence[str]) -> list[str]:
    said = f"a log: time in {roles.time!r}, arm in {roles.arm!r}, reward in {roles.reward!r}"
    said += f", probability in {probability!r}" if probability else ", no probabilities"
    known = ", ".join(map(repr, contexts))
    return [said, *([f"contexts, which only agents look at: {known}"] if contexts else [])]
