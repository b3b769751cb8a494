"""Bytes as text: in the encoding that was given, or in the one that they can be read in."""

from __future__ import annotations

import codecs
import re

from periodic_envs.data.errors import DataError

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""How a file may begin that says what it is written in."""
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1a]")
"""Signs that no program writes into a table: every single byte is a letter of Latin-1."""


def decode(name: str, content: bytes, encoding: str | None) -> tuple[str, tuple[str, ...]]:
    """The text of a file, and in words how it was read where that was a guess.

    Args:
        name: What messages call the file.
        content: Its bytes.
        encoding: A name that Python knows, such as "utf-8", "cp1252" or "utf-16-le"; None to find
            out: what the file says by its first bytes, then UTF-8, then Windows' letters for
            western Europe (cp1252) and Latin-1.

    Raises:
        DataError: if it is not text, or not in this encoding.
    """
    if encoding is not None:
        return _checked(name, _in(name, content, encoding)), ()
    said = next((_MARKS[mark] for mark in _MARKS if content.startswith(mark)), None)
    if said is not None:
        return _checked(name, _in(name, content, said)), ()
    try:
        return _checked(name, content.decode("utf-8")), ()
    except UnicodeDecodeError as error:
        at = error.start
    guess = "cp1252"
    try:
        text = content.decode(guess)
    except UnicodeDecodeError:
        guess = "latin-1"
        text = content.decode(guess)
    if _BINARY.search(text):
        raise DataError(f"{name!r} is not text but binary: only CSV and Parquet are read")
    return text, (
        f"the text is not UTF-8 (byte {at:,}) and was read as {guess}: if letters look wrong, give "
        "an encoding",
    )


def _in(name: str, content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeError as error:
        at = f" (byte {error.start:,})" if isinstance(error, UnicodeDecodeError) else ""
        raise DataError(f"{name!r} is not {encoding} text{at}: give another encoding") from error
    except (LookupError, ValueError) as error:
        raise DataError(
            f"there is no encoding {encoding!r}: try utf-8, cp1252, latin-1 or utf-16"
        ) from error


def _checked(name: str, text: str) -> str:
    if "\0" in text:
        raise DataError(f"{name!r} is not text but binary: only CSV and Parquet are read")
    return text
