"""Windows cut from a table: those that the agent was developed on, and anybody's."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from evaluation.specs import WorldSpec
from periodic_decisions.backtest.windows import REPLAY, replay_worlds
from periodic_decisions.tables.series import Series, cut, read_series
from periodic_envs.data.errors import DataError

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "tables"
"""Real tables, where there are any. They are no part of this repository."""
DEFAULT_STEPS = 384
"""Of the windows of a table of somebody else: sixteen days of hours."""


@dataclass(frozen=True)
class Windows:
    """Windows of one table that are judged together.

    Attributes:
        name: What they are called, in JSON and on the page.
        file: The table.
        period: The season or seasons that are told, in steps.
        steps: Length of a window, the warm start included.
        every_days: From the beginning of one to that of the next; None for one behind the other.
            Where times are plain numbers it is counted in their unit.
        first: When the first begins; None for the beginning of the table.
        count: How many; None for all that there is room for.
        warm: Steps at the beginning of which everybody knows the best arm.
    """

    name: str
    file: Path
    period: tuple[float, ...]
    steps: int
    every_days: float | None = None
    first: str | None = None
    count: int | None = None
    warm: int = 0

    def starts(self) -> list[str]:
        """When each begins.

        Raises:
            DataError: If the table cannot be read or has no room for them.
        """
        series = read_series(self.file)
        rest = cut(series, start=self.first)
        stride, n = self._stride(series), len(rest.values)
        room = range(0, n - self.steps + 1, stride)
        count = self.count or max(len(room), 1)
        starts = [rest.clock.at(i * stride) for i in range(count)]
        cut(series, start=starts[-1], steps=self.steps)  # or a sentence about the end of the data
        return starts

    def _stride(self, series: Series) -> int:
        if self.every_days is None:
            return self.steps
        days: Any = self.every_days
        if isinstance(series.step, pd.Timedelta):
            days = pd.Timedelta(days=self.every_days)
        stride: int = round(days / series.step)
        if stride < 1:
            raise DataError(
                f"every must be at least a step of {series.grid.step_text()},"
                f" got {self.every_days:g}"
            )
        return stride

    def worlds(self) -> list[dict[str, Any]]:
        """The windows as worlds of one task of a protocol."""
        period: Any = list(self.period) if len(self.period) > 1 else self.period[0]
        given = {"data": str(self.file), "period": period, "steps": self.steps}
        given |= {"warm_start": self.warm} if self.warm else {}
        worlds = replay_worlds(self.name, self.starts(), given)
        WorldSpec(REPLAY, worlds[0]["arguments"]).make()  # what is wrong is said before long runs
        return worlds


def _short(name: str, table: str, first: str, every: float, count: int) -> tuple[Windows, Windows]:
    """Sixteen days cold, and with a warm start of two seasons."""
    given: dict[str, Any] = {"period": (24.0,), "steps": DEFAULT_STEPS, "every_days": every}
    given |= {"file": FOLDER / table, "first": first, "count": count}
    title = f"{name}, {count} windows"
    return Windows(f"{title} cold", **given), Windows(f"{title} warm", warm=48, **given)


def _quarters(name: str, table: str) -> Windows:
    given: dict[str, Any] = {"period": (168.0, 24.0), "steps": 2184, "every_days": 91, "count": 4}
    return Windows(f"{name}, 4 quarters", FOLDER / table, first="2013-01-01", **given)


def _four_weeks(title: str, first: str, count: int) -> Windows:
    given: dict[str, Any] = {"period": (24.0,), "steps": 672, "every_days": 28}
    return Windows(f"flights, {title}", FOLDER / FLIGHTS, first=first, count=count, **given)


FLIGHTS, PEDESTRIANS = "nyc_flights_by_destination.csv", "melbourne_pedestrians.csv"
BEIJING = "beijing_no2.csv"
COLD, WARM = zip(
    _short("flights", FLIGHTS, "2013-01-07", 56, 6),
    _short("pedestrians", PEDESTRIANS, "2013-01-07", 42, 8),
    _short("Beijing", BEIJING, "2014-01-06", 180, 6),
    strict=True,
)
FOUR_WEEKS = _four_weeks("four weeks from 4 March 2013", "2013-03-04", 1)
MONTHS = _four_weeks("12 times four weeks", "2013-01-07", 12)
QUARTERS = (_quarters("flights", FLIGHTS), _quarters("pedestrians", PEDESTRIANS))
DEVELOPMENT: tuple[Windows, ...] = (*COLD, *WARM, FOUR_WEEKS, MONTHS, *QUARTERS)
"""All that the agent was developed on."""


def other_windows(options: Namespace) -> list[Windows]:
    """Windows of the tables that the command line names: cold, and with a warm start."""
    period = options.period
    warm = round(2 * period[0]) if options.warm is None else options.warm
    found = []
    for file in options.table:
        given: dict[str, Any] = {"period": period, "steps": options.steps, "first": options.start}
        given |= {"file": file, "every_days": options.every}
        found.append(Windows(f"{file.stem}, cold", **given))
        found += [Windows(f"{file.stem}, warm", warm=warm, **given)] if warm else []
    return found
