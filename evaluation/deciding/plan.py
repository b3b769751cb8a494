"""What a decider would choose for some time ahead: a table that draws itself."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import pandas as pd

from evaluation.deciding.errors import DeciderError
from evaluation.deciding.knowledge import Knowledge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_STEPS = 10_000
MAX_SHOWN_ROWS = 60


@dataclass(frozen=True, eq=False)
class Plan:
    """A plan.

    Attributes:
        table: A row for each step: time, arm, and the expected mean reward of the arm with its
            95 % interval from low to high, NaN where the agent does not say.
        arms: What could be chosen.
    """

    table: pd.DataFrame
    arms: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return str(self.table.to_string(index=False, max_rows=MAX_SHOWN_ROWS))

    def _repr_html_(self) -> str:
        """The picture and the table, for notebooks."""
        drawn = io.BytesIO()
        self.plot().savefig(drawn, format="png")
        data = base64.b64encode(drawn.getvalue()).decode()
        shown = self.table.to_html(index=False, max_rows=MAX_SHOWN_ROWS, na_rep="")
        return f'<img alt="The plan" src="data:image/png;base64,{data}">\n{shown}'

    def plot(self) -> Figure:
        """Which arm when, and what is expected of it."""
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10.0, 5.0), dpi=100, layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True)
        times = self.table["time"].dt.tz_localize(None)  # the wall clock
        rows = [self.arms.index(arm) for arm in self.table["arm"]]
        above.step(times, rows, where="post", color="tab:blue", lw=1)
        above.plot(times, rows, "o", color="tab:blue", markersize=4)
        above.set_yticks(range(len(self.arms)), self.arms, parse_math=False)
        above.set_ylim(-0.5, len(self.arms) - 0.5)
        above.grid(alpha=0.3)
        if self.table["expected"].notna().any():
            below.plot(times, self.table["expected"], color="tab:blue")
            below.fill_between(times, self.table["low"], self.table["high"], alpha=0.25, lw=0)
        else:
            below.text(0.5, 0.5, "nothing is expected yet", transform=below.transAxes, ha="center")
        below.set_ylabel("expected reward, 95 %")
        below.grid(alpha=0.3)
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        below.xaxis.set_major_locator(locator)
        form = ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
        below.xaxis.set_major_formatter(form)
        return figure


def make_plan(known: Knowledge, moment: datetime, steps: int) -> Plan:
    """Ask a copy of the agent.

    Raises:
        DeciderError: If the moment is before the start, or steps is no such number.
    """
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= MAX_STEPS:
        raise DeciderError(f"steps must be a whole number from 1 to {MAX_STEPS:,}, got {steps!r}")
    clock = known.settings.clock
    known.step_of(moment)
    origin = known.origin or clock.origin(moment)
    planner, rows = known.planner(), []
    times = clock.steps_from(moment, origin, steps)
    for time in times:
        step = clock.count(time, origin)
        arm = planner.act(step).arm
        believed = planner.expected(step, arm) or (float("nan"),) * 3
        rows.append((known.arms[arm], *believed))
    table = pd.DataFrame(rows, columns=["arm", "expected", "low", "high"])
    table.insert(0, "time", pd.DatetimeIndex([pd.Timestamp(t) for t in times], tz=clock.zone))
    return Plan(table, tuple(known.arms))
