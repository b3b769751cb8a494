"""Tables of results: what is said about a sweep."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator

import pandas as pd

from evaluation.column import Column
from evaluation.columns import columns_of, row_of
from evaluation.compared import AllTasks, TaskRuns
from evaluation.results import Results
from evaluation.simulated import WORD, simulated_tasks
from evaluation.specs import REFERENCE_ROWS
from evaluation.statistics import MIN_RUNS, PairedDifference, paired_difference


class ResultsTable(pd.DataFrame):  # type: ignore[misc]  # pandas has no types
    """A DataFrame of results that prints whole, and shows itself in a notebook.

    What is made of it (rows, columns, sums) is a plain DataFrame.
    """

    def __repr__(self) -> str:
        """As ``periodic-gp show`` prints it, no wider than the screen."""
        from evaluation.tables import tables_of, text_of

        return text_of(tables_of(self), shutil.get_terminal_size().columns)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from evaluation.html import table_html

        return table_html(self)


def table(
    results: Results, *, baseline: str | None = None, track: str = "online", seed: int = 0
) -> ResultsTable:
    """One row per task and agent, reference rows last; ``evaluation.columns`` says what is in it.

    Args:
        results: The runs of a sweep.
        baseline: An agent of the track or a reference row, with which the others are compared.
        track: Track of the agents.
        seed: Seed of the bootstrap.
    """
    known = baseline if baseline in (*results.agents(track), *REFERENCE_ROWS) else None
    shown = columns_of("task", track=track, baseline=known, changes=results.has_changes)
    rows = [
        {"task": task, "agent": agent, **row_of(shown, runs, agent)}
        for task in results.tasks
        for runs in [TaskRuns(results, track, known, seed, task)]
        for agent in runs.agents
    ]
    frame = ResultsTable(rows, columns=["task", "agent", *_keys(shown)])
    frame.attrs.update(tasks=_titles(results, track), track=track, baseline=known)
    return frame


def _titles(results: Results, about: str) -> dict[str, str]:
    named = {task: f"{task} ({about})" for task in results.tasks}
    return named | {task: f"{task} ({about}, {WORD})" for task in simulated_tasks(results)}


def overall(
    results: Results, *, baseline: str | None = None, track: str = "online", seed: int = 0
) -> ResultsTable:
    """One row per agent over all tasks, the best first; see ``evaluation.columns``.

    Only runs that all agents have finished count, the same number in every task.

    Args:
        results: The runs of a sweep.
        baseline: An agent of the track, with which the others are compared.
        track: Track of the agents.
        seed: Seed of the bootstrap.
    """
    scores = results.scores(track)
    agents, (_, runs, scored) = scores.agents, scores.values.shape
    known = baseline if baseline in agents else None
    shown = columns_of("overall", track=track, baseline=known)
    tasks = AllTasks(results, track, known, seed)
    rows = [{"agent": agent, **row_of(shown, tasks, agent)} for agent in agents]
    frame = pd.DataFrame(rows, columns=["agent", *_keys(shown)])
    frame = ResultsTable(frame.sort_values("normalised", ignore_index=True, kind="stable"))
    count = {1: "One task", 2: "Both tasks"}.get(
        len(results.tasks), f"All {len(results.tasks)} tasks"
    )
    title = (
        f"{count} ({track}): 0 = oracle, 1 = choosing at random; normalised regret is an "
        "interquartile mean over runs"
    )
    frame.attrs.update(title=title, track=track, baseline=known, scored=(runs, scored))
    return frame


def _keys(shown: list[Column]) -> list[str]:
    return [key for column in shown for key in column.keys]


def paired(
    results: Results, first: str, second: str, *, seed: int = 0
) -> Iterator[tuple[str, int, PairedDifference]]:
    """First minus second for every task: its name, the number of common runs, the difference."""
    for task in results.tasks:
        found = {
            str(agent): regrets[agent]
            for track in reversed(results.tracks)
            for regrets in [results.regrets(task, track)]
            for agent in regrets
        }
        if first in found and second in found:
            both = pd.concat([found[first], found[second]], axis=1, join="inner").dropna()
            if len(both):
                a, b = both.sort_index().to_numpy().T
                yield task, len(both), paired_difference(a, b, seed=seed)


def pair_table(results: Results, first: str, second: str, *, seed: int = 0) -> ResultsTable:
    """First minus second on common runs, a row for each task; they may be of two tracks.

    Args:
        results: The runs of a sweep.
        first: An agent or a reference row.
        second: Another one.
        seed: Seed of the bootstrap and of the test.
    """
    rows = []
    for task, runs, gap in paired(results, first, second, seed=seed):
        low, high = (gap.low, gap.high) if runs >= MIN_RUNS else (math.nan, math.nan)
        rows.append([task, first, runs, gap.estimate, low, high, gap.p_value])
    bounds = ["difference", "difference_low", "difference_high"]
    frame = ResultsTable(rows, columns=["task", "agent", "runs", *bounds, "p_value"])
    named = _titles(results, "common runs")
    frame.attrs.update(tasks={t: named[t] for t in frame["task"]}, track=None, baseline=second)
    return frame
