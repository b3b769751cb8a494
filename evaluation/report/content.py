"""What a page of results says: numbers from results, as plain data for ``page.render``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from evaluation.figures import phase_rows
from evaluation.protocol import REFERENCES, YARDSTICKS
from evaluation.report.worlds import Pictures
from evaluation.results import Results
from evaluation.statistics import Band, curve_band, paired_matrix, performance_profile
from evaluation.summary import UNIFORM, overall, score_matrix, table

Array = NDArray[np.float64]

POINTS = 100
"""Of a curve: more cannot be seen."""
DIGITS = 5
THRESHOLDS = np.linspace(-0.2, 1.0, 61)
NOTES = (
    "Normalised regret is 0 for the oracle, which takes the best action at every step, and 1 for "
    "choosing at random. The ranking is by its interquartile mean over all runs of all worlds.",
    "Intervals cover 95 %, by drawing whole runs again. Agents met the same worlds and the same "
    "noise, so differences are paired.",
    "In a comparison of two, better means that the 95 % interval of the mean difference is clear "
    "of zero. It is not corrected for looking at many pairs: some will be clear by chance.",
)


@dataclass(frozen=True)
class About:
    """What is known of a row besides its numbers."""

    tier: str | None = None
    authors: str = ""
    link: str | None = None
    provenance: tuple[tuple[str, str], ...] = ()
    ms_per_step: float | None = None


def board_content(
    results: Results,
    *,
    id: str,
    title: str,
    note: str,
    track: str,
    about: Mapping[str, About],
    pictures: Pictures,
) -> dict[str, Any]:
    """A group of agents that are ranked with each other.

    Args:
        results: Their runs.
        id: For addresses.
        title: For people.
        note: What they have in common.
        track: Of the agents.
        about: By label.
        pictures: Of the worlds.
    """
    tasks = table(results, track=track)
    ranked = overall(results, track=track)
    order = _order(tasks, ranked)
    steps = {task: _kept_steps(results, task, list(order), track) for task in results.tasks}
    profiles = _profiles(results, track)
    phases = {task: phase_rows(results, task, track) for task in results.tasks}
    rows = [
        {
            "agent": agent,
            "rank": place if complete else None,
            "tier": about.get(agent, About()).tier,
            "authors": about.get(agent, About()).authors,
            "link": about.get(agent, About()).link,
            **_overall(ranked, agent, about.get(agent, About()).ms_per_step),
            "envs": [_env(results, tasks, t, agent, track, steps, phases) for t in results.tasks],
            "profile": profiles.get(agent),
            "provenance": [list(pair) for pair in about.get(agent, About()).provenance],
        }
        for place, (agent, complete) in enumerate(order.items(), start=1)
    ]
    return {
        "id": id,
        "title": title,
        "note": note,
        "envs": [
            {
                "name": task,
                "about": pictures.about(results, task),
                "picture": pictures.of(results, task),
                "runs": int(tasks[tasks["task"] == task]["runs"].max()) if len(tasks) else 0,
                "t": _numbers(steps[task][0]),
                "phases": max((len(p) for p in phases[task].values()), default=0),
                "period": _period(results, task),
            }
            for task in results.tasks
        ],
        "thresholds": _numbers(THRESHOLDS),
        "rows": rows,
        "references": [
            {
                "agent": name,
                "envs": [
                    _env(results, tasks, t, name, YARDSTICKS, steps, {}) for t in results.tasks
                ],
            }
            for name in REFERENCES
        ],
        "pairs": _pairs(results, list(order), track),
        "sensitivity": _sensitivity(results, list(order), track),
    }


def progress_content(results: Results) -> dict[str, Any]:
    """How far a run is."""
    failures = [[c.agent, c.env, str(c.seed), c.reason or ""] for c in results.failures]
    return {
        "done": len(results.cells) + len(results.trainings),
        "of": results.size,
        "failed": len(failures),
        "failures": failures[:50],
    }


def _order(tasks: pd.DataFrame, ranked: pd.DataFrame) -> dict[str, bool]:
    """Agents, the best first; those that have not finished every world follow, without a rank."""
    first = {} if ranked.empty else {str(agent): True for agent in ranked["agent"]}
    if tasks.empty:
        return first
    rest = tasks[~tasks["agent"].isin([*first, *REFERENCES])]
    means = rest.groupby("agent")["normalised"].mean().sort_values()
    return {**first, **{str(agent): False for agent in means.index}}


def _overall(ranked: pd.DataFrame, agent: str, measured: float | None) -> dict[str, Any]:
    rows = ranked[ranked["agent"] == agent] if not ranked.empty else ranked
    if rows.empty:
        return {"normalised": None, "mean_rank": None, "ms_per_step": None, "complete": False}
    row = rows.iloc[0]
    return {
        "normalised": _triple(row["normalised"], row["normalised_low"], row["normalised_high"]),
        "mean_rank": _triple(row["rank"], row["rank_low"], row["rank_high"]),
        "ms_per_step": _number(row["ms_per_step"] if measured is None else measured),
        "complete": True,
    }


def _env(
    results: Results,
    tasks: pd.DataFrame,
    task: str,
    agent: str,
    track: str,
    steps: Mapping[str, tuple[Array, NDArray[np.intp]]],
    phases: Mapping[str, Mapping[str, Array]],
) -> dict[str, Any] | None:
    """One agent in one world."""
    found = tasks[(tasks["task"] == task) & (tasks["agent"] == agent)] if len(tasks) else tasks
    if found.empty:
        return None
    row = found.iloc[0]
    # Regret is never negative, though an interval for its mean may reach there.
    regret = np.maximum([row["regret"], row["low"], row["high"]], 0.0)
    # On the runs that this agent has: others may have finished more.
    share = float(row.get("normalised", math.nan))
    scale = row["regret"] / share if share > 0 else math.nan
    runs = results.runs(task, agent, track)
    kept = steps[task][1]
    kept = kept[kept < runs.regret.shape[1]]
    curves = np.cumsum(runs.regret, axis=1)[:, kept]
    # The band of a sum needs the sums only: differences of kept points are the steps between.
    band = curve_band(np.diff(curves, axis=1, prepend=0.0), resamples=400)
    band = Band(band.estimate, np.maximum(band.low, 0.0), band.high)
    content = {
        "normalised": _triple(*(regret / scale)) if scale > 0 else [_number(share), None, None],
        "regret": _triple(*regret),
        "runs": int(row["runs"]),
        "curve": _band(band),
    }
    if task in phases:
        content["by_phase"] = _numbers(phases[task].get(agent, np.zeros(0)))
    return content


def _kept_steps(
    results: Results, task: str, order: list[str], track: str
) -> tuple[Array, NDArray[np.intp]]:
    """Times of the points of a task's curves, and their places."""
    for agent in order:
        t = results.runs(task, agent, track).t
        if len(t):
            places = np.unique(np.linspace(0, len(t) - 1, POINTS).round().astype(np.intp))
            return np.asarray(t[places], dtype=np.float64), places
    return np.zeros(0), np.zeros(0, dtype=np.intp)


def _period(results: Results, task: str) -> float | None:
    periods = set(results.periods(task).values())
    return _number(periods.pop()) if len(periods) == 1 else None


def _profiles(results: Results, track: str) -> dict[str, Any]:
    agents, scores = score_matrix(results, track=track)
    return {
        agent: _band(performance_profile(score, THRESHOLDS, resamples=400))
        for agent, score in zip(agents, scores, strict=True)
    }


def _pairs(results: Results, order: list[str], track: str) -> dict[str, Any]:
    """Row minus row in every world, and over all of them."""
    agents, scores = score_matrix(results, track=track)
    everywhere = None
    if len(agents):
        places = [order.index(agent) for agent in agents]
        everywhere = _matrix(1.0 - scores.mean(axis=2), places, len(order))
    return {
        "rows": len(order),
        "envs": [_task_pairs(results, task, order, track) for task in results.tasks],
        "all": everywhere,
    }


def _task_pairs(results: Results, task: str, order: list[str], track: str) -> Any:
    frame = results.totals
    mine = frame[(frame["task"] == task) & (frame["track"] == track)]
    if mine.empty:
        return None
    wide = mine.pivot_table(index=["env", "seed"], columns="agent", values="regret")
    present = [agent for agent in order if agent in wide.columns]
    common = wide[present].dropna()
    if common.empty:
        return None
    return _matrix(common.to_numpy().T, [order.index(agent) for agent in present], len(order))


def _matrix(totals: Array, places: list[int], rows: int) -> dict[str, Any]:
    """Row minus row; ``places`` says which rows of the table the totals are of."""
    found = paired_matrix(totals)
    named = {
        "difference": found.estimate,
        "low": found.low,
        "high": found.high,
        "p": found.p_value,
    }
    padded = {}
    for name, matrix in named.items():
        whole = np.full((rows, rows), np.nan)
        whole[np.ix_(places, places)] = matrix
        padded[name] = [_numbers(row) for row in whole]
    return padded


def _sensitivity(results: Results, order: list[str], track: str) -> dict[str, Any] | None:
    """Ranks without one world, and by other averages: does the order depend on the choice?"""
    agents, scores = score_matrix(results, track=track)
    if len(agents) < 2:
        return None
    tasks = scored_tasks(results, scores.shape[2])
    ways = {"all worlds": _iqm(scores)}
    if len(tasks) > 1:
        for i, task in enumerate(tasks):
            ways[f"without {task}"] = _iqm(np.delete(scores, i, axis=2))
    ways |= {"mean": scores.mean((1, 2)), "median": np.median(scores, axis=(1, 2))}
    ranks = {name: stats.rankdata(-values) for name, values in ways.items()}
    return {
        "columns": list(ranks),
        "ranks": [
            [_number(rank[agents.index(agent)]) for rank in ranks.values()]
            if agent in agents
            else [None] * len(ranks)
            for agent in order
        ],
    }


def scored_tasks(results: Results, count: int) -> list[str]:
    """Names of the tasks that have a score: those in which choosing at random loses something."""
    frame = results.totals
    uniform = frame[frame["agent"] == UNIFORM].groupby("task")["regret"].min()
    tasks = [task for task in results.tasks if uniform.get(task, 1.0) > 0]
    return tasks if len(tasks) == count else [f"world {i + 1}" for i in range(count)]


def _iqm(scores: Array) -> Array:
    return np.asarray(stats.trim_mean(scores.reshape(len(scores), -1), 0.25, axis=1))


def _band(band: Band) -> dict[str, Any]:
    return {
        "mean": _numbers(band.estimate),
        "low": _numbers(band.low),
        "high": _numbers(band.high),
    }


def _triple(estimate: float, low: float, high: float) -> list[float | None]:
    return [_number(estimate), _number(low), _number(high)]


def _numbers(values: Any) -> list[float | None]:
    return [_number(value) for value in np.asarray(values, dtype=np.float64).tolist()]


def _number(value: Any) -> float | None:
    """Short and finite, or nothing: JSON knows no NaN."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{DIGITS}g}")
