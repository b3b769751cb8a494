"""Clean tables of rewards: regular times, and a column for each arm or rows of (time, arm, reward).

``periodic_decisions.tables.read_series`` reads tables that are written in other ways.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError

MAX_FILE_BYTES = 64 * 2**20
MAX_VALUES = 10_000_000
"""Readings in a table and on its grid: a year of minutes for nineteen arms."""
MAX_NAME_LETTERS = 200
OFF_GRID = 1e-3
"""Largest distance of a time from the grid, as a share of the step: room for round-off."""
OTHER_TABLES = "periodic_decisions.tables.read_series reads tables that are written otherwise"


@dataclass(frozen=True, eq=False)
class RewardTable:
    """Readings of arms at regular times ``first + i * step``.

    Attributes:
        first: The first time, a timestamp or a number.
        step: The sampling step.
        names: The names of the arms.
        values: Shape (steps, arms), NaN where nothing was measured.
    """

    first: Any
    step: Any
    names: tuple[str, ...]
    values: Array

    def at(self, index: int) -> str:
        """Return the time of a step as text."""
        return format_time(self.first + index * self.step)

    def span(self) -> str:
        """Return the first and the last time as text."""
        return f"{self.at(0)} to {self.at(len(self.values) - 1)}"

    def window(self, start: Any, steps: int | None) -> RewardTable:
        """Return the stretch of ``steps`` steps from ``start`` on.

        Raises:
            DataError: If the window is not in the data.
        """
        n = len(self.values)
        first = 0 if start is None else self._index(start)
        length = n - first if steps is None else checks.whole("steps", steps, 1)
        if first + length > n:
            raise DataError(
                f"steps must be at most {n - first:,} from {self.at(first)} on, got {length:,}: "
                f"the data end at {self.at(n - 1)}"
            )
        values = self.values[first : first + length]
        return replace(self, first=self.first + first * self.step, values=values)

    def _index(self, start: Any) -> int:
        try:
            is_number = not isinstance(self.first, pd.Timestamp)
            moment = float(start) if is_number else _utc(pd.Series([start]))[0]
            position = float((moment - self.first) / self.step)
        except (TypeError, ValueError) as error:
            example = format_time(self.first)
            raise DataError(
                f"start must be written like the times of the data, such as {example!r}, got "
                f"{start!r}"
            ) from error
        index = round(position) if np.isfinite(position) else -1
        if not 0 <= index < len(self.values) or abs(position - index) > OFF_GRID:
            raise DataError(f"start must be a time of the data, {self.span()}, got {start!r}")
        return index


def read_rewards(
    source: Any,
    *,
    time_column: str | None = None,
    arm_column: str | None = None,
    reward_column: str | None = None,
    arms: Sequence[str] | None = None,
) -> RewardTable:
    """Read a wide (time and a column for each arm) or long (time, arm, reward) table.

    A table is long if ``arm_column`` is given or its columns are called time, arm and reward.

    Args:
        source: A DataFrame, or a path to a .csv (comma-separated) or .parquet file. Times are
            ISO 8601 (those with an offset are converted to UTC) or numbers.
        time_column: The column of the times; the first one by default.
        arm_column: The column that names the arm in a long table.
        reward_column: The column of the rewards in a long table.
        arms: The arms to use, in this order; all by default.

    Raises:
        DataError: One sentence that says what is wrong.
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
            raise DataError(f"{name} has an arm whose name cannot be displayed: {column[:40]!r}")
    if len(set(frame.columns)) < max(2, frame.shape[1]):
        raise DataError(f"{name} must have at least two arms with different names")
    return _on_grid(frame, name)


def read_frame(source: Any) -> tuple[pd.DataFrame, str]:
    """Return the table of a DataFrame or a file, with text for column names, and its name.

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
        raise DataError(f"{name} is empty")
    if frame.size > MAX_VALUES:
        raise DataError(f"{name} has more than {MAX_VALUES:,} values: keep only what you need")
    return frame.set_axis([str(column) for column in frame.columns], axis=1), name


def _read_file(path: Path) -> pd.DataFrame:
    if path.suffix not in (".csv", ".parquet"):
        raise DataError(f"{path.name!r} must end in .csv or .parquet; {OTHER_TABLES}")
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise DataError(f"{path.name!r} is larger than {MAX_FILE_BYTES >> 20} MiB")
        if path.suffix == ".csv":
            return pd.read_csv(path)
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path) as file:
            if file.metadata.num_rows * file.metadata.num_columns > MAX_VALUES:
                raise DataError(f"{path.name!r} has more than {MAX_VALUES:,} values")
            return file.read().to_pandas()
    except OSError as error:
        raise DataError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    except DataError:
        raise
    except Exception as error:  # pandas and pyarrow raise nearly any kind for a damaged file
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"cannot read {path.name!r} ({reason}); {OTHER_TABLES}") from error


def _check_columns(frame: pd.DataFrame, wanted: Sequence[str], name: str) -> None:
    for column in wanted:
        if column not in frame.columns:
            known = ", ".join(map(str, frame.columns[:10]))
            raise DataError(f"{name} has no column {column!r}; it has {known}")


def _pivoted(frame: pd.DataFrame, time: str, arm: str, reward: str, name: str) -> pd.DataFrame:
    """Return a long table as a wide one, arms in order of appearance."""
    labels = frame[arm].astype(str)
    twice = pd.DataFrame({"time": frame[time], "arm": labels}).duplicated()
    if twice.any():
        row = int(twice.to_numpy().argmax())
        raise DataError(
            f"{name} has two rewards of {labels.iloc[row]!r} at {frame[time].iloc[row]}"
        )
    wide = frame.assign(**{arm: labels}).pivot(index=time, columns=arm, values=reward)
    return wide[list(labels.unique())]


def _on_grid(frame: pd.DataFrame, name: str) -> RewardTable:
    """Return the table on the regular grid of its times, in steps of the most common difference."""
    moments, values = _parse_times(frame.index.to_series(), name), _parse_values(frame, name)
    order = np.argsort(moments, kind="stable")
    moments, values = moments[order], values[order]
    gaps = np.diff(moments)
    if len(gaps) < 2 or not gaps.min() > gaps[0] * 0:
        raise DataError(f"{name} must have at least 3 different times, each of them once")
    sizes, counts = np.unique(gaps, return_counts=True)
    step = sizes[counts.argmax()]
    positions = (moments - moments[0]) / step
    rows = np.rint(positions).astype(np.intp)
    if (np.abs(positions - rows) > OFF_GRID).any():
        wrong = moments[int((np.abs(positions - rows) > OFF_GRID).argmax())]
        raise DataError(
            f"{name} must have regular times: {format_time(wrong)} is not a whole number of steps "
            f"of {pd.Timedelta(step) if _is_time(wrong) else step} after the first"
        )
    if (int(rows[-1]) + 1) * frame.shape[1] > MAX_VALUES:
        raise DataError(f"the regular grid of {name} has more than {MAX_VALUES:,} values")
    grid = np.full((int(rows[-1]) + 1, frame.shape[1]), np.nan)
    grid[rows] = values
    empty = np.isnan(grid).all(0)
    if empty.any():
        raise DataError(f"{name} has no reading of {frame.columns[int(empty.argmax())]!r}")
    if _is_time(moments[0]):
        return RewardTable(pd.Timestamp(moments[0]), pd.Timedelta(step), tuple(frame.columns), grid)
    return RewardTable(moments[0], step, tuple(frame.columns), grid)


def _parse_times(column: pd.Series[Any], name: str) -> Any:
    if pd.api.types.is_numeric_dtype(column):
        numbers = column.to_numpy(np.float64)
        if not np.isfinite(numbers).all():
            raise DataError(f"{name} has times that are not finite numbers")
        return numbers
    try:
        moments = _utc(column)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} must have times in ISO 8601 or numbers in its column {column.name!r}, got "
            f"{column.iloc[0]!r}; {OTHER_TABLES}"
        ) from error
    if moments.isna().any():
        raise DataError(f"{name} lacks a time in row {int(moments.isna().to_numpy().argmax()) + 1}")
    return moments.to_numpy()


def _parse_values(frame: pd.DataFrame, name: str) -> Array:
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            raise DataError(f"{name} has values in {column!r} that are not numbers; {OTHER_TABLES}")
    values: Array = frame.to_numpy(np.float64, na_value=np.nan)
    if np.isinf(values).any():
        raise DataError(f"{name} has infinite values")
    return values


def _utc(column: pd.Series[Any]) -> Any:
    return pd.to_datetime(column, format="ISO8601", utc=True).dt.tz_localize(None)


def _is_time(moment: Any) -> bool:
    return isinstance(moment, np.datetime64 | pd.Timestamp)


def format_time(moment: Any) -> str:
    """Return a time as text, with seconds only where there are any."""
    if not _is_time(moment):
        return f"{moment:.12g}"
    return str(pd.Timestamp(moment)).removesuffix(":00")


def read_features(source: Any, names: Sequence[str]) -> Array:
    """Return the coordinates of every arm, shape (arms, dim), in the order of the names.

    Args:
        source: A mapping from name to coordinates, or a DataFrame or path to a table whose first
            column names the arm and whose other columns are coordinates.
        names: The arms.

    Raises:
        DataError: If an arm lacks coordinates, or one is not a finite number.
    """
    if isinstance(source, Mapping):
        points = {str(name): np.atleast_1d(point) for name, point in source.items()}
    else:
        frame, _ = read_frame(source)
        rows = frame.iloc[:, 1:].to_numpy()
        points = dict(zip(frame.iloc[:, 0].astype(str), rows, strict=True))
    lacking = [name for name in names if name not in points]
    if lacking:
        raise DataError(f"arm_features has no coordinates of {lacking[0]!r}")
    try:
        features = np.stack([np.asarray(points[name], np.float64) for name in names])
    except (TypeError, ValueError) as error:
        raise DataError("arm_features must give equally many numbers for each arm") from error
    if features.ndim != 2 or not features.shape[1] or not np.isfinite(features).all():
        raise DataError("arm_features must give finite numbers, at least one for each arm")
    return features
