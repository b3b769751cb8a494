"""What a column of the tables of results is; ``columns`` lists all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from evaluation.compared import AllTasks, TaskRuns
from evaluation.statistics import Interval

Table = Literal["task", "overall"]
"""The table of a task has a row for each agent and reference; the overall one spans all tasks."""
Value = Interval | float | None


@dataclass(frozen=True)
class Column:
    """A column of the table of a task, of the overall table, or of both.

    Attributes:
        key: Its name in DataFrames, JSON and CSV; with an interval there are ``{key}_low`` and
            ``{key}_high``, too.
        label: Its heading; ``{baseline}`` stands for the row that others are compared with.
        description: One sentence, shown where the mouse rests on the heading.
        digits: Decimals that are shown.
        interval: Whether it has a 95 % interval.
        task: Computes it for a row of the table of a task.
        overall: Computes it for a row of the overall table.
        when: When it is there: always, in the track "pretrained", with a baseline, or where a world
            of the sweep changes.
        least: The least value that makes sense: no interval reaches below it.
        counted: Whether it counts who is before whom: its interval needs ``MIN_RUNS`` of each task.
        page: The tables of the page that it is in.
    """

    key: str
    label: str
    description: str
    digits: int
    interval: bool = False
    task: Callable[[TaskRuns, str], Value] | None = None
    overall: Callable[[AllTasks, str], Value] | None = None
    when: Literal["always", "pretrained", "baseline", "changes"] = "always"
    least: float = -math.inf
    counted: bool = False
    page: tuple[Table, ...] = ("task", "overall")

    @property
    def keys(self) -> list[str]:
        """Its columns in a DataFrame."""
        bounds = [f"{self.key}_low", f"{self.key}_high"] if self.interval else []
        return [self.key, *bounds]

    def cells(self, value: Value, *, enough: bool = True) -> dict[str, float | None]:
        """A computed value as the cells of a row, without its interval if runs are too few."""
        if not isinstance(value, Interval):
            return {**dict.fromkeys(self.keys), self.key: value}
        found = value.at_least(self.least)
        bounds = (found.low, found.high) if enough else (math.nan, math.nan)
        return dict(zip(self.keys, (value.estimate, *bounds), strict=True))

    def shown(self, row: Mapping[str, Any]) -> tuple[float, float, float]:
        """Value, low and high end of a row; NaN where there are none."""
        cells = [row.get(key) for key in self.keys]
        found = [math.nan if x is None else float(x) for x in cells]
        value, low, high = (*found, math.nan, math.nan)[:3]
        return value, low, high

    def text(self, row: Mapping[str, Any]) -> str:
        """A row's cell in the terminal."""
        value, low, high = (f"{x:,.{self.digits}f}" for x in self.shown(row))
        if value == "nan":
            return ""
        return value if low == "nan" else f"{value} [{low}, {high}]"

    def heading(self, baseline: str | None) -> str:
        """Its heading in the terminal, which begins with a small letter if it is a word."""
        word = self.label[1:2].islower()
        label = self.label[0].lower() + self.label[1:] if word else self.label
        return label.replace("{baseline}", str(baseline)) + (" [95 %]" if self.interval else "")

    def about(self) -> dict[str, Any]:
        """What the page has to know of it."""
        named = {"key": self.key, "label": self.label, "title": self.description}
        return {**named, "digits": self.digits, "interval": self.interval}
