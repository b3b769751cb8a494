"""What a board says of one world: a picture of it, and curves, numbers and phases of its agents."""

from __future__ import annotations

import base64
import io
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium as gym
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evaluation.columns import Column, page_columns, simulated_tasks
from evaluation.plots import darkened, mean_curve, phase_rows
from evaluation.protocol import Protocol
from evaluation.results import Curves, Results
from evaluation.specs import REFERENCE_ROWS, REFERENCES, WorldSpec, canonical_json
from evaluation.statistics import Band
from periodic_envs.arrays import Array
from periodic_envs.figures import world_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIGITS = 5
"""Of a number in JSON."""
MAX_DRAWN = 100_000
"""Largest number among the arguments of a world that is drawn: of steps, arms and the like."""
POINTS = 100
"""Points of a curve: more cannot be seen."""


def number(value: Any) -> float | None:
    """Short and finite, or nothing: JSON knows no NaN."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{DIGITS}g}")


def numbers(values: Any) -> list[float | None]:
    """One for each value."""
    return [number(value) for value in np.asarray(values, dtype=np.float64).tolist()]


def cell(value: Any, decimals: int) -> float | None:
    """A number of a table: short, but the page's rounding to these decimals is the first one.

    0.7454994 is 0.745. Shortened to 0.7455 it would be shown as 0.746.
    """
    short = number(value)
    if short is None:
        return None
    shown = Decimal(repr(short)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    once = round(float(value), decimals)
    return short if float(shown) == round(short, decimals) == once else once


def cells(columns: Sequence[Column], row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row of a table: of each column its number, or the number with the ends of its interval."""
    found: dict[str, Any] = {}
    for column in columns:
        shown = [cell(value, column.digits) for value in column.values(row)]
        found[column.key] = shown if column.interval else shown[0]
    return found


def band(found: Band) -> dict[str, Any]:
    """A curve with its band, if it has one."""
    ends = {"low": found.low, "high": found.high}
    shown = {name: None if np.isnan(end).all() else numbers(end) for name, end in ends.items()}
    return {"mean": numbers(found.estimate), **shown}


class Drawn(NamedTuple):
    """A world in words and pictures.

    Attributes:
        about: The first sentence of its documentation.
        light: A picture as a data address, None where the world cannot be drawn.
        dark: The same for a dark page.
    """

    about: str = ""
    light: str | None = None
    dark: str | None = None


class Pictures:
    """Worlds as sentences and pictures, each made once."""

    def __init__(self) -> None:
        self._made: dict[str, Drawn] = {}

    def of(self, results: Results, task: str) -> Drawn:
        """The first sentence of the world's documentation, and pictures of its landscape.

        They show the world of the first seed as agents are judged in it.
        """
        stored = results.sweep.protocol
        entry = next(entry for entry in stored["envs"] if entry["group"] == task)
        seed = int(stored["seeds"][0])
        name = canonical_json([entry, stored["horizon"], seed])
        if name not in self._made:
            self._made[name] = _drawn(stored, entry, seed)
        return self._made[name]


def judged_world(stored: Mapping[str, Any], entry: Mapping[str, Any]) -> WorldSpec:
    """The world of a stored protocol's entry with the arguments with which agents are judged."""
    protocol = Protocol.from_dict({**stored, "envs": [entry], "agents": ["random"]})
    return protocol.world(protocol.envs[0])


def _check_drawable(stored: Mapping[str, Any], entry: Mapping[str, Any]) -> None:
    """Refuse worlds that would import code, read files or be huge: stores may come from anywhere.

    Raises:
        ValueError: If the world is not registered here, has a path, or has a large number.
    """
    module, _, name = str(entry["id"]).rpartition(":")
    values = [stored["horizon"], *entry["arguments"].values()]
    large = any(isinstance(each, int | float) and abs(each) > MAX_DRAWN for each in values)
    unknown = name not in gym.registry or (module and module not in sys.modules)
    if unknown or large or "data" in entry["arguments"]:
        raise ValueError(f"the world {entry['label']!r} is not drawn")


def _drawn(stored: Mapping[str, Any], entry: Mapping[str, Any], seed: int) -> Drawn:
    try:
        _check_drawable(stored, entry)
        env = judged_world(stored, entry).make()
        about = (type(env.setup.world).__doc__ or "").strip().partition("\n")[0]
        env.reset(seed=seed)
        assert env.episode is not None
        figure = world_figure(f"{entry['label']}, seed {seed}", env.setup, env.episode)
        figure.set_dpi(72)
        return Drawn(about, _address(figure), _address(darkened(figure)))
    except Exception:  # a picture is no reason to have no page: the world may be elsewhere
        return Drawn()


def _address(figure: Figure) -> str:
    """A picture within the page."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    file = io.BytesIO()
    # The same bytes as by savefig, which draws everything twice for the sake of the layout.
    canvas: Any = FigureCanvasAgg(figure)
    canvas.print_png(file)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


@dataclass(frozen=True)
class Sheet:
    """A world on a board.

    Attributes:
        results: The runs.
        task: The world's name.
        t: Times of the points of its curves.
        rows: What is said of each agent and reference that has finished a run.
    """

    results: Results
    task: str
    t: Array
    rows: dict[str, dict[str, Any]]

    @classmethod
    def of(
        cls, results: Results, task: str, track: str, *, table: pd.DataFrame, agents: Sequence[str]
    ) -> Sheet:
        """From the table of all worlds."""
        runs = _finished(results, task, agents, track)
        references = _finished(results, task, REFERENCE_ROWS, REFERENCES)
        t, places = _kept_steps([*runs.values(), *references.values()])
        curves = {agent: _curve(found, places) for agent, found in {**runs, **references}.items()}
        phases = phase_rows(results, task, runs)
        shown = page_columns("task", track=track, changes=results.has_changes)
        rows = {}
        for row in table[table["task"] == task].to_dict("records"):
            agent = str(row["agent"])
            rows[agent] = {**cells(shown, row), "curve": band(curves[agent])}
            if agent in phases:
                rows[agent]["by_phase"] = numbers(phases[agent])
        return cls(results, task, t, rows)

    def about(self, pictures: Pictures) -> dict[str, Any]:
        """The world itself."""
        periods = set(self.results.periods(self.task).values())
        drawn = pictures.of(self.results, self.task)
        rows = self.rows.values()
        return {
            "name": self.task,
            "about": drawn.about,
            "picture": drawn.light,
            "dark_picture": drawn.dark,
            "simulated": self.task in simulated_tasks(self.results),
            "runs": int(max((row["runs"] for row in rows), default=0)),
            "t": numbers(self.t),
            "phases": max((len(row.get("by_phase", ())) for row in rows), default=0),
            "period": number(periods.pop()) if len(periods) == 1 else None,
        }


def _finished(results: Results, task: str, agents: Sequence[str], track: str) -> dict[str, Curves]:
    """The runs of the agents that have finished any."""
    found = {agent: results.curves(task, agent, track) for agent in agents}
    return {agent: runs for agent, runs in found.items() if len(runs.regret)}


def _curve(runs: Curves, places: NDArray[np.intp]) -> Band:
    """Cumulative regret at some of the steps."""
    kept = places[places < runs.regret.shape[1]]
    curves = np.cumsum(runs.regret, axis=1)[:, kept]
    # The band of a sum needs the sums only: differences of kept points are the steps between.
    found = mean_curve(np.diff(curves, axis=1, prepend=0.0), resamples=400)
    return Band(found.estimate, np.maximum(found.low, 0.0), found.high)


def _kept_steps(runs: Iterable[Curves]) -> tuple[Array, NDArray[np.intp]]:
    """Times of the points of a task's curves, and their places."""
    for found in runs:
        last = len(found.t) - 1
        places = np.unique(np.linspace(0, last, POINTS).round().astype(np.intp))
        return np.asarray(found.t[places], dtype=np.float64), places
    return np.zeros(0), np.zeros(0, dtype=np.intp)
