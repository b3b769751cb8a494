"""What a board says of one world: curves, totals and phases of its agents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evaluation.figures import phase_rows
from evaluation.protocol.protocol import REFERENCES
from evaluation.report.numbers import band, number, numbers, triple
from evaluation.report.worlds import Pictures
from evaluation.results import Results
from evaluation.statistics import Band, curve_band

Array = NDArray[np.float64]

POINTS = 100
"""Of a curve: more cannot be seen."""


@dataclass(frozen=True)
class Sheet:
    """A world on a board.

    Attributes:
        results: The runs.
        task: The world's name.
        track: Of the agents.
        table: Its rows of the table of means.
        t: Times of the points of its curves.
        places: Their places among the steps.
        phases: Regret by phase of each agent.
    """

    results: Results
    task: str
    track: str
    table: pd.DataFrame
    t: Array
    places: NDArray[np.intp]
    phases: Mapping[str, Array]

    @classmethod
    def of(
        cls, results: Results, task: str, track: str, *, table: pd.DataFrame, agents: Sequence[str]
    ) -> Sheet:
        """From the table of all worlds."""
        mine = table[table["task"] == task] if len(table) else table
        t, places = _kept_steps(results, task, agents, track)
        return cls(results, task, track, mine, t, places, phase_rows(results, task, track))

    def about(self, pictures: Pictures) -> dict[str, Any]:
        """The world itself."""
        periods = set(self.results.periods(self.task).values())
        return {
            "name": self.task,
            "about": pictures.about(self.results, self.task),
            "picture": pictures.of(self.results, self.task),
            "runs": int(self.table["runs"].max()) if len(self.table) else 0,
            "t": numbers(self.t),
            "phases": max((len(p) for p in self.phases.values()), default=0),
            "period": number(periods.pop()) if len(periods) == 1 else None,
        }

    def agent(self, agent: str) -> dict[str, Any] | None:
        """One agent in this world."""
        found = self._row(agent, self.track)
        if found is not None:
            found["by_phase"] = numbers(self.phases.get(agent, np.zeros(0)))
        return found

    def reference(self, name: str) -> dict[str, Any] | None:
        """One of the reference rows, likewise."""
        return self._row(name, REFERENCES)

    def _row(self, agent: str, track: str) -> dict[str, Any] | None:
        found = self.table[self.table["agent"] == agent] if len(self.table) else self.table
        if found.empty:
            return None
        row = found.iloc[0]
        # Regret is never negative, though an interval for its mean may reach there.
        regret = np.maximum([row["regret"], row["low"], row["high"]], 0.0)
        # On the runs that this agent has: others may have finished more.
        share = float(row.get("normalised", math.nan))
        scale = row["regret"] / share if share > 0 else math.nan
        return {
            "normalised": triple(*(regret / scale)) if scale > 0 else [number(share), None, None],
            "regret": triple(*regret),
            "runs": int(row["runs"]),
            "curve": band(self._curve(agent, track)),
        }

    def _curve(self, agent: str, track: str) -> Band:
        """Cumulative regret."""
        runs = self.results.curves(self.task, agent, track)
        kept = self.places[self.places < runs.regret.shape[1]]
        curves = np.cumsum(runs.regret, axis=1)[:, kept]
        # The band of a sum needs the sums only: differences of kept points are the steps between.
        found = curve_band(np.diff(curves, axis=1, prepend=0.0), resamples=400)
        return Band(found.estimate, np.maximum(found.low, 0.0), found.high)


def _kept_steps(
    results: Results, task: str, agents: Sequence[str], track: str
) -> tuple[Array, NDArray[np.intp]]:
    """Times of the points of a task's curves, and their places."""
    for agent in agents:
        t = results.curves(task, agent, track).t
        if len(t):
            places = np.unique(np.linspace(0, len(t) - 1, POINTS).round().astype(np.intp))
            return np.asarray(t[places], dtype=np.float64), places
    return np.zeros(0), np.zeros(0, dtype=np.intp)
