"""What is accepted from a file that nobody vouches for: how much of it, and which names."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from periodic_envs.data.errors import DataError

MAX_BYTES = 64 * 2**20
MAX_VALUES = 10_000_000
"""Columns times rows, in a file and on the grid: a year of minutes for nineteen arms."""
MAX_COLUMNS = 2_000
MAX_NAME_LETTERS = 200
UNNAMED = "column 1"
"""What the first column is called if it has no name: mostly a saved index, never an arm."""


def read_bytes(path: Path) -> bytes:
    """The content of a regular file of bounded size."""
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise DataError(f"{str(path)!r} is not a file")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        reason = getattr(error, "strerror", None) or "it is no path"
        raise DataError(f"cannot read {str(path)!r}: {reason}") from error
    if len(content) > MAX_BYTES:
        raise DataError(
            f"{path.name!r} is larger than {MAX_BYTES >> 20} MiB: keep only the columns and the "
            "times you need, or hand over a DataFrame"
        )
    if not content.strip():
        raise DataError(f"{path.name!r} is empty")
    return content


def clean_names(names: list[Any], source: str) -> list[str]:
    """Column names as printable, distinct words; only the first may be empty (a saved index)."""
    cleaned = [" ".join(str(name).split()) for name in names]
    if cleaned and not cleaned[0]:
        cleaned[0] = UNNAMED
    seen: set[str] = set()
    for i, name in enumerate(cleaned):
        check_name(name, f"column {i + 1} of {source}")
        if name in seen:
            raise DataError(f"{source} has two columns named {name!r}: rename one")
        seen.add(name)
    return cleaned


def check_name(name: str, place: str) -> None:
    """Names are shown on screens and in pictures."""
    if not name:
        raise DataError(f"{place} has no name")
    if len(name) > MAX_NAME_LETTERS or not name.isprintable():
        raise DataError(
            f"{place} has a name that cannot be shown: at most {MAX_NAME_LETTERS} printable "
            "characters"
        )


def check_size(source: str, n_columns: int, n_values: int) -> None:
    """Refuse what would not fit into memory."""
    if n_columns > MAX_COLUMNS:
        raise DataError(f"{source} has more than {MAX_COLUMNS:,} columns")
    if n_values > MAX_VALUES:
        raise DataError(
            f"{source} has more than {MAX_VALUES:,} values: keep only the columns and the times "
            "you need"
        )
