"""Pictures of a sweep: curves with bands, phases of the season, performance profiles.

Figures are built without pyplot, which keeps global state and may want a screen.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from evaluation.looks import colour_of, dashes_of, looks
from evaluation.results import Curves, Results
from evaluation.statistics import Band, curve_band, performance_profile, regret_by_phase
from periodic_envs.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_DASHES: dict[str, Any] = {
    "solid": "-",
    "dash": (0, (5, 2)),
    "dot": (0, (1.5, 1.5)),
    "longdash": (0, (9, 3)),
    "dashdot": (0, (5, 2, 1.5, 2)),
    "longdashdot": (0, (9, 3, 1.5, 3)),
}
"""As Matplotlib draws them."""


def agent_styles(agents: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour and dashes of each agent for Matplotlib: see :mod:`evaluation.looks`."""
    return {
        agent: {"color": colour_of(look), "linestyle": _DASHES[dashes_of(look)]}
        for agent, look in looks(agents).items()
    }


def curves_figure(
    curves: Mapping[str, Mapping[str, Band]],
    *,
    times: Mapping[str, ArrayLike] | None = None,
    agents: Sequence[str] | None = None,
) -> Figure:
    """Mean cumulative regret with its band, one panel per environment.

    Args:
        curves: ``curves[env][agent]``, each of shape (steps,): see ``statistics.curve_band``.
        times: ``times[env]`` of shape (steps,); without it, steps count from 1.
        agents: All agents that have a look; without it, those in ``curves``.
    """
    styles = agent_styles(agents or list(dict.fromkeys(a for env in curves.values() for a in env)))
    figure, panels = _panels(list(curves), width=5.6, height=3.4)
    for (env, bands), axes in zip(curves.items(), panels, strict=True):
        # From the top line's end to the bottom's, so that the legend beside reads like labels.
        for agent in sorted(bands, key=lambda agent: -bands[agent].estimate[-1]):
            band = bands[agent]
            t = range(1, len(band.estimate) + 1) if times is None else times[env]
            _draw_band(axes, t, band, agent, styles[agent])
        axes.set(title=env, xlabel="step t", ylabel="mean cumulative regret")
        axes.set_ylim(bottom=0.0)
        _legend_beside(axes)
    return figure


def phase_figure(
    by_phase: Mapping[str, Mapping[str, ArrayLike]], *, period: Mapping[str, float] | None = None
) -> Figure:
    """Mean regret of a step by phase: a heat map per environment, one row per agent.

    Rows are sorted by their mean: the agent that loses least is on top. The colours of a panel
    span its middle 98 %: a single terrible agent does not hide the others.

    Args:
        by_phase: ``by_phase[env][agent]`` of shape (bins,): see ``statistics.regret_by_phase``.
        period: ``period[env]``, the season's length in steps; without it, the number of bins.
    """
    tallest = max(len(rows) for rows in by_phase.values())
    figure, panels = _panels(list(by_phase), width=5.4, height=1.1 + 0.26 * tallest)
    for (env, rows), axes in zip(by_phase.items(), panels, strict=True):
        values = np.array(list(rows.values()), dtype=np.float64)
        order = np.argsort(np.nanmean(values, axis=1), kind="stable")
        values, agents = values[order], np.array(list(rows))[order]
        season = values.shape[1] if period is None else period[env]
        image = axes.imshow(
            values,
            aspect="auto",
            cmap="cividis",
            vmin=0.0,
            vmax=max(float(np.nanpercentile(values, 99.0)), 1e-12),
            extent=(0.0, season, len(agents) - 0.5, -0.5),
            interpolation="nearest",
        )
        axes.set_yticks(range(len(agents)), agents, fontsize=8)
        axes.set(title=env, xlabel="phase")
        figure.colorbar(image, ax=axes, label="regret per step", pad=0.02, extend="max")
    return figure


def profile_figure(
    profiles: Mapping[str, Band], thresholds: ArrayLike, *, agents: Sequence[str] | None = None
) -> Figure:
    """Performance profiles: the share of runs that score above each threshold; higher is better.

    Args:
        profiles: ``profiles[agent]``, each of shape (thresholds,): see
            ``statistics.performance_profile``.
        thresholds: Shape (thresholds,).
        agents: All agents that have a look; without it, those in ``profiles``.
    """
    styles = agent_styles(agents or list(profiles))
    figure, (axes,) = _panels([""], width=6.4, height=4.2)
    for agent in sorted(profiles, key=lambda agent: -profiles[agent].estimate.mean()):
        _draw_band(axes, thresholds, profiles[agent], agent, styles[agent])
    axes.set(
        xlabel="score s (1: oracle, 0: random choice)", ylabel="share of runs with a score above s"
    )
    axes.set_ylim(0.0, 1.02)
    _legend_beside(axes)
    return figure


def _draw_band(axes: Axes, x: ArrayLike, band: Band, agent: str, style: dict[str, Any]) -> None:
    x = np.asarray(x, dtype=np.float64)
    axes.plot(x, band.estimate, label=agent, linewidth=1.6, **style)
    axes.fill_between(x, band.low, band.high, color=style["color"], alpha=0.12, linewidth=0.0)


def _legend_beside(axes: Axes) -> None:
    axes.margins(x=0.0)
    axes.grid(alpha=0.3)
    axes.legend(
        loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8, handlelength=2.6
    )


def _panels(titles: Sequence[str], *, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """About as many columns as rows, at most three."""
    from matplotlib.figure import Figure

    columns = min(math.ceil(math.sqrt(len(titles))), 3)
    rows = math.ceil(len(titles) / columns)
    figure = Figure(figsize=(width * columns, height * rows), dpi=100, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for axes in grid[len(titles) :]:
        axes.remove()
    return figure, grid[: len(titles)]


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
