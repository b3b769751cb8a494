"""Tables of results: what is said about a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evaluation.protocol.protocol import REFERENCE_ROWS, REFERENCES
from evaluation.results import Results
from evaluation.statistics import (
    PairedDifference,
    holm,
    iqm,
    mean_interval,
    mean_ranks,
    normalised_regret,
    paired_difference,
    probability_of_improvement,
    score_of_regret,
)

Array = NDArray[np.float64]
UNIFORM = "uniform-random"


def table(
    results: Results, *, baseline: str | None = None, track: str = "online", seed: int = 0
) -> pd.DataFrame:
    """One row per task and agent, reference rows last.

    Columns: runs, regret with its 95 % interval (low, high), normalised (0 = oracle, 1 = choosing
    at random), ms_per_step; with a baseline also the paired difference to it on common runs
    (difference, difference_low, difference_high) and its p_value, Holm-corrected over the agents of
    the task; in the track "pretrained" also interactions (training included) and training_seconds.

    Args:
        results: Of a run.
        baseline: An agent or a reference row.
        track: Which agents.
        seed: Of the bootstrap.
    """
    rows = []
    for task in results.tasks:
        totals = _totals(results, task, track)
        uniform = totals.get(UNIFORM)
        block = [
            _row(task, agent, totals, uniform, baseline, seed)
            for agent in [*results.agents(track), *REFERENCE_ROWS]
            if agent in totals
        ]
        rows += _with_holm(block)
    frame = pd.DataFrame(rows)
    if not frame.empty:
        mine = results.totals[results.totals["track"] == track]
        times = mine.groupby(["task", "agent"])["ms_per_step"].mean()
        frame["ms_per_step"] = [times.get((r.task, r.agent)) for r in frame.itertuples()]
        if track == "pretrained":
            _add_training(frame, results)
    return frame


def _add_training(frame: pd.DataFrame, results: Results) -> None:
    """What an agent had before and during judgement: interactions, and seconds of training."""
    steps = results.totals.groupby(["task", "agent"])["steps"].max()
    trained = [results.training(row.task, row.agent) for row in frame.itertuples()]
    lived = [steps.get((row.task, row.agent)) for row in frame.itertuples()]
    frame["interactions"] = [
        n if had is None or n is None else had[0] + n for had, n in zip(trained, lived, strict=True)
    ]
    frame["training_seconds"] = [None if had is None else had[1] for had in trained]


def overall(
    results: Results, *, baseline: str | None = None, track: str = "online", seed: int = 0
) -> pd.DataFrame:
    """One row per agent over all tasks, the best first.

    Columns: normalised regret as an interquartile mean with its interval, mean rank with its
    interval, ms_per_step, and with a baseline the probability of doing better than it. Only runs
    that all agents have finished count, the same number in every task.

    Args:
        results: Of a run.
        baseline: An agent of the track.
        track: Which agents.
        seed: Of the bootstrap.
    """
    agents, scores = score_matrix(results, track=track)
    if not scores.size:
        return pd.DataFrame()
    ranks = mean_ranks(scores, seed=seed)
    times = results.totals.groupby("agent")["ms_per_step"].mean()
    rows = []
    for number, agent in enumerate(agents):
        score = iqm(scores[number], seed=seed)
        row: dict[str, Any] = {
            "agent": agent,
            "normalised": 1.0 - score.estimate,
            "normalised_low": 1.0 - score.high,
            "normalised_high": 1.0 - score.low,
            "rank": ranks[number].estimate,
            "rank_low": ranks[number].low,
            "rank_high": ranks[number].high,
            "ms_per_step": times.get(agent),
        }
        if baseline in agents and agent != baseline:
            base = scores[agents.index(baseline)]
            better = probability_of_improvement(scores[number], base, seed=seed)
            row.update(better=better.estimate, better_low=better.low, better_high=better.high)
        rows.append(row)
    return pd.DataFrame(rows).sort_values("normalised", ignore_index=True)


def paired(
    results: Results, first: str, second: str, *, seed: int = 0
) -> Iterator[tuple[str, int, PairedDifference]]:
    """First minus second for every task: its name, the number of common runs, the difference."""
    for task in results.tasks:
        found: dict[str, pd.Series] = {}
        for track in results.tracks:
            found = {**_totals(results, task, track), **found}
        if first in found and second in found:
            runs = _common([found[first], found[second]])
            if len(runs):
                pair = (found[agent][runs].to_numpy() for agent in (first, second))
                yield task, len(runs), paired_difference(*pair, seed=seed)


def score_matrix(results: Results, *, track: str = "online") -> tuple[list[str], Array]:
    """Agents that finished something in every task, and their scores (agents, runs, tasks).

    A score is 1 for the oracle and 0 for choosing at random. Runs are those that all agents have,
    the same number in every task.
    """
    by_task = {task: _totals(results, task, track) for task in results.tasks}
    # Where choosing at random loses nothing there is nothing to learn, and no score.
    by_task = {
        task: totals
        for task, totals in by_task.items()
        if UNIFORM not in totals or (totals[UNIFORM] > 0).all()
    }
    agents = [
        agent
        for agent in results.agents(track)
        if all(agent in totals and UNIFORM in totals for totals in by_task.values())
    ]
    if not agents or not by_task:
        return [], np.zeros((0, 0, 0))
    columns = []
    for totals in by_task.values():
        runs = _common([totals[agent] for agent in (*agents, UNIFORM)])
        regret = np.stack([totals[agent][runs].to_numpy() for agent in agents])
        columns.append(score_of_regret(regret, uniform=totals[UNIFORM][runs].to_numpy()))
    if min(column.shape[1] for column in columns) == 0:
        return [], np.zeros((0, 0, 0))
    several = [column.shape[1] for column in columns if column.shape[1] > 1]
    count = min(several, default=1)
    # A task of one run is a fixed one, without scatter: it stands for itself as often as needed.
    filled = [np.resize(c.T, (count, len(agents))).T if c.shape[1] == 1 else c for c in columns]
    return agents, np.stack([column[:, :count] for column in filled], axis=2)


def _totals(results: Results, task: str, track: str) -> dict[str, pd.Series]:
    """Regret of each run, by agent; runs are named by world and seed."""
    frame = results.totals
    chosen = frame[(frame["task"] == task) & frame["track"].isin([track, REFERENCES])]
    indexed = chosen.set_index(["env", "seed"])
    return {str(agent): part["regret"].sort_index() for agent, part in indexed.groupby("agent")}


def _common(series: Sequence[pd.Series]) -> pd.Index:
    index = series[0].index
    for other in series[1:]:
        index = index.intersection(other.index)
    return index.sort_values()


def _row(
    task: str,
    agent: str,
    totals: dict[str, pd.Series],
    uniform: pd.Series | None,
    baseline: str | None,
    seed: int,
) -> dict[str, Any]:
    mine = totals[agent]
    interval = mean_interval(mine.to_numpy(), seed=seed)
    row: dict[str, Any] = {"task": task, "agent": agent, "runs": len(mine)}
    row.update(regret=interval.estimate, low=interval.low, high=interval.high)
    if uniform is not None:
        runs = _common([mine, uniform])
        share = normalised_regret(mine[runs].mean(), uniform=uniform[runs].mean())
        row["normalised"] = float(share)
    if baseline in totals and agent != baseline:
        runs = _common([mine, totals[baseline]])
        if len(runs):
            gap = paired_difference(
                mine[runs].to_numpy(), totals[baseline][runs].to_numpy(), seed=seed
            )
            row.update(difference=gap.estimate, difference_low=gap.low, difference_high=gap.high)
            row["p_value"] = gap.p_value
    return row


def _with_holm(block: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Reference rows are not tested: they are computed, and some know the future."""
    tested = [row for row in block if "p_value" in row and row["agent"] not in REFERENCE_ROWS]
    for row, p_value in zip(tested, holm([r["p_value"] for r in tested]), strict=True):
        row["p_value"] = float(p_value)
    for row in block:
        if row["agent"] in REFERENCE_ROWS:
            row.pop("p_value", None)
    return block
