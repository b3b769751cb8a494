"""What was found while reading a table, in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from periodic_envs.arrays import Array

_MIN_GAPS = 3
_MIN_SHARE_ALIKE = 0.7


@dataclass(frozen=True)
class Report:
    """What was found while reading.

    Attributes:
        taken_for: what the columns were taken for, in words.
        missing_steps: steps of the grid at which nothing was measured.
        pattern: how these follow each other where that is regular, in words, else "".
        missing: share of the readings (steps times arms) that are missing.
        dropped: readings that were there more than once with the same value.
        averaged: readings that were there more than once with different values.
    """

    taken_for: tuple[str, ...]
    missing_steps: int
    pattern: str
    missing: float
    dropped: int
    averaged: int

    @classmethod
    def of(
        cls, values: Array, *, taken_for: tuple[str, ...], dropped: int, averaged: int
    ) -> Report:
        """The report on values (steps, arms), NaN where there is none."""
        gone = np.asarray(np.isnan(values).all(axis=1))
        missing = float(np.isnan(values).mean())
        return cls(taken_for, int(gone.sum()), _pattern(gone), missing, dropped, averaged)

    def troubles(self) -> list[str]:
        """Gaps and duplicates in words; empty if there are none."""
        found = []
        if self.missing:
            steps = count(self.missing_steps, "whole step")
            among = f", {steps} among them" if self.missing_steps else ""
            advice = f", {self.pattern}: number the steps 0, 1, 2, ... to leave them out"
            among += advice if self.pattern else ""
            found.append(f"{self.missing:.2%} of the readings are missing{among}")
        if self.dropped:
            found.append(
                f"{count(self.dropped, 'repeated reading')} with the same value "
                f"{'was' if self.dropped == 1 else 'were'} dropped"
            )
        if self.averaged:
            found.append(f"{self.averaged:,} readings were averaged with others of the same time")
        return found


def count(number: int, word: str) -> str:
    """So many of them: "1 step", "2,000 steps"."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _pattern(gone: NDArray[np.bool_]) -> str:
    """Weekends without readings come at regular intervals and are equally long; accidents do not.

    A few may differ, as holidays do.
    """
    edges = np.diff(np.concatenate([[False], gone, [False]]).astype(int))
    starts = np.flatnonzero(edges == 1)
    lengths = np.flatnonzero(edges == -1) - starts
    if len(starts) < _MIN_GAPS:
        return ""
    (length, alike), (_, spaced) = _most_common(lengths), _most_common(np.diff(starts))
    if min(alike, spaced) < _MIN_SHARE_ALIKE:
        return ""
    how = "always" if alike == spaced == 1.0 else "mostly"
    return f"{how} {length} in a row" if length > 1 else f"{how} at the same distance"


def _most_common(numbers: NDArray[np.intp]) -> tuple[int, float]:
    """The most common of the numbers, and its share."""
    found, counts = np.unique(numbers, return_counts=True)
    return int(found[counts.argmax()]), float(counts.max() / len(numbers))
