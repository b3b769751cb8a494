"""How the agents of a board compare: pair by pair, by profile, and by other ways to rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from evaluation.report.numbers import band, number, numbers
from evaluation.results import Results
from evaluation.statistics import paired_matrix, performance_profile
from evaluation.summary import UNIFORM, score_matrix

Array = NDArray[np.float64]

THRESHOLDS = np.linspace(-0.2, 1.0, 61)
"""Scores at which profiles are shown."""


def profiles(results: Results, track: str) -> dict[str, Any]:
    """Of each agent, the share of runs above each score."""
    agents, scores = score_matrix(results, track=track)
    return {
        agent: band(performance_profile(score, THRESHOLDS, resamples=400))
        for agent, score in zip(agents, scores, strict=True)
    }


def pairs(results: Results, order: list[str], track: str) -> dict[str, Any]:
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
        padded[name] = [numbers(row) for row in whole]
    return padded


def sensitivity(results: Results, order: list[str], track: str) -> dict[str, Any] | None:
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
            [number(rank[agents.index(agent)]) for rank in ranks.values()]
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
