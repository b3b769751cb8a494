"""Scores of agents over all tasks: 1 for the oracle, 0 for choosing at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evaluation.statistics import score_of_regret
from periodic_envs.arrays import Array

UNIFORM = "uniform-random"
"""The reference row that chooses at random."""


@dataclass(frozen=True)
class Scores:
    """Scores of the agents that have finished something in every task.

    Attributes:
        agents: Their labels, in the protocol's order.
        tasks: The tasks that have a score: those in which choosing at random loses something.
        values: Shape (agents, runs, tasks); the runs are those that all agents have, the same
            number in every task.
    """

    agents: list[str]
    tasks: list[str]
    values: Array


def scores_of(regrets: Mapping[str, pd.DataFrame], agents: Sequence[str]) -> Scores:
    """Scores from regrets.

    Args:
        regrets: For each task a table with one row per run, and one column per agent and reference.
        agents: Labels of the agents to be scored.
    """
    scored = {task: runs for task, runs in regrets.items() if _has_scores(runs)}
    complete = [a for a in agents if all({a, UNIFORM} <= set(runs) for runs in scored.values())]
    columns = [_task_scores(runs, complete) for runs in scored.values()] if complete else []
    if not columns or min(column.shape[1] for column in columns) == 0:
        return Scores([], [], np.zeros((0, 0, 0)))
    return Scores(complete, list(scored), _stacked(columns))


def _has_scores(runs: pd.DataFrame) -> bool:
    """Where choosing at random loses nothing there is nothing to learn, and no score."""
    return UNIFORM not in runs or bool((runs[UNIFORM].dropna() > 0).all())


def _task_scores(runs: pd.DataFrame, agents: list[str]) -> Array:
    """Scores (agents, runs) on the runs of a task that all agents have."""
    common = runs[[*agents, UNIFORM]].dropna()
    return score_of_regret(common[agents].to_numpy().T, uniform=common[UNIFORM].to_numpy())


def _stacked(columns: list[Array]) -> Array:
    """Of scores (agents, runs) of every task one array (agents, runs, tasks)."""
    count = min((c.shape[1] for c in columns if c.shape[1] > 1), default=1)
    # A task of one run is a fixed one, without scatter: it stands for itself as often as needed.
    filled = [c.repeat(count, axis=1) if c.shape[1] == 1 else c[:, :count] for c in columns]
    return np.stack(filled, axis=2)
