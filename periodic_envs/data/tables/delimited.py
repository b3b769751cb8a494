"""Text files whose fields are separated by commas, semicolons or tabs."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv

from periodic_envs.data.errors import DataError
from periodic_envs.data.tables.limits import check_size, clean_names

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
_SAID = re.compile(r"sep=([,;\t])\s*", re.I)
"""What Excel writes above the header."""


@dataclass(frozen=True)
class Fields:
    """The fields of a file as text.

    Attributes:
        columns: the fields of each column, by name.
        lines: number of the line that each row stands in.
        separator: what stands between fields.
    """

    columns: dict[str, pd.Series]
    lines: list[int]
    separator: str


def parse(name: str, content: bytes, separator: str | None) -> Fields:
    """The fields of a CSV file; empty lines are passed over."""
    every = _decode(name, content).splitlines()
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
    return Fields(dict(zip(header, columns, strict=True)), numbers[1:], separator)


def _columns(
    name: str, lines: list[str], width: int, separator: str, numbers: list[int]
) -> list[pd.Series]:
    """The fields of each column as text; Arrow's reader is ten times as quick as Python's."""
    broken: list[Any] = []

    def note(row: Any) -> str:
        broken.append(row)
        return "skip"

    labels = [str(i) for i in range(width)]
    content = "\n".join(lines).encode()
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(content),
            read_options=arrow_csv.ReadOptions(
                use_threads=False, block_size=len(content) + 1, column_names=labels
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=separator, invalid_row_handler=note),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(labels, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowException as error:
        raise DataError(f"{name!r} is not a proper CSV file") from error
    if broken or len(table) != len(lines):
        raise DataError(_first_broken(name, lines, width, separator, numbers))
    return [table.column(i).to_pandas() for i in range(width)]


def _first_broken(
    name: str, lines: list[str], width: int, separator: str, numbers: list[int]
) -> str:
    for line, number in zip(lines, numbers, strict=True):
        found = len(_split(line, separator))
        if found != width:
            return f"line {number} of {name!r} has {found} fields, but the header has {width}"
    return f"{name!r} has a line break or an open quotation mark within a field"


def _decode(name: str, content: bytes) -> str:
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name!r} is not UTF-8 text (byte {error.start}): save it as 'CSV UTF-8'"
        ) from error
    if "\0" in text:
        raise DataError(f"{name!r} is not text but binary: only CSV and Parquet are read")
    return text


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
