"""What a decider would choose for some time ahead: a table that draws itself."""

from __future__ import annotations

import base64
import html
import io
import textwrap
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from agents.arrays import Array
from periodic_decisions.deciding.errors import DeciderError
from periodic_decisions.deciding.knowledge import Knowledge
from periodic_decisions.deciding.past import doubts, mean_so_far

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAN = float("nan")
TIE = 1e-9
"""Share by which expectations may differ that are the same but for round-off."""
MAX_STEPS = 10_000
MAX_SHOWN_ROWS = 60
NOTE_WIDTH = 90
"""Letters in a line of a note below the table."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A plan.

    Attributes:
        table: A row for each step: time, arm, and the expected mean reward of the arm with its
            95 % interval from low to high, NaN where the agent does not say; the mean of the arm's
            rewards so far at the same place of the longest season (``mean_so_far``, NaN if there
            are none); and whether the choice is a ``trial``, that is, another arm is expected to
            be better and this one is taken to learn about it (NA where the agent does not say).
        arms: What could be chosen.
        notes: What to know before following the plan, one sentence each; most often none.
    """

    table: pd.DataFrame
    arms: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return "\n".join([self.text(), *(textwrap.fill(note, NOTE_WIDTH) for note in self.notes)])

    def text(self) -> str:
        """The table as text, without the notes."""
        return str(
            self._shown().to_string(
                index=False, max_rows=MAX_SHOWN_ROWS, float_format="{:.4g}".format, na_rep=""
            )
        )

    def _shown(self) -> pd.DataFrame:
        """The table with words for whether a step is a trial."""
        return self.table.assign(trial=["yes" if one is True else "" for one in self._trials()])

    def _trials(self) -> list[object]:
        return list(self.table["trial"].astype(object))

    def _repr_html_(self) -> str:
        """The picture and the table, for notebooks."""
        drawn = io.BytesIO()
        self.plot().savefig(drawn, format="png")
        data = base64.b64encode(drawn.getvalue()).decode()
        shown = self._shown().to_html(
            index=False, max_rows=MAX_SHOWN_ROWS, float_format="{:.4g}".format, na_rep=""
        )
        notes = "".join(f"\n<p>{html.escape(note)}</p>" for note in self.notes)
        return f'<img alt="The plan" src="data:image/png;base64,{data}">\n{shown}{notes}'

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
    planner, arms = known.planner(), range(len(known.arms))
    times = clock.steps_from(moment, origin, steps)
    numbers = [clock.count(time, origin) for time in times]
    chosen, beliefs = np.zeros(len(times), dtype=np.intp), np.full((len(times), len(arms), 3), NAN)
    for row, step in enumerate(numbers):
        chosen[row] = planner.act(step).arm
        believed = planner.beliefs(step, arms)
        if believed is not None and np.isfinite(believed[chosen[row]]).all():
            beliefs[row] = believed
    mean, count = mean_so_far(known, numbers)
    rows = np.arange(len(times))
    table = pd.DataFrame(beliefs[rows, chosen], columns=["expected", "low", "high"])
    table.insert(0, "time", pd.DatetimeIndex([pd.Timestamp(t) for t in times], tz=clock.zone))
    table.insert(1, "arm", [known.arms[arm] for arm in chosen])
    table["mean_so_far"] = mean[rows, chosen]
    table["trial"] = _trials(known.settings.sign * beliefs[..., 0], chosen)
    notes = doubts(known, times, beliefs, mean, count)
    return Plan(table, tuple(known.arms), tuple(notes))


def _trials(expected: Array, chosen: NDArray[np.intp]) -> Any:
    """Whether another arm is expected to be better, where anything is expected."""
    taken = expected[np.arange(len(chosen)), chosen]
    found = pd.array(expected.max(1) > taken + TIE * np.abs(taken), dtype="boolean")
    found[np.isnan(taken)] = pd.NA
    return found
