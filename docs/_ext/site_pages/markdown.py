"""Functions that return pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], align: str = "") -> str:
    """Return a table.

    Args:
        headings: Headings of the columns.
        rows: Rows of cells in Markdown.
        align: "l" or "r" for each column; "l" for columns beyond the end of the text.
    """
    marks = [("--:" if mark == "r" else "---") for mark in align.ljust(len(headings), "l")]
    lines = [headings, marks, *([cell.replace("\n", " ") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def definitions(entries: Iterable[tuple[str, str]]) -> str:
    """Return a list of terms with their descriptions."""
    return "\n\n".join(
        f"{term}\n:   {' '.join(text.split()) or 'Not described.'}" for term, text in entries
    )


def code(text: str, language: str = "text") -> str:
    """Return a block of code."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def directive(name: str, argument: str, body: str = "", **options: str) -> str:
    """Return a Sphinx directive."""
    head = "\n".join(f":{key.replace('_', '-')}: {value}" for key, value in options.items())
    inside = "\n\n".join(part for part in (head, body) if part)
    return f"```{{{name}}} {argument}".rstrip() + f"\n{inside}\n```"


def toctree(entries: Iterable[str], *, hidden: bool = False) -> str:
    """Return a table of contents with the pages below a page."""
    options = ":hidden:\n" if hidden else ""
    return "```{toctree}\n" + options + ":maxdepth: 1\n\n" + "\n".join(entries) + "\n```"


def page(*parts: str) -> str:
    """Return the non-empty parts, separated by empty lines."""
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def value(anything: object) -> str:
    """Return the ``repr`` of a value as code."""
    return f"`{anything!r}`"
