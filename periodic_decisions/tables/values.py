"""What stands in a column: numbers or words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute

from periodic_decisions.tables.formats import Table, as_text
from periodic_decisions.tables.report import count
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError

MAX_TOLD = 5
"""How many columns, and how many words of each, a message names."""
MISSING = frozenset(("", "-", "?", "na", "n/a", "nan", "none", "null", "nat"))
"""How people write that there is nothing, in small letters."""
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?|[+-]?inf(inity)?", re.ASCII | re.I)
_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_POINT = re.compile(r"\s*[+-]?(\d+\.\d*|\.\d+|\d{1,3}(\.\d{3})+)\s*", re.ASCII)
_LIKE_NUMBER = re.compile(r"[+-]?\d[\d.,' \u00a0\u202f]*")
_BOTH = re.compile(r"(?=.*,)(?=.*\.)[^A-Za-z]*")
"""What may be a number with both marks."""
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
_GROUPED = {
    ",": re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?", re.ASCII),
    ".": re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", re.ASCII),
}
"""Numbers with thousands separators, by their decimal mark."""


@dataclass(frozen=True)
class Marks:
    """How numbers are written.

    Attributes:
        decimal: the decimal mark.
        thousands: whether the other mark separates thousands.
    """

    decimal: str = "."
    thousands: bool = False

    def lines(self) -> list[str]:
        """In words, where it is not as usual."""
        if self.thousands:
            return [f"numbers are written like {'1.234,5' if self.decimal == ',' else '1,234.5'}"]
        return ["the decimal mark is a comma"] if self.decimal == "," else []


def is_number(values: pd.Series) -> bool:
    """Whether most of the first hundred values that are not empty hold numbers."""
    if pd.api.types.is_numeric_dtype(values):
        return True
    words = sample(values)
    forms = (_PLAIN, _COMMA, *_GROUPED.values())
    numbers = sum(any(form.fullmatch(word) for form in forms) for word in words)
    return 2 * numbers >= len(words)


def sample(values: pd.Series) -> list[str]:
    """The first hundred values that are not empty."""
    words = as_text(values.dropna().iloc[:1000])
    return [word for word in words if word.lower() not in MISSING][:100]


def find_marks(table: Table, names: list[str], decimal: str | None) -> Marks:
    """How the number columns are written: with a comma only where it can be nothing else."""
    if decimal not in (None, ".", ","):
        raise DataError(f"decimal must be '.' or ',', got {decimal!r}")
    if table.lines is None:
        return Marks(decimal or ".")
    columns = [table.columns[name] for name in names]
    commas = [word.strip() for c in columns for word in c[c.str.contains(",", regex=False)]]
    # With both marks in a number there is no doubt which is which; words are no numbers.
    both = [word for word in commas if _BOTH.fullmatch(word)]
    for mark in (decimal,) if decimal else (",", "."):
        if both and all(_GROUPED[mark].fullmatch(word) for word in both):
            return Marks(mark, thousands=True)
    return Marks(decimal or _find_decimal(table, columns, commas))


def _find_decimal(table: Table, columns: list[pd.Series], commas: list[str]) -> str:
    commas = [word for word in commas if _COMMA.fullmatch(word)]
    if not commas:
        return "."
    if any(column.str.fullmatch(_POINT).any() for column in columns):
        return "."  # then the values with a comma are refused as what they are, no numbers
    if all(_THOUSANDS.fullmatch(word) for word in commas):
        raise DataError(
            f"{table.source} has numbers like {commas[0]!r}, which may be read in two ways: write "
            "them without thousands separators, or give decimal=','"
        )
    return ","


def parse_numbers(table: Table, name: str, marks: Marks) -> Array:
    """The column as numbers, NaN where there is nothing."""
    values = table.columns[name]
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_complex_dtype(values):
        numbers: Array = values.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        numbers = _parse_words(table, name, marks)
    if np.isinf(numbers).any():
        row = int(np.flatnonzero(np.isinf(numbers))[0])
        raise DataError(f"{table.place(row)} has an infinite value in column {name!r}")
    return numbers


def parse_all(table: Table, names: Sequence[str], marks: Marks) -> list[Array]:
    """The columns as numbers; what is wrong with them is told of all at once."""
    found, wrong = [], []
    for name in names:
        try:
            found.append(parse_numbers(table, name, marks))
        except DataError as error:
            wrong.append(str(error))
    if wrong:
        more = (
            f"; and {count(len(wrong) - MAX_TOLD, 'column')} more" if len(wrong) > MAX_TOLD else ""
        )
        raise DataError("; ".join(wrong[:MAX_TOLD]) + more)
    return found


def _parse_words(table: Table, name: str, marks: Marks) -> Array:
    values = table.columns[name]
    if not marks.thousands:
        try:
            plain = pa.compute.cast(pa.array(values, pa.string()), pa.float64())
            return np.array(plain, dtype=np.float64)
        except (pa.ArrowException, TypeError):
            pass  # gaps, spaces, decimal commas or mistakes: value by value
    words = as_text(values)
    found = [_number(word, marks) for word in words]
    wrong = [row for row, number in enumerate(found) if number is None]
    if wrong:
        raise DataError(_refusal(table, name, words, wrong))
    return np.array(found, dtype=np.float64)


def _refusal(table: Table, name: str, words: list[str], wrong: list[int]) -> str:
    """What is no number in a column: how much of it, and where each word stands first."""
    rows: dict[str, list[int]] = {}
    for row in wrong:
        rows.setdefault(words[row][:40], []).append(row)
    if all(_LIKE_NUMBER.fullmatch(word) for word in rows):
        advice = "write numbers without thousands separators, and all with one decimal mark"
    else:
        given = ", ".join(map(repr, list(rows)[:MAX_TOLD]))
        advice = f"mend it, or give na_values=[{given}] if nothing was measured"
    if len(wrong) == 1:
        return (
            f"{table.place(wrong[0])} has {words[wrong[0]][:40]!r} in column {name!r}, which is "
            f"not a number: {advice}"
        )
    told = [
        f"{word!r} ({count(len(at), 'time')}, first in {table.place(at[0]).partition(' of ')[0]})"
        for word, at in list(rows.items())[:MAX_TOLD]
    ]
    more = f" and {len(rows) - MAX_TOLD:,} other words" if len(rows) > MAX_TOLD else ""
    return (
        f"column {name!r} of {table.source} has {len(wrong):,} values that are not numbers, "
        f"{', '.join(told)}{more}: {advice}"
    )


def _number(word: str, marks: Marks) -> float | None:
    if marks.thousands and _GROUPED[marks.decimal].fullmatch(word):
        word = word.replace("." if marks.decimal == "," else ",", "")
    elif marks.thousands and marks.decimal == "," and "." in word:
        return None
    if marks.decimal == "," and _COMMA.fullmatch(word):
        return float(word.replace(",", "."))
    if _PLAIN.fullmatch(word):
        return float(word)
    return np.nan if word.lower() in MISSING else None
