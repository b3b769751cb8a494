"""Raw tables from users' files and DataFrames, whose sizes, text and names are untrusted.

Columns of CSV files hold text; columns of Parquet files and DataFrames keep their types.
:mod:`.roles` assigns roles to the columns.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from periodic_envs.data.errors import DataError

MAX_BYTES = 64 * 2**20
MAX_VALUES = 10_000_000  # rows times columns, in a file and on the grid
MAX_COLUMNS = 2_000
MAX_NAME_LETTERS = 200
UNNAMED = "column 1"  # name for a first column without a name, which is usually a saved index
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class RawTable:
    """Named columns of equal length.

    Attributes:
        source: Name of the table in messages.
        columns: Values of each column, by name.
        lines: Line number of each row; None for sources without line numbers.
        notes: Guesses made while reading, as text.
        absent: The user's words for missing values, in lower case.
    """

    source: str
    columns: dict[str, pd.Series]
    lines: Sequence[int] | None = None
    notes: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    def place(self, row: int) -> str:
        """Return the row or line number of a row with the name of the table, for messages."""
        where = f"row {row}" if self.lines is None else f"line {self.lines[row]}"
        return f"{where} of {self.source}"

    def without(self, names: Sequence[str | None]) -> RawTable:
        """Return the table without the named columns."""
        columns = {name: column for name, column in self.columns.items() if name not in names}
        return replace(self, columns=columns)


def read_table(
    source: Any,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    na_values: str | float | Sequence[str | float] | None = None,
) -> RawTable:
    """Read a table from a path (.csv, .tsv, .txt, .parquet) or a DataFrame.

    Raises:
        DataError: If the source cannot be read, is too large, or is not a table.
    """
    if isinstance(source, pd.DataFrame):
        table = _from_frame(source)
    elif isinstance(source, str | os.PathLike):
        table = _from_file(Path(source), separator, encoding)
    else:
        raise DataError(
            "wrong-type", f"data must be a path or a DataFrame, got {type(source).__name__}"
        )
    words = [na_values] if isinstance(na_values, str | int | float) else na_values or ()
    return replace(table, absent=tuple(str(word).strip().lower() for word in words))


def _from_file(path: Path, separator: str | None, encoding: str | None) -> RawTable:
    """Read a table from a regular file of at most ``MAX_BYTES`` bytes."""
    if path.exists() and not path.is_file():
        raise DataError("not-a-file", f"{str(path)!r} is not a regular file")
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a valid path"
        raise DataError(
            "file-not-found" if isinstance(error, FileNotFoundError) else "cannot-read",
            f"cannot read {str(path)!r}: {reason}",
        ) from error
    if len(content) > MAX_BYTES:
        raise DataError(
            "file-too-large",
            f"{path.name!r} is larger than {MAX_BYTES >> 20} MiB: keep only the columns and times "
            "that you need, or pass a DataFrame",
        )
    if path.suffix.lower() in (".parquet", ".pq"):
        return _from_parquet(path.name, content)
    if path.suffix.lower() in (".csv", ".tsv", ".txt"):
        return _from_text(path.name, content, separator, encoding)
    raise DataError(
        "unknown-file-type",
        f"unknown file type of {path.name!r}: the name must end in .csv, .tsv, .txt, .parquet or "
        ".pq",
    )


def check_name(name: str, place: str) -> None:
    """Raise an error for a name that is empty, too long or not printable."""
    if not 0 < len(name) <= MAX_NAME_LETTERS or not name.isprintable():
        raise DataError(
            "invalid-name",
            f"{place} has an invalid name: expected 1 to {MAX_NAME_LETTERS} printable characters, "
            f"got {name[:40]!r}",
        )


def check_size(source: str, n_columns: int, n_values: int) -> None:
    """Raise an error for a table that would need too much memory."""
    if n_columns > MAX_COLUMNS or n_values > MAX_VALUES:
        raise DataError(
            "table-too-large",
            f"{source} has more than {MAX_COLUMNS:,} columns or {MAX_VALUES:,} values: keep only "
            "the columns and times that you need",
        )


def as_text(values: pd.Series) -> list[str]:
    """Return the values as stripped text, "" where missing."""
    missing = values.isna().to_numpy()
    pairs = zip(values.tolist(), missing, strict=True)
    return ["" if gone else str(value).strip() for value, gone in pairs]


def _clean_names(names: list[Any], source: str) -> list[str]:
    """Return the column names without superfluous spaces, and check them.

    Names must be printable and distinct. If the first name is empty, it is replaced by ``UNNAMED``.
    """
    cleaned = [" ".join(str(name).split()) for name in names]
    if cleaned and not cleaned[0]:
        cleaned[0] = UNNAMED
    for i, name in enumerate(cleaned):
        check_name(name, f"column {i + 1} of {source}")
        if name in cleaned[:i]:
            raise DataError(
                "repeated-names", f"{source} has two columns named {name!r}: rename one of them"
            )
    return cleaned


def _decode(name: str, content: bytes, encoding: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the text of a file, and a note if its encoding is a guess.

    If no encoding is given, a file with a byte-order mark of UTF-16 is decoded as UTF-16, and other
    files with the first of UTF-8, cp1252 and Latin-1 that succeeds.
    """
    marked = "utf-16" if content.startswith(UTF_16_MARKS) else "utf-8"
    for known in [encoding] if encoding else [marked, "cp1252", "latin-1"]:
        try:
            text = content.decode(known).removeprefix("\ufeff")
        except UnicodeError:
            continue
        except (LookupError, ValueError) as error:
            raise DataError(
                "unknown-encoding",
                f"unknown encoding {encoding!r}: expected, for example, utf-8, cp1252, latin-1 or "
                "utf-16",
            ) from error
        if "\0" in text:
            raise DataError(
                "binary-file",
                f"{name!r} is a binary file: only CSV and Parquet files can be read",
            )
        if known in (encoding, marked):
            return text, ()
        note = f"the text is not UTF-8 and was read as {known}: if characters look wrong, give an"
        return text, (f"{note} encoding",)
    raise DataError(
        "wrong-encoding", f"{name!r} is not text in {encoding}: give a different encoding"
    )


def _from_text(name: str, content: bytes, separator: str | None, encoding: str | None) -> RawTable:
    """Return the table in a CSV file, with values as text and without empty lines."""
    text, notes = _decode(name, content, encoding)
    rows = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if len(rows) < 2:
        raise DataError("empty-table", f"{name!r} is empty, or has no rows below the header")
    numbers, lines = zip(*rows, strict=True)
    separator = separator or _find_separator(name, lines[:20])
    if separator not in SEPARATORS:
        raise DataError(
            "invalid-option", f"separator must be one of {list(SEPARATORS)}, got {separator!r}"
        )
    header = _clean_names(_split(lines[0], separator), repr(name))
    check_size(repr(name), len(header), len(header) * len(lines))
    columns = _columns(name, lines, len(header), separator, numbers)
    note = f"fields are separated by a {SEPARATORS[separator]}"
    return RawTable(
        repr(name), dict(zip(header, columns, strict=True)), numbers[1:], (note, *notes)
    )


def _columns(
    name: str, lines: Sequence[str], width: int, separator: str, numbers: Sequence[int]
) -> list[pd.Series]:
    """Return the columns as text; Arrow's reader is ten times faster than Python's."""
    labels = [str(i) for i in range(width)]
    content = "\n".join(lines).encode()
    wrong: list[Any] = []

    def skip(row: Any) -> str:
        wrong.append(row)
        return "skip"

    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(content),
            read_options=arrow_csv.ReadOptions(
                use_threads=False, block_size=len(content) + 1, column_names=labels, skip_rows=1
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=separator, invalid_row_handler=skip),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(labels, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowException as error:
        raise DataError("damaged-file", f"{name!r} cannot be parsed as a CSV file") from error
    if wrong:
        raise DataError(
            "wrong-field-count",
            f"line {numbers[wrong[0].number - 1]} of {name!r} has {wrong[0].actual_columns} "
            f"fields, but the header has {width}",
        )
    if len(table) != len(lines) - 1:
        raise DataError(
            "open-quotation",
            f"{name!r} has a field with a line break or an unclosed quotation mark: correct the "
            "file",
        )
    return [table.column(i).to_pandas() for i in range(width)]


def _find_separator(name: str, lines: Sequence[str]) -> str:
    """Return the separator that splits each of the given lines into the same number of fields.

    If several separators or none do so, the only separator that occurs in the header is returned.
    """
    widths = {s: {len(_split(line, s)) for line in lines} for s in SEPARATORS}
    fits = [s for s, counts in widths.items() if len(counts) == 1 and counts != {1}]
    present = [separator for separator in SEPARATORS if separator in lines[0]]
    if len(fits) == 1 or len(present) == 1:
        return (fits if len(fits) == 1 else present)[0]
    if not present:
        raise DataError(
            "too-few-columns",
            f"{name!r} has a single column, but a time and at least two arms are required",
        )
    raise DataError(
        "ambiguous-separator",
        f"the separator of {name!r} is ambiguous: give separator="
        + " or ".join(map(repr, present)),
    )


def _split(line: str, separator: str) -> list[str]:
    """Return the fields of one line."""
    try:
        return next(csv.reader([line], delimiter=separator))
    except csv.Error:  # a field longer than Python's limit
        return line.split(separator)


def _from_parquet(name: str, content: bytes) -> RawTable:
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        schema, facts = file.schema_arrow, file.metadata
        sizes = [facts.row_group(i).total_byte_size for i in range(facts.num_row_groups)]
        check_size(name, len(schema), len(schema) * facts.num_rows)
        if sum(max(size, 0) for size in sizes) > 4 * MAX_BYTES:
            raise DataError(
                "file-too-large",
                f"{name!r} has more than {4 * MAX_BYTES >> 20} MiB when unpacked: keep only the "
                "columns and times that you need",
            )
        for field in schema:
            if pa.types.is_nested(field.type):
                raise DataError(
                    "nested-values",
                    f"column {field.name!r} of {name!r} has nested values instead of scalars",
                )
        # Text stays dictionary-encoded, so that a small file cannot expand in memory.
        words = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_binary(f.type)]
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=words)
        return _from_frame(file.read().to_pandas(ignore_metadata=False), repr(name))
    except DataError:
        raise
    except Exception as error:  # Arrow raises various errors on invalid files
        raise DataError("damaged-file", f"{name!r} cannot be read as a Parquet file") from error


def _from_frame(frame: pd.DataFrame, source: str = "the DataFrame") -> RawTable:
    if frame.columns.nlevels > 1 or frame.index.nlevels > 1:
        raise DataError(
            "several-levels",
            f"{source} has a MultiIndex: flatten its columns, or call reset_index() for its rows",
        )
    if not len(frame):
        raise DataError("empty-table", f"{source} has no rows")
    check_size(source, frame.shape[1] + 1, frame.size)
    index = frame.index
    if index.name is not None or isinstance(index, pd.DatetimeIndex):
        name = "time" if index.name is None else index.name
        frame = frame.reset_index(names=name, allow_duplicates=True)
    columns = [frame.iloc[:, i].reset_index(drop=True) for i in range(frame.shape[1])]
    names = _clean_names(list(frame.columns), source)
    return RawTable(source, dict(zip(names, columns, strict=True)))
