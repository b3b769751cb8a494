"""Names that somebody has written: what to say where there is no such thing."""

from __future__ import annotations

import difflib
from collections.abc import Collection


def check_known(what: str, given: str, known: Collection[str], where: str = "here") -> None:
    """Refuse a name that is not known, with those that it may have been meant for.

    Args:
        what: What it should be the name of: "agent".
        given: The name.
        known: All that there are.
        where: Where they are looked for, in words.

    Raises:
        ValueError: One sentence.
    """
    if given in known:
        return
    close = difflib.get_close_matches(str(given), known, n=3, cutoff=0.5)
    mean = " or ".join(repr(name) for name in close)
    hint = f"did you mean {mean}?" if close else f"there are {', '.join(known) or 'none'}"
    raise ValueError(f"there is no {what} {given!r} {where}; {hint}")
