"""Division of docstrings into sections, and conversion to the markup of pages.

Docstrings are written for terminals. They have paragraphs with headings ("Reference:", "Deviations
from the paper:"), literal blocks, names in double backticks, and papers as ``[@key]``.
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
"""Headings of the paragraphs of an agent's docstring that are stored by heading."""


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
    """Return an indented block without its indentation."""
    return inspect.cleandoc("\n" + text.strip("\n")).strip()


def for_sphinx(text: str) -> str:
    """Return a docstring in reStructuredText: papers and pages become links, bars are escaped."""
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
    """Return prose of a docstring in MyST: papers and pages become links, code is unchanged."""
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
    """Return prose with escaped characters that have a meaning in Markdown but not here."""
    prose = re.sub(r"([*$|])", r"\\\1", prose)
    prose = re.sub(r"<(?=[A-Za-z/!])", r"\\<", prose)
    return re.sub(r"\](?=[(\[])", r"\\]", prose)


@dataclass(frozen=True)
class AgentText:
    """Sections of the docstring of an agent.

    Attributes:
        summary: First paragraph.
        named: Paragraphs with a heading in ``NAMED``, by heading.
        prose: All other paragraphs.
    """

    summary: str
    named: dict[str, str]
    prose: tuple[str, ...]


def agent_text(docstring: str) -> AgentText:
    """Return the sections of an agent's docstring."""
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
    """Return a paragraph, possibly with an indented list, as Markdown.

    In a docstring the paragraph continues after a colon with a small letter. Below a heading it
    begins with a capital letter, unless it begins with a symbol ("gamma = 1").
    """
    return for_myst(re.sub(r"^[a-z](?=[a-z']* [a-z])", lambda m: m[0].upper(), literal(text)))
