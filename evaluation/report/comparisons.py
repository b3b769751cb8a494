"""How the agents of a board compare: pair by pair, by profile, and by other ways to rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from evaluation.report.numbers import band, numbers
from evaluation.results import Results
from evaluation.statistics import paired_matrix, performance_profile
from periodic_envs.arrays import Array

THRESHOLDS = np.linspace(-0.2, 1.0, 61)
"""Scores at which profiles are shown."""


def profiles(results: Results, track: str) -> dict[str, Any]:
    """Of each agent, the share of runs above each score."""
    scores = results.scores(track)
    return {
        agent: band(performance_profile(score, THRESHOLDS, resamples=400))
        for agent, score in zip(scores.agents, scores.values, strict=True)
    }


def pairs(results: Results, order: list[str], track: str) -> dict[str, Any]:
    """Row minus row in every world, and over all of them."""
    scores = results.scores(track)
    everywhere = 1.0 - scores.values.mean(axis=2) if scores.agents else None
    return {
        "rows": len(order),
        "envs": [_task_pairs(results, task, order, track) for task in results.tasks],
        "all": None if everywhere is None else _matrix(everywhere, scores.agents, order),
    }


def _task_pairs(results: Results, task: str, order: list[str], track: str) -> dict[str, Any] | None:
    regrets = results.regrets(task, track)
    present = [agent for agent in order if agent in regrets]
    common = regrets[present].dropna() if present else regrets.iloc[:0]
    return None if common.empty else _matrix(common.to_numpy().T, present, order)


def _matrix(totals: Array, agents: list[str], order: list[str]) -> dict[str, Any]:
    """Row minus row of totals (agents, runs), as a matrix of all rows of the table."""
    found = paired_matrix(totals)
    named = {"difference": found.estimate, "low": found.low, "high": found.high, "p": found.p_value}
    places = [order.index(agent) for agent in agents]
    padded = {}
    for name, matrix in named.items():
        whole = np.full((len(order), len(order)), np.nan)
        whole[np.ix_(places, places)] = matrix
        padded[name] = [numbers(row) for row in whole]
    return padded


def sensitivity(results: Results, order: list[str], track: str) -> dict[str, Any] | None:
    """Ranks without one world, and by other averages: does the order depend on the choice?"""
    scores = results.scores(track)
    values = scores.values
    if len(scores.agents) < 2:
        return None
    ways = {"all worlds": _iqm(values)}
    if len(scores.tasks) > 1:
        for i, task in enumerate(scores.tasks):
            ways[f"without {task}"] = _iqm(np.delete(values, i, axis=2))
    ways |= {"mean": values.mean((1, 2)), "median": np.median(values, axis=(1, 2))}
    ranks = np.array([stats.rankdata(-way) for way in ways.values()]).T
    by_agent = {agent: numbers(row) for agent, row in zip(scores.agents, ranks, strict=True)}
    nothing = [None] * len(ways)
    return {"columns": list(ways), "ranks": [by_agent.get(agent, nothing) for agent in order]}


def _iqm(scores: Array) -> Array:
    return np.asarray(stats.trim_mean(scores.reshape(len(scores), -1), 0.25, axis=1))
