"""Small pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], align: str = "") -> str:
    """A table that scrolls where it is too wide.

    Args:
        headings: Of the columns.
        rows: Of cells in Markdown.
        align: "l" or "r" for each column; left if left out.
    """
    marks = [("--:" if mark == "r" else "---") for mark in align.ljust(len(headings), "l")]
    lines = [headings, marks, *([cell.replace("\n", " ") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def definitions(entries: Iterable[tuple[str, str]]) -> str:
    """A list of terms, each with what it means below it."""
    return "\n\n".join(
        f"{term}\n:   {' '.join(text.split()) or 'Not described.'}" for term, text in entries
    )


def code(text: str, language: str = "text") -> str:
    """A block of code."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def directive(name: str, argument: str, body: str = "", **options: str) -> str:
    """A directive of Sphinx."""
    head = "\n".join(f":{key.replace('_', '-')}: {value}" for key, value in options.items())
    inside = "\n\n".join(part for part in (head, body) if part)
    return f"```{{{name}}} {argument}".rstrip() + f"\n{inside}\n```"


def toctree(entries: Iterable[str], *, hidden: bool = False) -> str:
    """A list of the pages below a page."""
    options = ":hidden:\n" if hidden else ""
    return "```{toctree}\n" + options + ":maxdepth: 1\n\n" + "\n".join(entries) + "\n```"


def page(*parts: str) -> str:
    """Pieces with an empty line between each two; empty ones are left out."""
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def value(anything: object) -> str:
    """A default as code."""
    return f"`{anything!r}`"
