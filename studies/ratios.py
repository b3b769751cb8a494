"""Tables for the pages of studies: numbers with intervals, computed from results."""

from __future__ import annotations

import pandas as pd

from evaluation.results import Results
from evaluation.statistics import Interval, mean_interval, paired_ratio
from periodic_envs.arrays import Array


def interval_text(interval: Interval, digits: int = 2) -> str:
    """Return an estimate with its 95 % interval as text, such as ``0.84 [0.80, 0.89]``."""
    estimate, low, high = (
        f"{value:,.{digits}f}" for value in (interval.estimate, interval.low, interval.high)
    )
    return f"{estimate} [{low}, {high}]"


def ratio(results: Results, task: str, agent: str, baseline: str) -> Interval:
    """Return the ratio of an agent's mean regret to that of a baseline, paired over runs."""
    runs = results.regrets(task)[[agent, baseline]].dropna()
    return paired_ratio(*_columns(runs))


def ratio_table(
    results: Results, task: str, baseline: str, *, digits: int = 1, track: str = "online"
) -> pd.DataFrame:
    """Return the mean regrets of agents in ascending order, and their ratios to a baseline.

    Args:
        results: Results of the runs.
        task: Name of the task in tables.
        baseline: Name of an agent or of a reference row.
        digits: Number of decimals of the regrets.
        track: Track of the agents.
    """
    regrets = results.regrets(task, track)
    names = [name for name in results.agents(track) if name in regrets]
    rows = {}
    for name in sorted(names, key=lambda name: float(regrets[name].mean())):
        runs = regrets[[name]].dropna()
        rows[name] = {"regret": interval_text(mean_interval(runs[name].to_numpy()), digits)}
        if name != baseline:
            common = regrets[[name, baseline]].dropna()
            rows[name][f"ratio to {baseline}"] = interval_text(paired_ratio(*_columns(common)))
    return pd.DataFrame.from_dict(rows, orient="index").fillna("").rename_axis("agent")


def normalised_table(results: Results, *, track: str = "online") -> pd.DataFrame:
    """Return the mean normalised regrets by agent (the smallest first) and task."""
    table = results.table(track=track)
    wide = pd.DataFrame(table).pivot(index="agent", columns="task", values="normalised")
    wide = wide[list(results.tasks)]
    wide.columns = pd.Index([str(name).removeprefix("PeriodicGP-") for name in wide])
    return wide.loc[wide.mean(axis=1).sort_values().index].round(2)


def _columns(frame: pd.DataFrame) -> tuple[Array, Array]:
    first, second = frame.to_numpy().T
    return first, second
