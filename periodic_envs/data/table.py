"""Clean tables of rewards at regular times.

A table is wide (a column for each arm) or long (rows of time, arm and reward). The function
``periodic_decisions.tables.read_series`` reads tables in other formats.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError

MAX_FILE_BYTES = 64 * 2**20
MAX_VALUES = 10_000_000
"""Maximum number of readings, for example one per minute for 19 arms over a year."""
MAX_NAME_LETTERS = 200
OFF_GRID = 1e-3
"""Largest distance between a time and the grid, in steps, that is regarded as round-off."""
OTHER_TABLES = "periodic_decisions.tables.read_series reads other formats"


@dataclass(frozen=True, eq=False)
class RewardTable:
    """Readings of arms at regular times.

    Attributes:
        times: Times, as timestamps or numbers.
        names: Names of the arms.
        values: Readings, shape (steps, arms), in which NaN marks missing readings.
    """

    times: pd.Index[Any]
    names: tuple[str, ...]
    values: Array

    def span(self) -> str:
        """Return the first and the last time as text."""
        return f"{format_time(self.times[0])} to {format_time(self.times[-1])}"

    def window(self, start: Any, steps: int | None) -> RewardTable:
        """Return the window of ``steps`` steps that begins at ``start``.

        With ``start=None`` the window begins with the first time of the data, and with
        ``steps=None`` it ends with the last time.

        Raises:
            DataError: If ``start`` is not in the data, or the window exceeds the data.
        """
        first = 0
        if start is not None:
            try:
                first = int(self.times.get_indexer(_parse_times(pd.Index([start]), "start"))[0])
            except (TypeError, DataError):
                first = -1
            if first < 0:
                raise DataError(
                    "outside-data",
                    f"start must be a time in the data ({self.span()}), got {start!r}",
                )
        rest = len(self.values) - first
        length = rest if steps is None else checks.whole("steps", steps, 1)
        if length > rest:
            raise DataError(
                "too-few-steps",
                f"steps must be at most {rest:,} in a window that begins at "
                f"{format_time(self.times[first])}, got {length:,}: the data end at "
                f"{format_time(self.times[-1])}",
            )
        part = slice(first, first + length)
        return RewardTable(self.times[part], self.names, self.values[part])


def read_rewards(
    source: Any,
    *,
    time_column: str | None = None,
    arm_column: str | None = None,
    reward_column: str | None = None,
    arms: Sequence[str] | None = None,
) -> RewardTable:
    """Read a wide (time, and a column for each arm) or long (time, arm, reward) table.

    A table is long if ``arm_column`` is given, or if its columns are called time, arm and reward.

    Args:
        source: DataFrame, or path of a .csv (comma-separated) or .parquet file. Times are numbers
            or text in ISO 8601; times with a UTC offset are converted to UTC.
        time_column: Column of the times; by default, the first column.
        arm_column: Column that names the arm in a long table.
        reward_column: Column of the rewards in a long table.
        arms: Arms to use, in this order; by default, all arms.

    Raises:
        DataError: If the table cannot be used.
    """
    frame, name = read_frame(source)
    time_column = frame.columns[0] if time_column is None else time_column
    is_long = arm_column is not None or set(frame.columns) == {"time", "arm", "reward"}
    if is_long:
        arm_column, reward_column = arm_column or "arm", reward_column or "reward"
        _check_columns(frame, (time_column, arm_column, reward_column), name)
        frame = _pivoted(frame, time_column, arm_column, reward_column, name)
    else:
        _check_columns(frame, (time_column,), name)
        frame = frame.set_index(time_column)
    if arms is not None:
        _check_columns(frame, arms, name)
        frame = frame[list(arms)]
    for column in frame.columns:
        if not column or len(column) > MAX_NAME_LETTERS or not column.isprintable():
            raise DataError(
                "invalid-name",
                f"{name} has an arm with the invalid name {column[:40]!r}: expected 1 to "
                f"{MAX_NAME_LETTERS} printable characters",
            )
    if len(set(frame.columns)) < max(2, frame.shape[1]):
        raise DataError(
            "invalid-arms",
            f"{name} must have at least two arms, all with different names, got "
            f"{list(frame.columns[:10])}",
        )
    return _on_grid(frame, name)


def read_frame(source: Any) -> tuple[pd.DataFrame, str]:
    """Return the table of a DataFrame or a file, and the name of this source for messages.

    The column names of the table are strings.

    Raises:
        DataError: If the file cannot be read or is too large.
    """
    if isinstance(source, pd.DataFrame):
        frame, name = source, "the DataFrame"
        if isinstance(frame.index, pd.DatetimeIndex):
            frame = frame.reset_index()
    else:
        frame, name = _read_file(Path(os.fspath(source))), repr(os.path.basename(source))
    if frame.empty:
        raise DataError("no-data", f"{name} is empty: expected at least one row and one column")
    if frame.size > MAX_VALUES:
        raise DataError(
            "too-many-values",
            f"{name} must have at most {MAX_VALUES:,} values, got {frame.size:,}: remove columns "
            "or rows that you do not need",
        )
    return frame.set_axis([str(column) for column in frame.columns], axis=1), name


def _read_file(path: Path) -> pd.DataFrame:
    if path.suffix not in (".csv", ".parquet"):
        raise DataError(
            "wrong-format", f"{path.name!r} must end in .csv or .parquet; {OTHER_TABLES}"
        )
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise DataError(
                "file-too-large",
                f"{path.name!r} is larger than the limit, {MAX_FILE_BYTES >> 20} MiB",
            )
        if path.suffix == ".csv":
            return pd.read_csv(path)
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path) as file:
            if file.metadata.num_rows * file.metadata.num_columns > MAX_VALUES:
                raise DataError(
                    "too-many-values",
                    f"{path.name!r} must have at most {MAX_VALUES:,} values, got "
                    f"{file.metadata.num_rows * file.metadata.num_columns:,}",
                )
            return file.read().to_pandas()
    except OSError as error:
        raise DataError(
            "cannot-read" if path.exists() else "file-not-found",
            f"cannot read {str(path)!r}: {error.strerror or error}",
        ) from error
    except DataError:
        raise
    except Exception as error:  # pandas and pyarrow raise various errors for damaged files
        reason = " ".join(str(error).split())[:200]
        raise DataError(
            "damaged-file", f"cannot read {path.name!r} ({reason}); {OTHER_TABLES}"
        ) from error


def _check_columns(frame: pd.DataFrame, wanted: Sequence[str], name: str) -> None:
    for column in wanted:
        if column not in frame.columns:
            known = ", ".join(map(str, frame.columns[:10]))
            raise DataError(
                "unknown-column", f"{name} has no column {column!r}; its columns include {known}"
            )


def _pivoted(frame: pd.DataFrame, time: str, arm: str, reward: str, name: str) -> pd.DataFrame:
    """Return a long table in wide form, with the arms in order of appearance."""
    labels = frame[arm].astype(str)
    twice = pd.DataFrame({"time": frame[time], "arm": labels}).duplicated()
    if twice.any():
        row = int(twice.to_numpy().argmax())
        raise DataError(
            "repeated-times",
            f"{name} has more than one reward for the arm {labels.iloc[row]!r} at "
            f"{frame[time].iloc[row]}: expected one row for each time and arm",
        )
    wide = frame.assign(**{arm: labels}).pivot(index=time, columns=arm, values=reward)
    return wide[list(labels.unique())]


def _on_grid(frame: pd.DataFrame, name: str) -> RewardTable:
    """Return the table on a regular grid, whose step is the most common difference of times."""
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            raise DataError(
                "not-a-number",
                f"{name} has values in the column {column!r} that are not numbers; {OTHER_TABLES}",
            )
    frame = frame.set_axis(_parse_times(frame.index, name)).sort_index().astype(np.float64)
    times = frame.index
    if len(times) < 3 or times.has_duplicates:
        raise DataError(
            "repeated-times" if times.has_duplicates else "too-few-steps",
            f"{name} must have at least 3 times and no duplicate times, got {len(times)} times "
            f"(duplicates: {int(times.duplicated().sum())})",
        )
    step = pd.Series(times).diff().mode()[0]
    rows = np.asarray((times - times[0]) / step)
    wrong = np.abs(rows - rows.round()) > OFF_GRID
    if wrong.any():
        raise DataError(
            "irregular-times",
            f"{name} must have regular times: {format_time(times[int(wrong.argmax())])} is not a "
            f"whole number of steps of {step} after the first time",
        )
    n_steps = int(rows[-1].round()) + 1
    if n_steps * frame.shape[1] > MAX_VALUES:
        raise DataError(
            "too-many-values",
            f"the regular grid of {name} must have at most {MAX_VALUES:,} values, got "
            f"{n_steps * frame.shape[1]:,} with a step of {step}",
        )
    values: Array = np.full((n_steps, frame.shape[1]), np.nan)
    values[rows.round().astype(np.intp)] = frame.to_numpy()
    if np.isinf(values).any():
        raise DataError(
            "infinite-values",
            f"{name} has infinite values: replace them with finite numbers or missing values",
        )
    empty = np.isnan(values).all(0)
    if empty.any():
        raise DataError(
            "missing-values",
            f"{name} has no readings for the arm {frame.columns[int(empty.argmax())]!r}: remove "
            "this arm, or list the other arms in arms=[...]",
        )
    return RewardTable(times[0] + step * pd.RangeIndex(n_steps), tuple(frame.columns), values)


def _parse_times(column: pd.Index[Any], name: str) -> pd.Index[Any]:
    """Return times as numbers, or as timestamps in UTC without a zone."""
    try:
        times = column
        if not pd.api.types.is_numeric_dtype(column):
            times = pd.to_datetime(column, format="ISO8601", utc=True).tz_localize(None)
    except (TypeError, ValueError) as error:
        raise DataError(
            "not-a-time",
            f"the times of {name} must be numbers or text in ISO 8601 "
            f"({' '.join(str(error).partition('. You')[0].split())[:200]}); {OTHER_TABLES}",
        ) from error
    if times.hasnans:
        raise DataError(
            "missing-times", f"{name} has no time in row {int(times.isna().argmax()) + 1}"
        )
    return times


def format_time(moment: Any) -> str:
    """Return a time as text, with seconds only if they are not zero."""
    if not isinstance(moment, pd.Timestamp):
        return f"{moment:.12g}"
    return str(moment).removesuffix(":00")


def read_features(source: Any, names: Sequence[str]) -> Array:
    """Return the coordinates of every arm, shape (arms, dim), in the order of the names.

    Args:
        source: Mapping from names to coordinates, or a DataFrame or the path of a table whose first
            column names the arm and whose other columns are coordinates.
        names: Names of the arms.

    Raises:
        DataError: If an arm has no coordinates, or a coordinate is not a finite number.
    """
    if isinstance(source, Mapping):
        points = {str(name): np.atleast_1d(point) for name, point in source.items()}
    else:
        frame, _ = read_frame(source)
        rows = frame.iloc[:, 1:].to_numpy()
        points = dict(zip(frame.iloc[:, 0].astype(str), rows, strict=True))
    lacking = [name for name in names if name not in points]
    if lacking:
        raise DataError(
            "missing-coordinates", f"arm_features has no coordinates for the arm {lacking[0]!r}"
        )
    try:
        features = np.stack([np.asarray(points[name], np.float64) for name in names])
    except (TypeError, ValueError) as error:
        raise DataError(
            "invalid-coordinates",
            "arm_features must have the same number of numeric coordinates for all arms",
        ) from error
    if features.ndim != 2 or not features.shape[1] or not np.isfinite(features).all():
        raise DataError(
            "invalid-coordinates",
            "arm_features must have at least one coordinate for each arm, and only finite numbers",
        )
    return features
