"""What the paper says, what was found, and how the two compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

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

    def written(self, number: int | str, asks: str = "") -> str:
        """What is said and what was found, under a heading, without the verdict."""
        asks = asks or ("We ask" if self.ours else "The paper says")
        found = f"{self.found[0].upper()}{self.found[1:]}"
        parts = [f"### {number}. {self.where}", f"**{asks}:** {self.says}", f"**Found:** {found}"]
        return "\n\n".join(parts)

    def record(self) -> dict[str, Any]:
        """For machines."""
        return {"says": self.says, "verdict": self.verdict.value, "numbers": dict(self.numbers)}


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


def all_true(parts: Sequence[bool | None]) -> bool | None:
    """Whether all parts are true; None if that is not decided."""
    return False if False in parts else None if None in parts else True


def together(parts: Sequence[bool | None]) -> Verdict:
    """A claim of several parts: each is true, false, or not decided by the intervals (None).

    >>> [together(parts).value for parts in ([True, True], [True, None], [None, False], [None])]
    ['holds', 'holds in part', 'does not hold', 'cannot be checked']
    """
    if all(parts):
        return Verdict.HOLDS
    if any(parts):
        return Verdict.IN_PART
    return Verdict.FAILS if False in parts else Verdict.UNKNOWN


def at_most(ratios: Sequence[Interval], most: float) -> Verdict:
    """An aim of ours: some ratios, of which none should exceed a number.

    It holds if all intervals keep to it, in part if the estimate of at least one does.

    >>> close, clear = Interval(1.0, 0.9, 1.2), Interval(1.0, 0.9, 1.05)
    >>> [at_most(r, 1.1).value for r in ([clear], [close], [close, clear])]
    ['holds', 'holds in part', 'holds in part']
    >>> at_most([Interval(1.2, 1.0, 1.4)], 1.1).value
    'does not hold'
    """
    if any(ratio.high != ratio.high for ratio in ratios):
        return Verdict.UNKNOWN
    if all(ratio.high <= most for ratio in ratios):
        return Verdict.HOLDS
    return Verdict.IN_PART if any(r.estimate <= most for r in ratios) else Verdict.FAILS
