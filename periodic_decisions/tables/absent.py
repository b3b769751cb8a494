"""Values that stand for nothing: -999, "closed", "n.v." and whatever else people write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from periodic_decisions.tables.formats import Table, as_text
from periodic_envs.data.errors import DataError


def checked_words(na_values: str | float | Sequence[str | float] | None) -> tuple[str, ...]:
    """What stands for nothing, as words in small letters."""
    if na_values is None:
        return ()
    if isinstance(na_values, str | int | float):
        na_values = [na_values]
    try:
        words = [str(word).strip().lower() for word in na_values]
    except TypeError as error:
        raise DataError(f"na_values must be a list of words, got {na_values!r}") from error
    return tuple(dict.fromkeys(word for word in words if word))


def without(table: Table, words: tuple[str, ...]) -> Table:
    """The table with nothing in the place of these words, in all its columns."""
    if not words:
        return table
    numbers = np.array([n for n in map(_as_number, words) if n is not None])
    columns = {name: _emptied(column, words, numbers) for name, column in table.columns.items()}
    return replace(table, columns=columns)


def kept(cleaned: Table, table: Table, names: Sequence[str | None]) -> Table:
    """The cleaned table with these columns as they were: a time or a name is never nothing."""
    as_they_were = {name: table.columns[name] for name in names if name is not None}
    return replace(cleaned, columns={**cleaned.columns, **as_they_were})


def note(cleaned: Table, table: Table, names: Sequence[str], words: tuple[str, ...]) -> list[str]:
    """How many values were taken for nothing, in words."""
    if not words:
        return []
    gone = sum(_count_gone(cleaned.columns[name], table.columns[name]) for name in names)
    shown = ", ".join(map(repr, words[:5])) + (", ..." if len(words) > 5 else "")
    return [f"{gone:,} value{'s were' if gone != 1 else ' was'} taken for missing ({shown})"]


def _emptied(column: pd.Series, words: tuple[str, ...], numbers: np.ndarray) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(column):
        return column
    if pd.api.types.is_numeric_dtype(column):
        return column.astype(np.float64).mask(column.isin(numbers)) if len(numbers) else column
    texts = pd.Series(as_text(column), index=column.index, dtype=object)
    gone = texts.str.lower().isin(words)
    if len(numbers):  # -999.0 is -999, too
        gone |= pd.to_numeric(texts.str.replace(",", "."), errors="coerce").isin(numbers)
    return texts.mask(gone, "").astype(str) if gone.any() else column


def _count_gone(cleaned: pd.Series, before: pd.Series) -> int:
    if cleaned is before:
        return 0
    if pd.api.types.is_numeric_dtype(before):
        return int(cleaned.isna().sum() - before.isna().sum())
    return int(((cleaned == "") & (pd.Series(as_text(before)) != "")).sum())


def _as_number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
