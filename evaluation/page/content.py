"""Content of a page of results: plain data for ``html.render``."""

from __future__ import annotations

import base64
import io
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from evaluation.columns import Column, least_runs, page_columns, simulated_tasks
from evaluation.plots import (
    colour_of,
    darkened,
    dashes_of,
    looks,
    mean_curve,
    phase_rows,
    profile_bands,
)
from evaluation.protocol import Protocol
from evaluation.results import Curves, Regrets, Results, common_runs
from evaluation.specs import REFERENCE_ROWS, REFERENCES, canonical_json
from evaluation.statistics import MIN_RUNS, Band, middle_half, paired_matrix, ranks_of
from evaluation.tables import excluded, overall_table, task_table
from periodic_envs.arrays import Array
from periodic_envs.rendering import world_figure

DIGITS = 7
"""Significant digits of a number in JSON."""
MAX_DRAWN = 100_000
"""Largest number among the arguments of a world that is drawn: of steps, arms and similar."""
POINTS = 100
"""Largest number of points of a curve."""
Rows = Sequence[Mapping[str, Any]]
"""Rows of a table, their cells by key."""
NOTES = (
    "Normalised regret is 0 for the oracle, which takes the best action at every step, and 1 for "
    "choosing at random. The ranking is by its interquartile mean over all runs of all worlds: "
    "the best and the worst quarter of the runs do not count. In one world it is the mean regret "
    "as a share of the mean regret of choosing at random: there every run counts, and the order "
    "may be another one.",
    "Intervals and bands cover 95 %, by drawing whole runs again; there are none with fewer than "
    f"{MIN_RUNS} runs. In the ranking and the profiles the runs of all worlds count together: two "
    f"or three worlds need {least_runs(2)} runs each, four or more {least_runs(4)}. Mean ranks "
    f"need {MIN_RUNS} runs of each.",
    "Agents met the same worlds and the same noise, so differences are paired. Their intervals "
    f"need {MIN_RUNS} common runs, in a comparison over all worlds, too.",
    "In a comparison of two, better means that the 95 % interval of the mean difference is clear "
    "of zero. It is not corrected for looking at many pairs: some will be clear by chance.",
)
NOTE = "Results of a store: they are not verified."
THRESHOLDS = np.linspace(-0.2, 1.0, 61)
"""Scores at which profiles are shown."""


@dataclass(frozen=True)
class About:
    """Content of a row besides its numbers.

    Attributes:
        tier: The last tier that a submission has passed.
        authors: Its authors.
        link: Address with more information.
        provenance: Names and values of other facts.
        ms_per_step: The agent's time per step as the maintainers measured it.
        only: "arms only" or "boxes only" of an agent that declares so and is excluded elsewhere.
    """

    tier: str | None = None
    authors: str = ""
    link: str | None = None
    provenance: tuple[tuple[str, str], ...] = ()
    ms_per_step: float | None = None
    only: str | None = None

    def content(self, *, complete: bool) -> dict[str, Any]:
        """Return a part of the row; a time that the maintainers measured replaces the author's."""
        measured = complete and self.ms_per_step is not None
        return {
            **({"ms_per_step": number(self.ms_per_step)} if measured else {}),
            "tier": self.tier,
            "only": self.only,
            "authors": self.authors,
            "link": self.link,
            "provenance": [list(pair) for pair in self.provenance],
        }


@dataclass(frozen=True)
class Board:
    """A group of agents that are ranked with each other.

    Attributes:
        id: The board's name in addresses.
        title: The board's name for people.
        note: What they have in common.
        track: Track of the agents.
        results: Their runs.
        about: What is known of each agent, by its label.
    """

    id: str
    title: str
    note: str
    track: str
    results: Results
    about: Mapping[str, About]


def board_content(board: Board) -> dict[str, Any]:
    """Return the content of a board."""
    results, track = board.results, board.track
    means = task_table(results, track=track).rows
    ranked = overall_table(results, track=track).rows
    order = _order(means, ranked)
    agents = list(order)
    look = looks(entry["label"] for entry in results.sweep.protocol["agents"])
    worlds = [
        world_content(results, task, track, rows=means, agents=agents) for task in results.tasks
    ]
    profiles = profile_bands(results, track, THRESHOLDS, resamples=400)
    shapes = {agent: band(share) for agent, share in profiles.items()}
    shown = page_columns("overall")
    of_worlds = page_columns("task")
    totals = {str(row["agent"]): cells(shown, row) for row in ranked}
    rows = [
        {
            **totals.get(agent, dict.fromkeys(column.key for column in shown)),
            **board.about.get(agent, About()).content(complete=complete),
            "agent": agent,
            "look": [colour_of(look[agent]), dashes_of(look[agent])],
            "rank": place if complete else None,
            "complete": complete,
            "envs": [own.get(agent) for _, own in worlds],
            "profile": shapes.get(agent),
        }
        for place, (agent, complete) in enumerate(order.items(), start=1)
    ]
    return {
        "id": board.id,
        "title": board.title,
        "note": board.note,
        "columns": [column.about() for column in shown],
        "world_columns": [column.about() for column in of_worlds],
        "envs": [about for about, _ in worlds],
        "thresholds": numbers(THRESHOLDS),
        "rows": rows,
        "references": [
            {"agent": name, "envs": [own.get(name) for _, own in worlds]} for name in REFERENCE_ROWS
        ],
        "pairs": pairs(results, agents, track),
        "sensitivity": sensitivity(results, agents, track),
    }


def progress_content(results: Results) -> dict[str, Any]:
    """Return the progress of a sweep."""
    failures = [[c.agent, c.env, str(c.seed), c.reason or ""] for c in results.failures]
    return {
        "done": len(results.runs) + len(results.trainings),
        "of": results.size,
        "failed": len(failures),
        "failures": failures[:50],
    }


def _order(rows: Rows, ranked: Rows) -> dict[str, bool]:
    """Return agents, the best first; those without runs in every world follow, without a rank."""
    order = {row["agent"]: True for row in ranked}
    regrets: dict[str, list[float]] = {}
    for row in rows:
        if row["agent"] not in (*order, *REFERENCE_ROWS):
            regrets.setdefault(row["agent"], []).append(row["normalised"])
    rest = sorted(regrets, key=lambda agent: float(np.mean(regrets[agent])))
    return order | dict.fromkeys(rest, False)


def store_content(results: Results) -> dict[str, Any]:
    """Return the content of the page of a sweep."""
    machines = [
        f"Python {m.get('python', '?')}, {m.get('platform', '?')}" for m in results.machines
    ]
    return {
        "title": f"{results.sweep.name}: results",
        "subtitle": results.sweep.protocol["description"],
        "facts": [
            ["Protocol hash", results.sweep.hash],
            ["Started", results.sweep.started[:19].replace("T", " ") + " UTC"],
            ["Command", results.sweep.command],
            ["Machine", "; ".join(machines)],
        ],
        "notes": [*NOTES, *excluded(results)],
        "boards": [board_content(board) for board in _boards(results)],
        "progress": progress_content(results),
    }


def _boards(results: Results) -> Iterator[Board]:
    """Yield a board for each track."""
    for track in results.tracks:
        yield Board(track, f"Agents, {track}", NOTE, track, results, _about(results))


def _about(results: Results) -> dict[str, About]:
    """Return what a store has on each agent."""
    return {
        entry["label"]: About(
            provenance=(("Run as", entry["name"]), ("Settings", settings_text(entry["settings"]))),
        )
        for entry in results.sweep.protocol["agents"]
    }


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return the settings of an agent as text."""
    return ", ".join(f"{k} = {v}" for k, v in settings.items()) or "its defaults"


def pairs(results: Results, order: list[str], track: str) -> dict[str, Any]:
    """Return row minus row in every world, and over all of them."""

    def of_task(regrets: Regrets) -> dict[str, Any] | None:
        present = [agent for agent in order if agent in regrets]
        common = common_runs(regrets, present) if present else np.zeros(0)
        return _matrix(common, present, order) if common.size else None

    scores = results.scores(track)
    means = 1.0 - scores.values.mean(axis=2) if scores.agents else None
    return {
        "envs": [of_task(results.by_task[task]) for task in results.tasks],
        "all": None if means is None else _matrix(means, scores.agents, order),
    }


def _matrix(totals: Array, agents: list[str], order: list[str]) -> dict[str, Any]:
    """Return row minus row of totals (agents, runs), as a matrix of all rows of the table."""
    found = paired_matrix(totals)
    named = {"difference": found.estimate, "p": found.p_value}
    if totals.shape[1] >= MIN_RUNS:
        named |= {"low": found.low, "high": found.high}
    places = [order.index(agent) for agent in agents]
    padded = {}
    for name, matrix in named.items():
        whole = np.full((len(order), len(order)), np.nan)
        whole[np.ix_(places, places)] = matrix
        padded[name] = [numbers(row) for row in whole]
    return padded


def sensitivity(results: Results, order: list[str], track: str) -> dict[str, Any] | None:
    """Return ranks without one world and by other averages."""
    scores = results.scores(track)
    values = scores.values
    if len(scores.agents) < 2:
        return None
    subsets = {"all worlds": values}
    if len(scores.tasks) > 1:
        subsets |= {f"without {t}": np.delete(values, i, 2) for i, t in enumerate(scores.tasks)}
    ways = {name: middle_half(one.reshape(len(one), -1)) for name, one in subsets.items()}
    ways |= {"mean": values.mean((1, 2)), "median": np.median(values, axis=(1, 2))}
    ranks = np.array([ranks_of(way) for way in ways.values()]).T
    by_agent = {agent: numbers(row) for agent, row in zip(scores.agents, ranks, strict=True)}
    nothing = [None] * len(ways)
    return {"columns": list(ways), "ranks": [by_agent.get(agent, nothing) for agent in order]}


# One world


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
    results: Results, task: str, track: str, *, rows: Rows, agents: Sequence[str]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the content of a world, and of each agent and reference with a finished run in it.

    Args:
        results: The runs.
        task: Name of the world.
        track: Track of the agents.
        rows: Rows of the table of all worlds.
        agents: Labels of the agents.
    """
    runs = _finished(results, task, agents, track)
    references = _finished(results, task, REFERENCE_ROWS, REFERENCES)
    t, places = _kept_steps([*runs.values(), *references.values()])
    curves = {agent: _curve(found, places) for agent, found in {**runs, **references}.items()}
    phases = phase_rows(results, task, runs)
    columns = page_columns("task")
    own = {}
    for row in rows:
        if row["task"] == task:
            agent = row["agent"]
            own[agent] = {**cells(columns, row), "curve": band(curves[agent])}
            if agent in phases:
                own[agent]["by_phase"] = numbers(phases[agent])
    periods = set(results.periods(task).values())
    about = {
        "name": task,
        **picture(results, task),
        "simulated": task in simulated_tasks(results),
        "runs": int(max((row["runs"] for row in own.values()), default=0)),
        "t": numbers(t),
        "period": number(periods.pop()) if len(periods) == 1 else None,
    }
    return about, own


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
