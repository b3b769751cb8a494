"""Numbers as people write them, and words for missing values: -999, "closed", "n.v."."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute

from periodic_decisions.tables.files import RawTable, as_text
from periodic_envs.arrays import Array
from periodic_envs.data.errors import DataError

MAX_NAMED = 5  # columns, and words of each, in a message
MISSING = frozenset(("", "-", "?", "na", "n/a", "nan", "none", "null", "nat"))  # in small letters
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?|[+-]?inf(inity)?", re.ASCII | re.I)
_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_POINT = re.compile(r"\s*[+-]?(\d+\.\d*|\.\d+|\d{1,3}(\.\d{3})+)\s*", re.ASCII)
_LIKE_NUMBER = re.compile(r"[+-]?\d[\d.,' \u00a0\u202f]*")
_BOTH = re.compile(r"(?=.*,)(?=.*\.)[^A-Za-z]*")  # perhaps a number with both marks
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
_GROUPED = {  # numbers with thousands separators, by their decimal mark
    ",": re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?", re.ASCII),
    ".": re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", re.ASCII),
}


@dataclass(frozen=True)
class Marks:
    """Decimal mark of a table's numbers, and whether the other mark separates thousands."""

    decimal: str = "."
    thousands: bool = False

    def lines(self) -> list[str]:
        """Describe unusual marks."""
        if self.thousands:
            return [f"numbers are written like {'1.234,5' if self.decimal == ',' else '1,234.5'}"]
        return ["the decimal mark is a comma"] if self.decimal == "," else []


def count(number: int, word: str) -> str:
    """Return a number with its noun: "1 step", "2,000 steps"."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return names in a row, the first of them if there are many."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def absent_words(na_values: str | float | Sequence[str | float] | None) -> tuple[str, ...]:
    """Return the user's words for missing values in small letters."""
    if na_values is None:
        return ()
    if isinstance(na_values, str | int | float):
        na_values = [na_values]
    try:
        words = [str(word).strip().lower() for word in na_values]
    except TypeError as error:
        raise DataError(f"na_values must be a list of words, got {na_values!r}") from error
    return tuple(dict.fromkeys(word for word in words if word))


def blanked(column: pd.Series, words: tuple[str, ...]) -> pd.Series:
    """Return the column without these words and numbers."""
    numbers = pd.to_numeric(pd.Series(words, dtype=object), errors="coerce").dropna()
    if pd.api.types.is_datetime64_any_dtype(column):
        return column
    if pd.api.types.is_numeric_dtype(column):
        return column.astype(np.float64).mask(column.isin(numbers)) if len(numbers) else column
    texts = pd.Series(as_text(column), index=column.index, dtype=object)
    gone = texts.str.lower().isin(words)
    if len(numbers):  # -999.0 is -999, too
        gone |= pd.to_numeric(texts.str.replace(",", "."), errors="coerce").isin(numbers)
    return texts.mask(gone, "").astype(str) if gone.any() else column


def is_number(values: pd.Series) -> bool:
    """Return whether most of the first hundred values that are not empty hold numbers."""
    if pd.api.types.is_numeric_dtype(values):
        return True
    words = sample(values)
    forms = (_PLAIN, _COMMA, *_GROUPED.values())
    return 2 * sum(any(form.fullmatch(word) for form in forms) for word in words) >= len(words)


def sample(values: pd.Series) -> list[str]:
    """Return the first hundred values that are not empty."""
    words = as_text(values.dropna().iloc[:1000])
    return [word for word in words if word.lower() not in MISSING][:100]


def find_marks(table: RawTable, names: list[str], decimal: str | None) -> Marks:
    """Find the marks of the number columns: a decimal comma only where it is unmistakable."""
    if decimal not in (None, ".", ","):
        raise DataError(f"decimal must be '.' or ',', got {decimal!r}")
    if table.lines is None:
        return Marks(decimal or ".")
    columns = [table.columns[name] for name in names]
    commas = [word.strip() for c in columns for word in c[c.str.contains(",", regex=False)]]
    # With both marks in a number it is clear which is which; words are not numbers.
    both = [word for word in commas if _BOTH.fullmatch(word)]
    for mark in (decimal,) if decimal else (",", "."):
        if both and all(_GROUPED[mark].fullmatch(word) for word in both):
            return Marks(mark, thousands=True)
    commas = [word for word in commas if _COMMA.fullmatch(word)]
    # Beside decimal points, values with a comma are refused later: they are not numbers.
    if decimal or not commas or any(column.str.fullmatch(_POINT).any() for column in columns):
        return Marks(decimal or ".")
    if all(_THOUSANDS.fullmatch(word) for word in commas):
        raise DataError(
            f"{table.source} has numbers like {commas[0]!r}, which may be read in two ways: write "
            "them without thousands separators, or give decimal=','"
        )
    return Marks(",")


def parse_numbers(table: RawTable, name: str, marks: Marks) -> Array:
    """Return the column as numbers, NaN where a value is missing."""
    values = table.columns[name]
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_complex_dtype(values):
        numbers: Array = values.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        numbers = _parse_words(table, name, marks)
    if np.isinf(numbers).any():
        row = int(np.isinf(numbers).argmax())
        raise DataError(f"{table.place(row)} has an infinite value in column {name!r}")
    return numbers


def parse_all(table: RawTable, names: Sequence[str], marks: Marks) -> list[Array]:
    """Return the columns as numbers; one message names the errors of all columns."""
    found, wrong = [], []
    for name in names:
        try:
            found.append(parse_numbers(table, name, marks))
        except DataError as error:
            wrong.append(str(error))
    if wrong:
        more = len(wrong) - MAX_NAMED
        rest = f"; and {count(more, 'column')} more" if more > 0 else ""
        raise DataError("; ".join(wrong[:MAX_NAMED]) + rest)
    return found


def _parse_words(table: RawTable, name: str, marks: Marks) -> Array:
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


def _refusal(table: RawTable, name: str, words: list[str], wrong: list[int]) -> str:
    """Describe the values of a column that are not numbers, each with its first place."""
    rows: dict[str, list[int]] = {}
    for row in wrong:
        rows.setdefault(words[row][:40], []).append(row)
    if all(_LIKE_NUMBER.fullmatch(word) for word in rows):
        advice = "write numbers without thousands separators, and all with one decimal mark"
    else:
        first = ", ".join(map(repr, list(rows)[:MAX_NAMED]))
        advice = f"correct it, or give na_values=[{first}] if nothing was measured"
    if len(wrong) == 1:
        where, word = table.place(wrong[0]), words[wrong[0]][:40]
        return f"{where} has {word!r} in column {name!r}, which is not a number: {advice}"
    named = [
        f"{word!r} ({count(len(at), 'time')}, first in {table.place(at[0]).partition(' of ')[0]})"
        for word, at in rows.items()
    ]
    more = len(rows) - MAX_NAMED
    rest = f" and {more:,} other words" if more > 0 else ""
    return (
        f"column {name!r} of {table.source} has {len(wrong):,} values that are not numbers, "
        f"{', '.join(named[:MAX_NAMED])}{rest}: {advice}"
    )


def _number(word: str, marks: Marks) -> float | None:
    if marks.thousands and _GROUPED[marks.decimal].fullmatch(word):
        word = word.replace("." if marks.decimal == "," else ",", "")
    elif marks.thousands and marks.decimal == "," and "." in word:
        return None
    if marks.decimal == "," and _COMMA.fullmatch(word):
        word = word.replace(",", ".")
    if _PLAIN.fullmatch(word):
        return float(word)
    return np.nan if word.lower() in MISSING else None
