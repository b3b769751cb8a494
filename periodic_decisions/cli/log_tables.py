"""Estimates of policies by a log: as a table, as plain data, and what to know about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # pandas and SciPy are too slow for a help text
    from periodic_decisions.logs.evaluate import Estimate

HEADER = (
    *("policy", "estimator", "value per step", "95 % interval"),
    *("effective rows", "no overlap"),
)
LEGEND = (
    "Effective rows: so many rows of equal weight would say as much. No overlap: share of the "
    "steps in which the policy takes an arm that the log never chose at that time of the season; "
    "where probabilities are logged, only if that is no accident."
)


def notes_of(estimates: list[Estimate]) -> dict[str, list[str]]:
    """Every note once, with the policies that it is about."""
    found: dict[str, list[str]] = {}
    for one in estimates:
        for note in one.notes:
            about = found.setdefault(note, [])
            about.extend([one.policy] if one.policy not in about else [])
    return found


def table_lines(estimates: list[Estimate]) -> list[str]:
    """A row for each estimate, below a heading."""
    rows = [HEADER, *map(_cells, estimates)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADER))]
    return ["  ".join(_aligned(row, widths)).rstrip() for row in rows]


def _cells(one: Estimate) -> tuple[str, ...]:
    low, high = one.value.low, one.value.high
    return (
        one.policy,
        one.estimator,
        f"{one.value.estimate:,.4g}",
        f"{low:,.4g} to {high:,.4g}",
        f"{one.effective_size:,.0f}",
        f"{one.blind:.1%}",
    )


def _aligned(row: tuple[str, ...], widths: list[int]) -> list[str]:
    """Words to the left, numbers to the right."""
    return [
        f"{cell:<{w}}" if i < 2 else f"{cell:>{w}}"
        for i, (cell, w) in enumerate(zip(row, widths, strict=True))
    ]


def plain(one: Estimate) -> dict[str, Any]:
    """An estimate for JSON."""
    return {
        "policy": one.policy,
        "estimator": one.estimator,
        "value": one.value.estimate,
        "low": one.value.low,
        "high": one.value.high,
        "effective_size": one.effective_size,
        "no_overlap": one.blind,
        "rows": one.rows,
        "notes": list(one.notes),
    }
