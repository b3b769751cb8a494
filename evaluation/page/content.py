"""Content of a page of results, as plain data for ``html.render``."""

from __future__ import annotations

import base64
import io
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.typing import NDArray

from agents.registry import AgentSpec
from evaluation.columns import Column, least_runs, page_columns, simulated_tasks
from evaluation.plots import colour_of, dashes_of, looks, mean_curve, phase_rows, profile_bands
from evaluation.protocol import Protocol
from evaluation.results import Results, common_runs
from evaluation.specs import REFERENCE_ROWS, REFERENCES
from evaluation.statistics import MIN_RUNS, Band, paired_matrix
from evaluation.tables import overall_table, remarks, task_table
from periodic_envs.arrays import Array
from periodic_envs.rendering import world_figure

DIGITS = 7
"""Number of significant digits of numbers in JSON."""
MAX_DRAWN = 100_000
"""Maximum absolute value of the horizon and of the arguments of a world that is drawn."""
POINTS = 100
"""Maximum number of points of a curve."""
THRESHOLDS = np.linspace(-0.2, 1.0, 61)
"""Scores at which profiles are evaluated."""
UNVERIFIED = "The results come from a store and are not verified."
NOTES = (
    "Normalised regret is 0 for the oracle, which takes the best action at every step, and 1 for "
    "choosing at random. Agents are ranked by the interquartile mean of their normalised regret "
    "over all runs of all worlds. This mean excludes the best and the worst quarter of the runs. "
    "For a single world, normalised regret is the mean regret over all runs, divided by the mean "
    "regret of choosing at random. The order of agents in a world may therefore differ from the "
    "ranking.",
    "Intervals and bands are 95 % bootstrap intervals. They are computed by resampling whole runs "
    f"and require at least {MIN_RUNS} runs. The ranking and the profiles pool the runs of all "
    f"worlds. They require {least_runs(2)} runs of each world if there are two or three worlds, "
    f"and {least_runs(4)} runs of each world if there are four or more. Mean ranks require "
    f"{MIN_RUNS} runs of each world.",
    "All agents run in the same worlds with the same noise, so differences between agents are "
    f"paired. The interval of a difference requires {MIN_RUNS} seeds that both agents have "
    f"finished. In a comparison over all worlds, it requires {MIN_RUNS} such seeds for each world.",
    "In a comparison of two agents, one of them is called better if the 95 % interval of the mean "
    "difference excludes zero. The intervals are not corrected for multiple comparisons, so some "
    "intervals exclude zero by chance.",
)

Rows = Sequence[Mapping[str, Any]]
"""Rows of a table, each with its cells by key."""


def store_content(results: Results) -> dict[str, Any]:
    """Return the content of the page of a sweep."""
    about = {
        entry["label"]: about_agent(AgentSpec(entry["name"], entry["settings"]))
        for entry in results.sweep.protocol["agents"]
    }
    return {
        "title": f"{results.sweep.name}: results",
        "subtitle": results.sweep.protocol["description"],
        "facts": [[name, str(value)] for name, value in results.provenance.items()],
        "notes": NOTES,
        "remarks": [UNVERIFIED, *remarks(results)],
        "boards": [board_content(results, track, about) for track in results.tracks],
    }


def about_agent(agent: AgentSpec, *facts: tuple[str, str], **known: Any) -> dict[str, Any]:
    """Return the non-numeric part of an agent's row.

    Args:
        agent: The agent with its settings.
        facts: Names and values of further facts about the agent.
        known: Fields of a submission: ``tier``, ``authors``, ``link`` and ``ms_per_step``, which is
            the time per step that the maintainers measured.
    """
    row = {"tier": None, "authors": "", "link": None, **known}
    return {**row, "provenance": [("Run as", str(agent)), *facts]}


def board_content(
    results: Results, track: str, about: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the content of the board of a track.

    Args:
        results: Runs of the agents.
        track: Track of the agents.
        about: Non-numeric part of each agent's row, by label; see ``about_agent``.
    """
    means = task_table(results, track=track).rows
    ranked = {row["agent"]: row for row in overall_table(results, track=track).rows}
    agents = [*ranked, *_unranked(means, ranked)]
    columns = page_columns("overall")
    world_columns = page_columns("task")
    worlds = [world_content(results, task, track, means, world_columns) for task in results.tasks]
    profiles = profile_bands(results, track, THRESHOLDS, resamples=400)
    look = looks(entry["label"] for entry in results.sweep.protocol["agents"])
    rows = [
        {
            **cells(columns, ranked.get(agent, {})),
            **about[agent],
            "agent": agent,
            "look": [colour_of(look[agent]), dashes_of(look[agent])],
            "rank": rank if agent in ranked else None,
            "envs": [rows.get(agent) for _, rows in worlds],
            "profile": band(profiles[agent]) if agent in profiles else None,
        }
        for rank, agent in enumerate(agents, start=1)
    ]
    return {
        "title": f"Agents, {track}",
        "columns": [column.about() for column in columns],
        "world_columns": [column.about() for column in world_columns],
        "envs": [world for world, _ in worlds],
        "thresholds": numbers(THRESHOLDS),
        "rows": rows,
        "references": [
            {"agent": name, "envs": [rows.get(name) for _, rows in worlds]}
            for name in REFERENCE_ROWS
        ],
        "pairs": pairs(results, track),
    }


def _unranked(means: Rows, ranked: Mapping[str, Any]) -> list[str]:
    """Return the agents that are not ranked, sorted by mean normalised regret.

    These agents lack finished runs in some worlds. The mean is over the other worlds.
    """
    regrets: dict[str, list[float]] = {}
    for row in means:
        if row["agent"] not in (*ranked, *REFERENCE_ROWS):
            regrets.setdefault(row["agent"], []).append(row["normalised"])
    return sorted(regrets, key=lambda agent: float(np.mean(regrets[agent])))


def pairs(results: Results, track: str) -> dict[str, Any]:
    """Return the pairwise differences of agents in every world and over all worlds."""
    scores = results.scores(track)
    worlds = []
    for regrets in results.by_task.values():
        agents = [agent for agent in results.agents(track) if agent in regrets]
        worlds.append(_differences(agents, common_runs(regrets, agents) if agents else None))
    means = 1.0 - scores.values.mean(axis=2) if scores.agents else None
    return {"envs": worlds, "all": _differences(scores.agents, means)}


def _differences(agents: list[str], totals: Array | None) -> dict[str, Any] | None:
    """Return pairwise differences of totals (agents, runs), or None if there are no runs."""
    if totals is None or not totals.size:
        return None
    comparison = paired_matrix(totals)
    named = {"difference": comparison.estimate, "p": comparison.p_value}
    if totals.shape[1] >= MIN_RUNS:
        named |= {"low": comparison.low, "high": comparison.high}
    matrices = {name: [numbers(row) for row in matrix] for name, matrix in named.items()}
    return {"agents": agents, **matrices}


def world_content(
    results: Results, task: str, track: str, means: Rows, columns: Sequence[Column]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the content of a world, and the rows of agents and references with finished runs.

    Args:
        results: Runs of the agents and references.
        task: Name of the world.
        track: Track of the agents.
        means: Rows of the table that has one row per world and agent.
        columns: Columns of the table that has one row per world and agent.
    """
    groups = [(track, results.agents(track)), (REFERENCES, REFERENCE_ROWS)]
    every = {name: results.curves(task, name, group) for group, names in groups for name in names}
    runs = {name: curves for name, curves in every.items() if len(curves.regret)}
    t = next((curves.t for curves in runs.values()), np.zeros(0))
    places = np.linspace(0, len(t) - 1, min(len(t), POINTS)).round().astype(np.intp)
    phases = phase_rows(results, task, runs)
    rows = {
        row["agent"]: {
            **cells(columns, row),
            "curve": band(_curve(runs[row["agent"]].regret, places)),
            "by_phase": numbers(phases[row["agent"]]),
        }
        for row in means
        if row["task"] == task
    }
    periods = set(results.periods(task).values())
    world = {
        "name": task,
        **picture(results, task),
        "simulated": task in simulated_tasks(results),
        "runs": int(max((row["runs"] for row in rows.values()), default=0)),
        "t": numbers(t[places]),
        "period": number(periods.pop()) if len(periods) == 1 else None,
    }
    return world, rows


def _curve(regret: Array, places: NDArray[np.intp]) -> Band:
    """Return the mean cumulative regret of runs (runs, steps) at selected steps, with a band."""
    curves = np.cumsum(regret, axis=1)[:, places[places < regret.shape[1]]]
    # The band depends only on the cumulative regret at these steps.
    mean = mean_curve(np.diff(curves, axis=1, prepend=0.0), resamples=400)
    return Band(mean.estimate, np.maximum(mean.low, 0.0), mean.high)


# Numbers


def number(value: float | None) -> float | None:
    """Return a number with ``DIGITS`` significant digits, or None if it is not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{DIGITS}g}")


def numbers(values: Any) -> list[float | None]:
    """Return rounded numbers, with None for values that are not finite."""
    return [number(value) for value in np.asarray(values, dtype=np.float64).tolist()]


def cells(columns: Sequence[Column], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of a row: each is a number, or a list of a number and its bounds."""
    values = {column.key: numbers(column.values(row)) for column in columns}
    return {c.key: values[c.key] if c.interval else values[c.key][0] for c in columns}


def band(curve: Band) -> dict[str, Any]:
    """Return a curve as plain data; the bounds are None if the curve has no band."""
    ends = {"low": curve.low, "high": curve.high}
    bounds = {name: None if np.isnan(end).all() else numbers(end) for name, end in ends.items()}
    return {"mean": numbers(curve.estimate), **bounds}


# Pictures


def picture(results: Results, task: str) -> dict[str, str | None]:
    """Return the description of a world and a picture of its rewards on the first seed.

    If the world cannot be drawn, the description is empty and the picture is None.
    """
    stored = results.sweep.protocol
    entry = next(entry for entry in stored["envs"] if entry["group"] == task)
    try:
        _check_drawable(stored["horizon"], entry)
        protocol = Protocol.from_dict({**stored, "envs": [entry], "agents": ["random"]})
        env = protocol.world(protocol.envs[0]).make()
        env.reset(seed=protocol.seeds[0])
        assert env.episode is not None
        title = f"{entry['label']}, seed {protocol.seeds[0]}"
        figure = world_figure(title, env.setup, env.episode)
        about = (type(env.setup.world).__doc__ or "").strip().partition("\n")[0]
        return {"about": about, "picture": _data_address(figure)}
    except Exception:  # a picture is optional: the world may not be installed
        return {"about": "", "picture": None}


def _check_drawable(horizon: int | None, entry: Mapping[str, Any]) -> None:
    """Raise an error if drawing an untrusted world could import code, read files or be slow.

    Raises:
        ValueError: If the world is not registered, reads data from a path, or has a numeric
            argument or horizon above ``MAX_DRAWN`` in magnitude.
    """
    module, _, name = str(entry["id"]).rpartition(":")
    values = [horizon, *entry["arguments"].values()]
    large = any(isinstance(each, int | float) and abs(each) > MAX_DRAWN for each in values)
    unknown = name not in gym.registry or (module and module not in sys.modules)
    if unknown or large or "data" in entry["arguments"]:
        raise ValueError(
            f"cannot draw the world {entry['label']!r}: it must be registered, must not have the "
            f"argument 'data', and its numeric arguments must be at most {MAX_DRAWN:,} in magnitude"
        )


def _data_address(figure: Any) -> str:
    """Return a figure as a data URL."""
    figure.set_dpi(72)
    file = io.BytesIO()
    canvas: Any = FigureCanvasAgg(figure)  # savefig would draw everything twice for the layout
    canvas.print_png(file)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
