"""Pictures of a sweep: numbers from its results, drawn by ``evaluation.plots``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from evaluation.plots import curves_figure, phase_figure, profile_figure
from evaluation.results import Curves, Results
from evaluation.statistics import curve_band, performance_profile, regret_by_phase
from periodic_envs.arrays import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class NothingToDrawError(Exception):
    """Results that have no picture."""


def curves(results: Results) -> Figure:
    """Mean cumulative regret over time with bands, one panel per task."""
    runs = _all_runs(results)
    bands = {
        task: {agent: curve_band(found.regret) for agent, found in agents.items()}
        for task, agents in runs.items()
    }
    times = {task: next(iter(agents.values())).t for task, agents in runs.items()}
    return curves_figure(bands, times=times, agents=_labels(results))


def phases(results: Results) -> Figure:
    """Mean regret of a step by phase of the season."""
    by_phase = {task: phase_rows(results, task, runs) for task, runs in _all_runs(results).items()}
    return phase_figure(by_phase, period={task: _shown_period(results, task) for task in by_phase})


def phase_rows(results: Results, task: str, runs: Mapping[str, Curves]) -> dict[str, Array]:
    """Mean regret of a step in each phase of the season, for the runs of each agent in a task."""
    periods, shown = results.periods(task), _shown_period(results, task)
    return {agent: _by_phase(found, periods, shown) for agent, found in runs.items()}


def _shown_period(results: Results, task: str) -> float:
    """Seasons of different lengths are laid over each other, in 24 parts."""
    periods = set(results.periods(task).values())
    return periods.pop() if len(periods) == 1 else 24.0


def _by_phase(found: Curves, periods: dict[tuple[str, int], float], shown: float) -> Array:
    rows = [
        regret_by_phase(regret[None], found.t * (shown / periods.get(name, shown)), shown)
        for name, regret in zip(found.names, found.regret, strict=True)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a phase that no run has reached
        return np.asarray(np.nanmean(rows, axis=0))


def profiles(results: Results) -> Figure:
    """Share of runs above each score, over all tasks."""
    thresholds = np.linspace(-0.2, 1.0, 121)
    found = {}
    for track in results.tracks:
        scores = results.scores(track)
        for agent, score in zip(scores.agents, scores.values, strict=True):
            found[_label(agent, track)] = performance_profile(score, thresholds)
    if not found:
        raise NothingToDrawError("no agent has finished a run in every task: no profiles to draw")
    return profile_figure(found, thresholds, agents=_labels(results))


FIGURES: dict[str, Callable[[Results], Figure]] = {
    "curves": curves,
    "phases": phases,
    "profiles": profiles,
}


def _all_runs(results: Results) -> dict[str, dict[str, Curves]]:
    """The runs of every agent in every task, where there are any."""
    found: dict[str, dict[str, Curves]] = {}
    for task in results.tasks:
        for track in results.tracks:
            for agent in results.agents(track):
                runs = results.curves(task, agent, track)
                if len(runs.regret):
                    found.setdefault(task, {})[_label(agent, track)] = runs
    if not found:
        raise NothingToDrawError("no run is finished: there is nothing to draw")
    return found


def _label(agent: str, track: str) -> str:
    return agent if track == "online" else f"{agent} ({track})"


def _labels(results: Results) -> list[str]:
    return [_label(a, track) for track in results.tracks for a in results.agents(track)]
