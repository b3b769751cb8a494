"""Other people's files as tables. Nothing in a file is trusted: neither sizes, nor text, nor names.

A CSV table holds text, a Parquet table or a DataFrame what it was given; what the columns mean is
decided elsewhere (:mod:`periodic_envs.data.tables.columns`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from periodic_envs.data.errors import DataError
from periodic_envs.data.tables.delimited import SEPARATORS, parse
from periodic_envs.data.tables.limits import MAX_BYTES, check_size, clean_names, read_bytes


@dataclass(frozen=True)
class Table:
    """Named columns of equal length.

    Attributes:
        source: what messages call it.
        columns: the values of each column, by name.
        lines: number of the line that each row stands in; None where there are no lines.
        notes: what was found out while reading, in words.
    """

    source: str
    columns: dict[str, pd.Series]
    lines: Sequence[int] | None = None
    notes: tuple[str, ...] = ()

    def place(self, row: int) -> str:
        """Where a row is found by who wants to mend it."""
        if self.lines is None:
            return f"row {row} of {self.source}"
        return f"line {self.lines[row]} of {self.source}"


def read_table(source: Any, *, separator: str | None = None) -> Table:
    """A table from a path (.csv, .tsv, .txt, .parquet) or a DataFrame.

    Raises:
        DataError: if it cannot be read, is too large, or is no table.
    """
    if isinstance(source, pd.DataFrame):
        return _from_frame(source)
    if not isinstance(source, str | os.PathLike):
        raise DataError(f"data must be a path or a DataFrame, got {type(source).__name__}")
    path = Path(source)
    content = read_bytes(path)
    ending = path.suffix.lower()
    if ending in (".parquet", ".pq"):
        return _from_parquet(path, content)
    if ending in (".csv", ".tsv", ".txt"):
        return _from_text(path.name, content, separator)
    raise DataError(
        f"cannot tell the format of {path.name!r}: its name must end in .csv, .tsv, .txt, "
        ".parquet or .pq"
    )


def _from_text(name: str, content: bytes, separator: str | None) -> Table:
    fields = parse(name, content, separator)
    note = f"fields are separated by a {SEPARATORS[fields.separator]}"
    return Table(source=repr(name), columns=fields.columns, lines=fields.lines, notes=(note,))


def _from_parquet(path: Path, content: bytes) -> Table:
    name = path.name
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        schema, facts = file.schema_arrow, file.metadata
        groups = [facts.row_group(i) for i in range(facts.num_row_groups)]
        size = sum(max(group.total_byte_size, 0) for group in groups)
        check_size(name, len(schema), len(schema) * facts.num_rows)
        if size > 4 * MAX_BYTES:
            raise DataError(f"{name!r} unpacks to more than {4 * MAX_BYTES >> 20} MiB")
        for field in schema:
            if pa.types.is_nested(field.type):
                raise DataError(f"column {field.name!r} of {name!r} holds lists, not single values")
        # Text stays a dictionary: a short file cannot unpack to a long one.
        words = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_binary(f.type)]
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=words)
        frame = file.read().to_pandas(ignore_metadata=False)
    except DataError:
        raise
    except Exception as error:  # Arrow raises many kinds on junk
        raise DataError(f"{name!r} is not a readable Parquet file") from error
    return _from_frame(frame, repr(name))


def _from_frame(frame: pd.DataFrame, source: str = "the DataFrame") -> Table:
    if frame.columns.nlevels > 1 or frame.index.nlevels > 1:
        raise DataError(f"{source} has several levels of rows or columns: call reset_index() first")
    if not len(frame):
        raise DataError(f"{source} has no rows")
    check_size(source, frame.shape[1] + 1, frame.size)
    names, series = list(frame.columns), [frame.iloc[:, i] for i in range(frame.shape[1])]
    index = frame.index
    if index.name is not None or isinstance(index, pd.DatetimeIndex):
        names.insert(0, index.name if index.name is not None else "time")
        series.insert(0, index.to_series())
    header = clean_names(names, source)
    plain = [column.reset_index(drop=True) for column in series]
    return Table(source=source, columns=dict(zip(header, plain, strict=True)))


def as_text(values: pd.Series) -> list[str]:
    """The values as stripped words, "" where there is none."""
    missing = values.isna().to_numpy()
    plain = values.tolist()
    if missing.any():
        plain = ["" if gone else value for value, gone in zip(plain, missing, strict=True)]
    return [str(value).strip() for value in plain]
