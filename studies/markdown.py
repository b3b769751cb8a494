"""What the pages of all studies are written with: tables, figures with intervals, lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluation.statistics import Interval


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


def listed(intervals: Mapping[str, Interval], digits: int = 2, *, between: str = ", ") -> str:
    """Figures with their intervals, each behind its name.

    >>> listed({"a": Interval(1.0, 0.5, 2.0), "b": Interval(3.0, 2.0, 4.0)}, 0, between="; ")
    'a 1 [0, 2]; b 3 [2, 4]'
    """
    return between.join(f"{name} {shown(found, digits)}" for name, found in intervals.items())


def estimates(intervals: Mapping[str, Interval]) -> dict[str, float]:
    """The figures without their intervals, for machines."""
    return {name: found.estimate for name, found in intervals.items()}


def folded(summary: str, text: str) -> str:
    """Text that a reader unfolds."""
    return f"<details><summary>{summary}</summary>\n\n{text}\n\n</details>"
