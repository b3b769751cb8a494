"""Tables of results: what is said about a sweep."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pandas as pd

from evaluation.column import Column
from evaluation.columns import columns_of, row_of
from evaluation.compared import AllTasks, TaskRuns
from evaluation.protocol.tracks import REFERENCE_ROWS
from evaluation.results import Results
from evaluation.simulated import WORD, simulated_tasks
from evaluation.statistics import PairedDifference, paired_difference


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
    named = {task: f"{task} ({track})" for task in results.tasks}
    named |= {task: f"{task} ({track}, {WORD})" for task in simulated_tasks(results)}
    frame.attrs.update(tasks=named, track=track, baseline=known)
    return frame


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
    frame = ResultsTable(frame.sort_values("normalised", ignore_index=True))
    count = "Both" if len(results.tasks) == 2 else f"All {len(results.tasks)}"
    title = (
        f"{count} tasks ({track}): 0 = oracle, 1 = choosing at random; normalised regret is an "
        "interquartile mean"
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
