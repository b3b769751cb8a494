"""Other people's files as tables. Nothing in a file is trusted: neither sizes, nor text, nor names.

A CSV table holds text, a Parquet table or a DataFrame what it was given; what the columns mean is
decided elsewhere (:mod:`periodic_decisions.tables.columns`).
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from periodic_decisions.tables.limits import MAX_BYTES, check_size, clean_names, read_bytes
from periodic_decisions.tables.text import decode
from periodic_envs.data.errors import DataError

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
_SAID = re.compile(r"sep=([,;\t])\s*", re.I)
"""What Excel writes above the header."""


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


def read_table(source: Any, *, separator: str | None = None, encoding: str | None = None) -> Table:
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
        return _from_text(path.name, content, separator, encoding)
    raise DataError(
        f"cannot tell the format of {path.name!r}: its name must end in .csv, .tsv, .txt, "
        ".parquet or .pq"
    )


def _from_text(name: str, content: bytes, separator: str | None, encoding: str | None) -> Table:
    """The fields of a CSV file as text; empty lines are passed over."""
    text, notes = decode(name, content, encoding)
    every = text.splitlines()
    numbers = [number for number, line in enumerate(every, 1) if line.strip()]
    lines = [line for line in every if line.strip()]
    said = _SAID.fullmatch(lines[0]) if lines else None
    if said:
        separator, lines, numbers = separator or said[1], lines[1:], numbers[1:]
    if not lines:
        raise DataError(f"{name!r} is empty")
    separator = separator or _find_separator(name, lines[:20])
    if separator not in SEPARATORS:
        raise DataError(f"separator must be one of {list(SEPARATORS)}, got {separator!r}")
    header = clean_names(_split(lines[0], separator), repr(name))
    if len(lines) == 1:
        raise DataError(f"{name!r} has a header but no rows below it")
    check_size(repr(name), len(header), len(header) * len(lines))
    columns = _columns(name, lines[1:], len(header), separator, numbers[1:])
    note = f"fields are separated by a {SEPARATORS[separator]}"
    named = dict(zip(header, columns, strict=True))
    return Table(repr(name), named, numbers[1:], (note, *notes))


def _columns(
    name: str, lines: list[str], width: int, separator: str, numbers: list[int]
) -> list[pd.Series]:
    """The fields of each column as text; Arrow's reader is ten times as quick as Python's."""
    labels = [str(i) for i in range(width)]
    content = "\n".join(lines).encode()
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(content),
            read_options=arrow_csv.ReadOptions(
                use_threads=False, block_size=len(content) + 1, column_names=labels
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=separator, invalid_row_handler=lambda row: "skip"
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(labels, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowException as error:
        raise DataError(f"{name!r} is not a proper CSV file") from error
    if len(table) == len(lines):
        return [table.column(i).to_pandas() for i in range(width)]
    for line, number in zip(lines, numbers, strict=True):
        found = len(_split(line, separator))
        if found != width:
            raise DataError(
                f"line {number} of {name!r} has {found} fields, but the header has {width}"
            )
    raise DataError(f"{name!r} has a line break or an open quotation mark within a field")


def _find_separator(name: str, lines: list[str]) -> str:
    """The one that cuts the first lines into equally many fields, more than one."""
    widths = {s: {len(_split(line, s)) for line in lines} for s in SEPARATORS}
    fits = [s for s, found in widths.items() if len(found) == 1 and found != {1}]
    present = [separator for separator in SEPARATORS if separator in lines[0]]
    if len(fits) == 1:
        return fits[0]
    if len(present) == 1:
        return present[0]  # some line is broken: reading on says which
    if not present:
        raise DataError(f"{name!r} has a single column: a time and at least two arms are needed")
    raise DataError(
        f"cannot tell what separates the fields of {name!r}: give separator="
        + " or ".join(map(repr, present))
    )


def _split(line: str, separator: str) -> list[str]:
    """The fields of one line."""
    try:
        return next(csv.reader([line], delimiter=separator))
    except csv.Error:  # a field longer than Python's limit
        return line.split(separator)


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
