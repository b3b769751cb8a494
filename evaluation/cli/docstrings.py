"""Docstrings, taken apart, and as plain words for a terminal."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from agents.registry import settings_of

_PAPER = re.compile(r"\[@([a-z]+)(\d{4})\w*\]")
_ROLE = re.compile(r":(?:class|meth|func|mod|attr|exc|data):`~?([^`]+)`")
_ENTRY = re.compile(r"^(\*{0,2}\w+)(?: \([^)]*\))?: ?(.*)$")
LISTS = ("Args:", "Attributes:")
"""Headings of lists of names."""
INTERNAL = ("problem", "rng", "model", "common", "overrides")
"""Arguments of agents that are no settings."""


def blocks(docstring: str) -> Iterator[str]:
    """Its paragraphs; what is indented belongs to the paragraph above it."""
    block: list[str] = []
    for line in inspect.cleandoc(docstring).splitlines():
        fresh = bool(block) and not block[-1].strip() and line[:1].strip() != ""
        if fresh:
            yield "\n".join(block).rstrip()
            block = []
        block.append(line)
    if block:
        yield "\n".join(block).rstrip()


def literal(text: str) -> str:
    """An indented block, without its indent."""
    return inspect.cleandoc("\n" + text.strip("\n")).strip()


def arguments(docstring: str) -> dict[str, str]:
    """Names and descriptions under "Args:" or "Attributes:", in Google's style."""
    found: dict[str, str] = {}
    for block in blocks(docstring):
        first, _, rest = block.partition("\n")
        if first.rstrip() not in LISTS:
            continue
        name = ""
        for line in literal(rest).splitlines():
            entry = _ENTRY.match(line)
            if entry:
                name = entry[1].lstrip("*")
                found[name] = entry[2]
            elif name:
                found[name] += " " + line.strip()
    return found


def described_settings(cls: type) -> dict[str, str]:
    """What the docstrings of a class and its bases say of settings; the nearest has its way."""
    found: dict[str, str] = {}
    for part in reversed(inspect.getmro(cls)):
        found |= arguments(part.__doc__ or "")
    return {name: text for name, text in found.items() if name not in INTERNAL}


def named_settings(found: Any) -> dict[str, Any]:
    """Settings of an agent and their defaults; of one that takes anything, those that it names."""
    settings = settings_of(found)
    if settings is not None:
        return settings
    parameters = inspect.signature(found).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def in_words(text: str) -> str:
    """Prose without marks: names as they are, papers by their first author and year.

    >>> in_words("Like :class:`PhaseUCB` with ``box_arms`` points, [@auer2002finite].")
    'Like PhaseUCB with box_arms points, Auer (2002).'
    """
    text = _PAPER.sub(lambda found: f"{found[1].capitalize()} ({found[2]})", text)
    text = _ROLE.sub(lambda found: found[1].rpartition(".")[2], text)
    return text.replace("``", "")


def paragraphs(docstring: str, width: int) -> Iterator[str]:
    """A docstring in plain words, without the list of its arguments.

    Args:
        docstring: All of it.
        width: Of a line; indented code stays as it is.
    """
    for block in blocks(docstring):
        if block.startswith(LISTS):
            continue
        head, mark, code = block.partition("::\n")
        if mark:
            yield f"{wrapped(head, width)}:\n{in_words(code).rstrip()}"
            continue
        prose, *items = re.split(r"\n\s*(?=(?:\d+\.|-) )", block)
        yield "\n".join([wrapped(prose, width), *(wrapped(item, width, 2) for item in items)])


def wrapped(text: str, width: int, indent: int = 0) -> str:
    """Prose in plain words, in lines of a width; all but the first are indented further."""
    first, others = " " * indent, " " * (indent + 3 if indent else 0)
    words = " ".join(in_words(text).split())
    return textwrap.fill(words, width, initial_indent=first, subsequent_indent=others)
