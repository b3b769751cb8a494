"""How figures are written on the page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaluation.statistics import Interval
from studies.markdown import markdown_table, shown


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, and the end of its line."""
    return markdown_table(header, rows) + "\n"


def interval(values: Sequence[float], digits: int = 2) -> str:
    """A figure with its interval, where it has one."""
    estimate, low, high = values if len(values) == 3 else (*values, np.nan, np.nan)
    return shown(Interval(estimate, low, high), digits)


def yes(reached: bool) -> str:
    """A verdict."""
    return "yes" if reached else "no"


def year_range(years: Sequence[int], between: str = "-") -> str:
    """Years in short.

    >>> year_range([2016, 2017]), year_range([2019]), year_range([2016, 2018])
    ('2016-2017', '2019', '2016,2018')
    """
    if len(years) > 1 and list(years) == list(range(years[0], years[-1] + 1)):
        return f"{years[0]}{between}{years[-1]}"
    return ",".join(map(str, years))
