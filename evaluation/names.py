"""Names that somebody has written: what to say where there is no such thing."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from typing import Any


def check_known(what: str, given: Any, known: Collection[str], where: str = "here") -> None:
    """Refuse a name that is not known, with those that it may have been meant for.

    Args:
        what: What it should be the name of: "agent".
        given: The name.
        known: All that there are.
        where: Where they are looked for, in words.

    Raises:
        ValueError: One sentence.
    """
    if isinstance(given, str) and given in known:
        return
    close = difflib.get_close_matches(str(given), known, n=3, cutoff=0.5)
    mean = " or ".join(repr(name) for name in close)
    hint = f"did you mean {mean}?" if close else f"there are {', '.join(known) or 'none'}"
    raise ValueError(f"there is no {what} {given!r} {where}; {hint}")


def as_list(argument: str, given: Any, error: type[ValueError] = ValueError) -> list[Any]:
    """What was given as a list; one text alone is none, since it would be taken letter by letter.

    Args:
        argument: What it was given as: "agents".
        given: Any number of things.
        error: What is raised if it is no list, with one sentence that says what to write.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise error(f"{argument} must be a list, got {given!r}: write {argument}=[...]")
    return list(given)
