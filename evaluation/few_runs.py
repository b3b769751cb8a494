"""Few runs: which intervals are withheld, and what is said in their place.

Intervals of a task, bands of its curves and differences of two rows need ``MIN_RUNS`` runs. Over
all tasks runs are drawn again within each and count together (``AllTasks.has_enough``): there must
be as many degrees of freedom, ``tasks * (runs - 1)``, as ``MIN_RUNS`` runs of one task have. What
counts who is before whom (ranks, chances of being better) needs ``MIN_RUNS`` of each task all the
same: few runs can be drawn again in so few ways that its interval may have no width at all.
"""

from __future__ import annotations

import math

import numpy as np

from evaluation.compared import AllTasks, TaskRuns
from evaluation.results import Results
from evaluation.statistics import MIN_RUNS, Band, Interval, curve_band, performance_profile
from periodic_envs.arrays import Array

NO_INTERVALS = f"No intervals: they need at least {MIN_RUNS} runs."


def enough_runs(runs: TaskRuns | AllTasks, agent: str, *, counted: bool) -> bool:
    """Whether an agent has enough runs for an interval.

    Args:
        runs: Of a task or of all.
        agent: A row of their table.
        counted: Whether it is one of what counts who is before whom.
    """
    few = isinstance(runs, AllTasks) and len(runs.score(agent)) < MIN_RUNS
    return runs.has_enough(agent) and not (counted and few)


def shown_curve(regret: Array, *, resamples: int = 1000) -> Band:
    """``curve_band`` of regret (runs, steps), without its bounds if runs are too few."""
    return _shown(curve_band(regret, resamples=resamples), enough=len(regret) >= MIN_RUNS)


def profile_bands(
    results: Results, track: str, thresholds: Array, *, resamples: int = 2000
) -> dict[str, Band]:
    """``performance_profile`` of each agent, with bounds where the table has intervals."""
    tasks = AllTasks(results, track, baseline=None, seed=0)
    found = {}
    for agent in tasks.scores.agents:
        band = performance_profile(tasks.score(agent), thresholds, resamples=resamples)
        found[agent] = _shown(band, enough=tasks.has_enough(agent))
    return found


def _shown(found: Band, *, enough: bool) -> Band:
    nothing = np.full_like(found.estimate, np.nan)
    return found if enough else Band(found.estimate, nothing, nothing)


def least_runs(tasks: int) -> int:
    """Runs of each task that an interval over several tasks needs."""
    return 1 + math.ceil((MIN_RUNS - 1) / tasks)


def shown_difference(runs: TaskRuns, agent: str) -> Interval | None:
    """A row minus the baseline, without its interval if their common runs are too few."""
    found = runs.differences.get(agent)
    if found is None or len(runs.regrets[[agent, runs.baseline]].dropna()) >= MIN_RUNS:
        return found
    return Interval(found.estimate, math.nan, math.nan)


def note(*, without: bool, runs: int = MIN_RUNS, tasks: int = 1) -> str | None:
    """What is said below a table about its intervals, if anything is.

    Args:
        without: Whether it has none.
        runs: Runs of each task that it is made of, if it spans several.
        tasks: How many tasks it spans.
    """
    if tasks < 2:
        return NO_INTERVALS if without else None
    if without:
        return f"No intervals: over {tasks} tasks they need at least {least_runs(tasks)} runs each."
    if runs < MIN_RUNS:
        together = f"the {runs} runs of each of {tasks} tasks count together"
        return f"Intervals over all tasks: {together}. Ranks need {MIN_RUNS} runs of each for one."
    return None
