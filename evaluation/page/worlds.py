"""Content of one world of a board: its picture, and curves and numbers of its agents."""

from __future__ import annotations

import base64
import io
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evaluation.columns import Column, page_columns, simulated_tasks
from evaluation.plots import darkened, mean_curve, phase_rows
from evaluation.protocol import Protocol
from evaluation.results import Curves, Results
from evaluation.specs import REFERENCE_ROWS, REFERENCES, canonical_json
from evaluation.statistics import Band
from periodic_envs.arrays import Array
from periodic_envs.rendering import world_figure

DIGITS = 7
"""Significant digits of a number in JSON."""
MAX_DRAWN = 100_000
"""Largest number among the arguments of a world that is drawn: of steps, arms and similar."""
POINTS = 100
"""Largest number of points of a curve."""


def number(value: Any) -> float | None:
    """Return a short number, or None where it is not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{DIGITS}g}")


def numbers(values: Any) -> list[float | None]:
    """Return a short number for each value."""
    return [number(value) for value in np.asarray(values, dtype=np.float64).tolist()]


def cells(columns: Sequence[Column], row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a row of a table: the number of each column, with the ends of its interval if any."""
    found: dict[str, Any] = {}
    for column in columns:
        values = [number(value) for value in column.values(row)]
        found[column.key] = values if column.interval else values[0]
    return found


def band(found: Band) -> dict[str, Any]:
    """Return a curve with its band, if it has one."""
    ends = {"low": found.low, "high": found.high}
    shown = {name: None if np.isnan(end).all() else numbers(end) for name, end in ends.items()}
    return {"mean": numbers(found.estimate), **shown}


def world_content(
    results: Results, task: str, track: str, *, table: pd.DataFrame, agents: Sequence[str]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the content of a world, and of each agent and reference with a finished run in it.

    Args:
        results: The runs.
        task: Name of the world.
        track: Track of the agents.
        table: Table of all worlds.
        agents: Labels of the agents.
    """
    runs = _finished(results, task, agents, track)
    references = _finished(results, task, REFERENCE_ROWS, REFERENCES)
    t, places = _kept_steps([*runs.values(), *references.values()])
    curves = {agent: _curve(found, places) for agent, found in {**runs, **references}.items()}
    phases = phase_rows(results, task, runs)
    columns = page_columns("task", track=track, changes=results.has_changes)
    rows = {}
    for row in table[table["task"] == task].to_dict("records"):
        agent = str(row["agent"])
        rows[agent] = {**cells(columns, row), "curve": band(curves[agent])}
        if agent in phases:
            rows[agent]["by_phase"] = numbers(phases[agent])
    periods = set(results.periods(task).values())
    about = {
        "name": task,
        **picture(results, task),
        "simulated": task in simulated_tasks(results),
        "runs": int(max((row["runs"] for row in rows.values()), default=0)),
        "t": numbers(t),
        "period": number(periods.pop()) if len(periods) == 1 else None,
    }
    return about, rows


def _finished(results: Results, task: str, agents: Sequence[str], track: str) -> dict[str, Curves]:
    """Return the runs of the agents that have finished any."""
    found = {agent: results.curves(task, agent, track) for agent in agents}
    return {agent: runs for agent, runs in found.items() if len(runs.regret)}


def _curve(runs: Curves, places: NDArray[np.intp]) -> Band:
    """Return cumulative regret at some of the steps."""
    kept = places[places < runs.regret.shape[1]]
    curves = np.cumsum(runs.regret, axis=1)[:, kept]
    # The band of a sum needs the sums only: differences of kept points are the steps between.
    found = mean_curve(np.diff(curves, axis=1, prepend=0.0), resamples=400)
    return Band(found.estimate, np.maximum(found.low, 0.0), found.high)


def _kept_steps(runs: Iterable[Curves]) -> tuple[Array, NDArray[np.intp]]:
    """Return times of the points of a task's curves, and their places."""
    for found in runs:
        last = len(found.t) - 1
        places = np.unique(np.linspace(0, last, POINTS).round().astype(np.intp))
        return np.asarray(found.t[places], dtype=np.float64), places
    return np.zeros(0), np.zeros(0, dtype=np.intp)


# Pictures


def picture(results: Results, task: str) -> dict[str, str | None]:
    """Return the world's description and its landscape as agents are judged in it, first seed."""
    stored = results.sweep.protocol
    entry = next(entry for entry in stored["envs"] if entry["group"] == task)
    seeds = [int(stored["seeds"][0])]
    shown = {**stored, "envs": [entry], "agents": ["random"], "seeds": seeds}
    return _picture(canonical_json(shown))


@lru_cache(maxsize=256)
def _picture(stored: str) -> dict[str, str | None]:
    """Return the pictures of the only world of a protocol in JSON."""
    try:
        content = json.loads(stored)
        (entry,), (seed,) = content["envs"], content["seeds"]
        _check_drawable(content["horizon"], entry)
        protocol = Protocol.from_dict(content)
        env = protocol.world(protocol.envs[0]).make()
        about = (type(env.setup.world).__doc__ or "").strip().partition("\n")[0]
        env.reset(seed=seed)
        assert env.episode is not None
        figure = world_figure(f"{entry['label']}, seed {seed}", env.setup, env.episode)
        figure.set_dpi(72)
        return {
            "about": about,
            "picture": _data_address(figure),
            "dark_picture": _data_address(darkened(figure)),
        }
    except Exception:  # the page is of use without a picture: the world may not be installed here
        return {"about": "", "picture": None, "dark_picture": None}


def _check_drawable(horizon: int | None, entry: Mapping[str, Any]) -> None:
    """Refuse worlds that would import code, read files or be huge: stores may come from anywhere.

    Raises:
        ValueError: If the world is not registered here, has a path, or has a large number.
    """
    module, _, name = str(entry["id"]).rpartition(":")
    values = [horizon, *entry["arguments"].values()]
    large = any(isinstance(each, int | float) and abs(each) > MAX_DRAWN for each in values)
    unknown = name not in gym.registry or (module and module not in sys.modules)
    if unknown or large or "data" in entry["arguments"]:
        raise ValueError(f"the world {entry['label']!r} is not drawn")


def _data_address(figure: Any) -> str:
    """Return a figure as a picture within the page."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    file = io.BytesIO()
    canvas: Any = FigureCanvasAgg(figure)  # savefig would draw everything twice for the layout
    canvas.print_png(file)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
