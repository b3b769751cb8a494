"""Pictures of a sweep: curves with bands, phases of the season, performance profiles.

Figures are built without pyplot, which keeps global state and may want a screen.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from evaluation.dark import darkened
from evaluation.few_runs import profile_bands, shown_curve
from evaluation.looks import colour_of, dashes_of, looks
from evaluation.results import Curves, Results
from evaluation.simulated import titles
from evaluation.statistics import Band, regret_by_phase
from periodic_envs.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Value = TypeVar("Value")
LEGEND_LINE = 0.17
"""Inches of one line of a legend."""

MAX_TITLE = 32
"""Letters of a title that have room above a panel."""

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
    dark: bool = False,
) -> Figure:
    """Mean cumulative regret with its band, one panel per environment and one legend for all.

    Args:
        curves: ``curves[env][agent]``, each of shape (steps,): see ``statistics.curve_band``.
        times: ``times[env]`` of shape (steps,); without it, steps count from 1.
        agents: All agents that have a look; without it, those in ``curves``.
        dark: Whether it is for a dark page.
    """
    styles = agent_styles(agents or list(dict.fromkeys(a for env in curves.values() for a in env)))
    figure, panels = _panels(list(curves), width=5.6, height=3.4)
    for (env, bands), axes in zip(curves.items(), panels, strict=True):
        for agent, band in bands.items():
            t = range(1, len(band.estimate) + 1) if times is None else times[env]
            _draw_band(axes, t, band, agent, styles[agent])
        axes.set(title=_folded(env), xlabel="step t", ylabel="mean cumulative regret")
        axes.set_ylim(bottom=0.0)
        _open_grid(axes)
    ends = [{agent: band.estimate[-1] for agent, band in env.items()} for env in curves.values()]
    _legend(figure, panels, _from_top(ends))
    return darkened(figure) if dark else figure


def phase_figure(
    by_phase: Mapping[str, Mapping[str, ArrayLike]],
    *,
    period: Mapping[str, float] | None = None,
    dark: bool = False,
) -> Figure:
    """Mean regret of a step by phase: a heat map per environment, one row per agent.

    Rows are sorted by their mean: the agent that loses least is on top. The colours of a panel
    span its middle 98 %: a single terrible agent does not hide the others.

    Args:
        by_phase: ``by_phase[env][agent]`` of shape (bins,): see ``statistics.regret_by_phase``.
        period: ``period[env]``, the season's length in steps; without it, the number of bins.
        dark: Whether it is for a dark page.
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
        axes.set(title=_folded(env), xlabel="phase")
        figure.colorbar(image, ax=axes, label="regret per step", pad=0.02, extend="max")
    return darkened(figure) if dark else figure


def profile_figure(
    profiles: Mapping[str, Band],
    thresholds: ArrayLike,
    *,
    agents: Sequence[str] | None = None,
    dark: bool = False,
) -> Figure:
    """Performance profiles: the share of runs that score above each threshold; higher is better.

    Args:
        profiles: ``profiles[agent]``, each of shape (thresholds,): see
            ``statistics.performance_profile``.
        thresholds: Shape (thresholds,).
        agents: All agents that have a look; without it, those in ``profiles``.
        dark: Whether it is for a dark page.
    """
    styles = agent_styles(agents or list(profiles))
    figure, (axes,) = _panels([""], width=6.4, height=4.2)
    for agent, band in profiles.items():
        _draw_band(axes, thresholds, band, agent, styles[agent])
    axes.set(
        xlabel="score s (1: oracle, 0: random choice)", ylabel="share of runs with a score above s"
    )
    axes.set_ylim(0.0, 1.02)
    _open_grid(axes)
    _legend(figure, [axes], _from_top([{a: band.estimate.mean() for a, band in profiles.items()}]))
    return darkened(figure) if dark else figure


def _draw_band(axes: Axes, x: ArrayLike, band: Band, agent: str, style: dict[str, Any]) -> None:
    x = np.asarray(x, dtype=np.float64)
    axes.plot(x, band.estimate, label=agent, linewidth=1.6, **style)
    axes.fill_between(x, band.low, band.high, color=style["color"], alpha=0.12, linewidth=0.0)


def _open_grid(axes: Axes) -> None:
    axes.margins(x=0.0)
    axes.grid(alpha=0.3)


def _from_top(ends: Sequence[Mapping[str, float]]) -> list[str]:
    """Agents from the highest line to the lowest, over all panels: legends read like labels."""
    heights: dict[str, list[float]] = {}
    for panel in ends:
        for agent, end in panel.items():
            below = sum(end > other for other in panel.values())
            heights.setdefault(agent, []).append(below / max(len(panel) - 1, 1))
    return sorted(heights, key=lambda agent: -float(np.mean(heights[agent])))


def _legend(figure: Figure, panels: Sequence[Axes], agents: Sequence[str]) -> None:
    """One legend for all panels, beside them, in as many columns as it needs."""
    lines = {line.get_label(): line for axes in panels for line in axes.get_lines()}
    room = int(figure.get_figheight() / LEGEND_LINE)
    figure.legend(
        [lines[agent] for agent in agents],
        list(agents),
        loc="outside right upper",
        ncols=math.ceil(len(agents) / max(room, 1)),
        frameon=False,
        fontsize=8,
        handlelength=2.6,
    )


def _panels(titles: Sequence[str], *, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """About as many columns as rows, at most three."""
    from evaluation.figure import ShownFigure

    columns = min(math.ceil(math.sqrt(len(titles))), 3)
    rows = math.ceil(len(titles) / columns)
    figure = ShownFigure(figsize=(width * columns, height * rows), dpi=100, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for axes in grid[len(titles) :]:
        axes.remove()
    return figure, grid[: len(titles)]


class NothingToDrawError(Exception):
    """Results that have no picture."""


def curves(results: Results, *, dark: bool = False) -> Figure:
    """Mean cumulative regret over time, one panel per task; with bands from five runs on."""
    runs = _all_runs(results)
    bands = {
        task: {agent: shown_curve(found.regret) for agent, found in agents.items()}
        for task, agents in runs.items()
    }
    times = {task: next(iter(agents.values())).t for task, agents in runs.items()}
    return curves_figure(
        _titled(results, bands), times=_titled(results, times), agents=_labels(results), dark=dark
    )


def phases(results: Results, *, dark: bool = False) -> Figure:
    """Mean regret of a step by phase of the season."""
    by_phase = {task: phase_rows(results, task, runs) for task, runs in _all_runs(results).items()}
    periods = {task: _shown_period(results, task) for task in by_phase}
    return phase_figure(_titled(results, by_phase), period=_titled(results, periods), dark=dark)


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


def profiles(results: Results, *, dark: bool = False) -> Figure:
    """Share of runs above each score, over all tasks."""
    thresholds = np.linspace(-0.2, 1.0, 121)
    found = {
        _label(agent, track): band
        for track in results.tracks
        for agent, band in profile_bands(results, track, thresholds).items()
    }
    if not found:
        raise NothingToDrawError(
            "no agent has finished a run in every task: no profiles to draw; for agents that take "
            "part in some tasks only, draw these (envs)"
        )
    return profile_figure(found, thresholds, agents=_labels(results), dark=dark)


FIGURES: dict[str, Callable[..., Figure]] = {
    "curves": curves,
    "phases": phases,
    "profiles": profiles,
}


def _folded(title: str) -> str:
    """A long title in two lines: beside it is the legend."""
    return title.replace(", ", ",\n", 1) if len(title) > MAX_TITLE else title


def _titled(results: Results, by_task: Mapping[str, Value]) -> dict[str, Value]:
    """The same by titles of panels, which say of what was simulated that it was."""
    named = titles(results)
    return {named[task]: value for task, value in by_task.items()}


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
    """Of all agents of the sweep: one looks the same in a picture of some of them."""
    return [_label(entry["label"], entry["track"]) for entry in results.sweep.protocol["agents"]]
