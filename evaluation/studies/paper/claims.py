"""What the paper says, what was found, and how the two compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from evaluation.statistics import Interval


class Verdict(Enum):
    """How a claim fares."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    UNKNOWN = "cannot be checked"


@dataclass(frozen=True)
class Claim:
    """One claim of the paper.

    Attributes:
        where: Its place in the paper.
        says: The claim in our words.
        found: What was found, figures with their intervals.
        verdict: How the two compare.
        numbers: The figures by themselves, for machines.
        ours: Whether the paper does not say it, but we ask.
    """

    where: str
    says: str
    found: str
    verdict: Verdict
    numbers: Mapping[str, float] = field(default_factory=dict)
    ours: bool = False


@dataclass(frozen=True)
class Section:
    """One part of the page.

    Attributes:
        name: What ``--only`` calls it.
        title: Its heading.
        claims: What it says about the paper.
        text: Paragraphs, tables and pictures in Markdown.
        ours: Whether it is not about the paper: its claims are aims of ours, and counted apart.
    """

    name: str
    title: str
    claims: Sequence[Claim]
    text: Sequence[str] = ()
    ours: bool = False


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1) -> str:
    """A table; columns after the first ``texts`` are numbers, aligned to the right.

    >>> print(markdown_table(["a", "b"], [["x | y", "1"]]))
    | a | b |
    |---|--:|
    | x \\| y | 1 |
    """
    lines = [header, *rows]
    cells = [" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines]
    rule = "|".join(["---"] * texts + ["--:"] * (len(header) - texts))
    return "\n".join([f"| {cells[0]} |", f"|{rule}|", *(f"| {line} |" for line in cells[1:])])


def shown(interval: Interval, digits: int = 1, *, factor: float = 1.0, sign: bool = False) -> str:
    """A figure with its interval, where it has one.

    >>> shown(Interval(0.5, 0.25, 1.0), 0, factor=100.0, sign=True)
    '+50 [+25, +100]'
    """
    form = f"{'+' if sign else ''},.{digits}f"
    estimate, low, high = (
        "infinity" if number == float("inf") else f"{factor * number:{form}}"
        for number in (interval.estimate, interval.low, interval.high)
    )
    return estimate if interval.low != interval.low else f"{estimate} [{low}, {high}]"
