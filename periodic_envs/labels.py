"""Words in pictures: anybody's names and titles, so that they can be read."""

from __future__ import annotations

import re
from functools import cache

MAX_NAME_LETTERS = 24
"""Letters of a name beside an axis."""
_MAX_LINES = 4


def drawable(text: str) -> str:
    """The text with a box for what the font lacks, which would be one anyway, with a warning."""
    return "".join(letter if ord(letter) in _letters() else "□" for letter in text)


@cache
def _letters() -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset([ord("\n"), *get_font(findfont(FontProperties())).get_charmap()])


def short(name: str) -> str:
    """A name that leaves room for the picture."""
    return drawable(name if len(name) <= MAX_NAME_LETTERS else name[: MAX_NAME_LETTERS - 3] + "...")


def thinned(n: int, most: int) -> range:
    """Which of n labels to write: equally spaced ones, at most so many."""
    return range(0, n, -(-n // most))


def wrapped(text: str, width: int) -> str:
    """A title in lines of at most so many letters, broken at spaces and commas where possible."""
    lines = [""]
    for piece in re.findall(rf"[^\s,]{{1,{width - 1}}}[\s,]?|[\s,]", drawable(text)):
        if len(lines[-1] + piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    if len(lines) > _MAX_LINES:
        lines = [*lines[: _MAX_LINES - 1], "..." + lines[-1]]
    return "\n".join(line.strip() for line in lines)
