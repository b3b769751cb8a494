"""Plain data from strangers: JSON that is read strictly, as records of known kinds."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec

Record = TypeVar("Record")


def decode(data: bytes, kind: type[Record], name: str) -> Record:
    """A record from JSON: every field is there, of its kind, once, and no other.

    Args:
        data: The JSON.
        kind: A ``msgspec.Struct``.
        name: Of the file, for the message.

    Raises:
        ValueError: In one sentence, what is wrong and where.
    """
    try:
        plain = json.loads(
            data, parse_constant=_finite, parse_float=_finite, object_pairs_hook=_unambiguous
        )
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is not JSON: {str(error)[:200]}") from None
    try:
        return msgspec.convert(plain, kind)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name}: {str(error)[:300]}") from None


def _finite(text: str) -> float:
    value = float(text)
    if not -float("inf") < value < float("inf"):
        raise ValueError(f"{text} is not a finite number")
    return value


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name, value in pairs:
        if name in table:
            raise ValueError(f"{name[:50]!r} stands twice in a table")
        table[name] = value
    return table
