"""Docstrings, taken apart and turned into the languages of pages.

They are written to be read in a terminal: paragraphs with headings of their own ("Reference:",
"Deviations from the paper:"), literal blocks, names in double backticks, papers as ``[@key]``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass

_PAPER = re.compile(r"\[@(\w+)\]")
_ROLE = re.compile(r":(?:class|meth|func|mod|attr|exc|data):`~?([^`]+)`")
_CODE = re.compile(r"(``.+?``|`[^`\n]+`|\{[a-z:]+\}`[^`]+`)", re.DOTALL)
_PAGE = re.compile(r"\b(?P<folder>docs|studies)/(?P<name>[\w-]+)\.md")
_HEADING = re.compile(r"^(?P<name>[A-Z][A-Za-z -]+?)(?: \([^)]*\))?:(?P<rest>.*)$", re.DOTALL)
NAMED = ("Pseudo-code", "Reference", "Deviations from the paper", "Recommended parameters", "Args")
"""The paragraphs of an agent's docstring that have a heading of their own."""


def blocks(docstring: str) -> Iterator[str]:
    """Yield the paragraphs of a docstring; indented lines belong to the paragraph above."""
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
    """Return an indented block without its indent."""
    return inspect.cleandoc("\n" + text.strip("\n")).strip()


def for_sphinx(text: str) -> str:
    """A docstring in reStructuredText: papers and pages are links, and |d| is no substitution."""
    lines = _PAPER.sub(r":cite:t:`\1`", text).splitlines()
    return "\n".join(line if line[:4] == "    " else _without_bars(line) for line in lines)


def _without_bars(line: str) -> str:
    parts = _CODE.split(line)
    prose = (p if i % 2 else p.replace("|", r"\|") for i, p in enumerate(parts))
    return "".join(
        p if i % 2 else _PAGE.sub(lambda match: f":doc:`{_place(match)}`", p)
        for i, p in enumerate(prose)
    )


def for_myst(text: str) -> str:
    """Prose of a docstring in MyST: papers and pages become links, names of code stay code."""
    text = _PAPER.sub(r"{cite:t}`\1`", text)
    text = _ROLE.sub(lambda match: f"`{match[1].rpartition('.')[2]}`", text)
    parts = _CODE.split(text)
    prose = (part if i % 2 else _escaped(part) for i, part in enumerate(parts))
    return "".join(
        p if i % 2 else _PAGE.sub(lambda match: f"{{doc}}`{_place(match)}`", p)
        for i, p in enumerate(prose)
    )


def _place(match: re.Match[str]) -> str:
    return f"/results/{match['name']}" if match["folder"] == "studies" else f"/{match['name']}"


def _escaped(prose: str) -> str:
    """Signs that mean something in Markdown and nothing in a docstring."""
    prose = re.sub(r"([*$|])", r"\\\1", prose)
    prose = re.sub(r"<(?=[A-Za-z/!])", r"\\<", prose)
    return re.sub(r"\](?=[(\[])", r"\\]", prose)


@dataclass(frozen=True)
class AgentText:
    """Sections of the docstring of an agent.

    Attributes:
        summary: Its first paragraph.
        named: The paragraphs with headings, by these.
        prose: All others.
    """

    summary: str
    named: dict[str, str]
    prose: tuple[str, ...]


def agent_text(docstring: str) -> AgentText:
    """The parts of an agent's docstring."""
    summary, *rest = blocks(docstring) if docstring.strip() else [""]
    named: dict[str, str] = {}
    prose: list[str] = []
    for block in rest:
        heading = _HEADING.match(block)
        if heading and heading["name"] in NAMED:
            named[heading["name"]] = heading["rest"].removeprefix(":")
        else:
            prose.append(block)
    return AgentText(" ".join(summary.split()), named, tuple(prose))


def listed(text: str) -> str:
    """A paragraph with an indented list under it, as Markdown.

    Behind a colon it goes on with a small letter, below a heading it begins with a capital one. A
    symbol ("gamma = 1") stays as it is.
    """
    return for_myst(re.sub(r"^[a-z](?=[a-z']* [a-z])", lambda m: m[0].upper(), literal(text)))
