"""Figures of a sweep: curves with bands, regret by phase, and performance profiles.

An agent has the same colour and dashes in all figures of a sweep. Figures are created without
pyplot, which has global state and may require a display.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from evaluation.columns import SIMULATED, AllTasks, simulated_tasks
from evaluation.errors import UserError
from evaluation.references import number_of_bins, phase_bins
from evaluation.results import Curves, Results
from evaluation.statistics import (
    MIN_RUNS,
    Band,
    curve_band,
    if_enough,
    performance_profile,
)
from periodic_envs.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Value = TypeVar("Value")

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette for all kinds of colour vision, without yellow."""
DASHES = ("solid", "dash", "dot", "longdash", "dashdot", "longdashdot")
"""Names of dash styles in Plotly. Combined with the colours, they distinguish 42 agents."""


def looks(agents: Iterable[str]) -> dict[str, int]:
    """Return the style index of each agent, which is its position in ``agents``."""
    return {agent: look for look, agent in enumerate(agents)}


def colour_of(look: int) -> str:
    """Return the colour of a style index."""
    return COLOURS[look % len(COLOURS)]


def dashes_of(look: int) -> str:
    """Return the dash style of a style index, one of the names in ``DASHES``."""
    return DASHES[look // len(COLOURS) % len(DASHES)]


LEGEND_LINE = 0.17
"""Height of a legend line in inches."""

MAX_TITLE = 32
"""Maximum number of characters of a panel title that is not split into two lines."""

_DASHES: dict[str, Any] = {
    "solid": "-",
    "dash": (0, (5, 2)),
    "dot": (0, (1.5, 1.5)),
    "longdash": (0, (9, 3)),
    "dashdot": (0, (5, 2, 1.5, 2)),
    "longdashdot": (0, (9, 3, 1.5, 3)),
}
"""Dash patterns of Matplotlib, by their names in Plotly."""


def agent_styles(agents: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the colour and dashes of each agent for Matplotlib."""
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
    """Draw mean cumulative regret with bands, one panel per environment.

    Args:
        curves: Bands ``curves[env][agent]`` of shape (steps,); see ``statistics.curve_band``.
        times: Times of the steps, ``times[env]`` of shape (steps,); by default 1, 2, ...
        agents: All agents that receive a style; by default the agents in ``curves``.
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
    _legend(figure, panels, styles)
    return figure


def phase_figure(
    by_phase: Mapping[str, Mapping[str, ArrayLike]],
    *,
    period: Mapping[str, float] | None = None,
) -> Figure:
    """Draw the mean regret per step by phase: a heat map per environment, one row per agent.

    Rows are sorted by their mean, lowest first. The colour scale of a panel ends at the 99th
    percentile of its values, so that a single outlier does not hide the differences between the
    other values.

    Args:
        by_phase: Mean regrets ``by_phase[env][agent]`` of shape (bins,); see ``regret_by_phase``.
        period: Length of the season in steps, ``period[env]``; by default the number of bins.
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
    return figure


def profile_figure(
    profiles: Mapping[str, Band],
    thresholds: ArrayLike,
    *,
    agents: Sequence[str] | None = None,
) -> Figure:
    """Draw performance profiles: the share of runs above each score. Higher shares are better.

    Args:
        profiles: Bands ``profiles[agent]`` of shape (thresholds,); see
            ``statistics.performance_profile``.
        thresholds: Scores, shape (thresholds,).
        agents: All agents that receive a style; by default the agents in ``profiles``.
    """
    styles = agent_styles(agents or list(profiles))
    figure, (axes,) = _panels([""], width=6.4, height=4.2)
    for agent, band in profiles.items():
        _draw_band(axes, thresholds, band, agent, styles[agent])
    axes.set(
        xlabel="score s (1: oracle, 0: choosing at random)",
        ylabel="share of runs with a score above s",
    )
    axes.set_ylim(0.0, 1.02)
    _open_grid(axes)
    _legend(figure, [axes], styles)
    return figure


def _draw_band(axes: Axes, x: ArrayLike, band: Band, agent: str, style: dict[str, Any]) -> None:
    x = np.asarray(x, dtype=np.float64)
    axes.plot(x, band.estimate, label=agent, linewidth=1.6, **style)
    axes.fill_between(x, band.low, band.high, color=style["color"], alpha=0.12, linewidth=0.0)


def _open_grid(axes: Axes) -> None:
    axes.margins(x=0.0)
    axes.grid(alpha=0.3)


def _legend(figure: Figure, panels: Sequence[Axes], order: Iterable[str]) -> None:
    """Draw one legend to the right of all panels, in as many columns as required."""
    lines = {line.get_label(): line for axes in panels for line in axes.get_lines()}
    agents = [agent for agent in order if agent in lines]
    room = int(figure.get_figheight() / LEGEND_LINE)
    figure.legend(
        [lines[agent] for agent in agents],
        agents,
        loc="outside right upper",
        ncols=math.ceil(len(agents) / max(room, 1)),
        frameon=False,
        fontsize=8,
        handlelength=2.6,
    )


def _panels(titles: Sequence[str], *, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, in a nearly square grid of at most three columns."""
    columns = min(math.ceil(math.sqrt(len(titles))), 3)
    rows = math.ceil(len(titles) / columns)
    figure = NotebookFigure(figsize=(width * columns, height * rows), dpi=100, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for axes in grid[len(titles) :]:
        axes.remove()
    return figure, grid[: len(titles)]


class NothingToDrawError(UserError):
    """Raised if results lack the data for a figure."""


class NotebookFigure(Figure):
    """Matplotlib figure that is displayed in notebooks."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", facecolor=self.get_facecolor())
        return file.getvalue()


def curves(results: Results) -> Figure:
    """Draw mean cumulative regret over time, with one panel per task.

    Curves have bands if there are at least five runs.
    """
    runs = _all_runs(results)
    if any(len(agent_runs.t) < 2 for agents in runs.values() for agent_runs in agents.values()):
        raise NothingToDrawError(
            "missing-steps",
            "the plot 'curves' needs the steps of the runs: load the store, or totals that were "
            "saved with save_totals(path, points=...)",
        )
    bands = {
        task: {agent: mean_curve(agent_runs.regret) for agent, agent_runs in agents.items()}
        for task, agents in runs.items()
    }
    times = {task: next(iter(agents.values())).t for task, agents in runs.items()}
    return curves_figure(
        _titled(results, bands), times=_titled(results, times), agents=_labels(results)
    )


def phases(results: Results) -> Figure:
    """Draw the mean regret per step by phase of the season."""
    runs = _all_runs(results)
    every = [agent_runs for agents in runs.values() for agent_runs in agents.values()]
    if any(len(agent_runs.t) < 2 or (np.diff(agent_runs.t) != 1).any() for agent_runs in every):
        raise NothingToDrawError(
            "missing-steps", "the plot 'phases' needs all steps of the runs: load the store"
        )
    by_phase = {task: phase_rows(results, task, agents) for task, agents in runs.items()}
    periods = {task: _season_of(results, task) for task in by_phase}
    return phase_figure(_titled(results, by_phase), period=_titled(results, periods))


def mean_curve(regret: Array, *, resamples: int = 1000) -> Band:
    """Return the ``curve_band`` of regrets, shape (runs, steps).

    The bounds are NaN if there are fewer than ``MIN_RUNS`` runs.
    """
    return if_enough(curve_band(regret, resamples=resamples), len(regret) >= MIN_RUNS)


def profile_bands(
    results: Results, track: str, thresholds: Array, *, resamples: int = 2000
) -> dict[str, Band]:
    """Return the ``performance_profile`` of each agent.

    The bounds are NaN if there are too few runs for an interval (see ``AllTasks.is_enough``).
    """
    tasks = AllTasks(results, track, baseline=None)
    return {
        agent: if_enough(
            performance_profile(tasks.score(agent), thresholds, resamples=resamples),
            tasks.is_enough,
        )
        for agent in tasks.scores.agents
    }


def phase_rows(results: Results, task: str, runs: Mapping[str, Curves]) -> dict[str, Array]:
    """Return the mean regret per step in each bin of the season (see ``phase_bins``), by agent."""
    periods, season = results.periods(task), _season_of(results, task)
    return {agent: _by_phase(agent_runs, periods, season) for agent, agent_runs in runs.items()}


def _season_of(results: Results, task: str) -> float:
    """Return the period of a task, or 24 if its runs have different periods."""
    periods = set(results.periods(task).values())
    return periods.pop() if len(periods) == 1 else 24.0


def _by_phase(agent_runs: Curves, periods: dict[tuple[str, int], float], season: float) -> Array:
    rows = [
        regret_by_phase(regret[None], agent_runs.t * (season / periods.get(name, season)), season)
        for name, regret in zip(agent_runs.names, agent_runs.regret, strict=True)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # from means of phases without steps
        return np.asarray(np.nanmean(rows, axis=0))


def regret_by_phase(regret: ArrayLike, t: ArrayLike, period: float) -> Array:
    """Return the mean regret per step in each bin of the season, over runs and seasons.

    Args:
        regret: Regret of each step, shape (runs, steps).
        t: Time of each step, the same in all runs, shape (steps,).
        period: Length of the season in steps, which need not be an integer; see ``phase_bins``.

    Returns:
        Mean regrets, shape (bins,). Bins without steps are NaN.
    """
    bins = number_of_bins(period)
    where = phase_bins(t, period)
    steps = np.bincount(where, minlength=bins)
    total = np.bincount(where, weights=np.asarray(regret).mean(0), minlength=bins)
    return np.where(steps > 0, total / np.maximum(steps, 1), np.nan)


def profiles(results: Results) -> Figure:
    """Draw the share of runs above each score, over all tasks."""
    thresholds = np.linspace(-0.2, 1.0, 121)
    bands = {
        _label(agent, track): band
        for track in results.tracks
        for agent, band in profile_bands(results, track, thresholds).items()
    }
    if not bands:
        raise NothingToDrawError(
            "incomplete-runs",
            "cannot draw profiles, because no agent has finished at least one run in each task: "
            "select tasks with envs=[...], or with --envs on the command line",
        )
    return profile_figure(bands, thresholds, agents=_labels(results))


FIGURES: dict[str, Callable[..., Figure]] = {
    "curves": curves,
    "phases": phases,
    "profiles": profiles,
}


def _folded(title: str) -> str:
    """Return a title, split into two lines if it is long."""
    return title.replace(", ", ",\n", 1) if len(title) > MAX_TITLE else title


def _titled(results: Results, by_task: Mapping[str, Value]) -> dict[str, Value]:
    """Return a mapping with panel titles instead of tasks as keys.

    The title of a simulated task is the name of the task, followed by ", simulated".
    """
    simulated = simulated_tasks(results)
    return {
        f"{task}, {SIMULATED}" if task in simulated else task: value
        for task, value in by_task.items()
    }


def _all_runs(results: Results) -> dict[str, dict[str, Curves]]:
    """Return the regret curves of finished runs, by task and agent."""
    by_task: dict[str, dict[str, Curves]] = {}
    for task in results.tasks:
        for track in results.tracks:
            for agent in results.agents(track):
                runs = results.curves(task, agent, track)
                if len(runs.regret):
                    by_task.setdefault(task, {})[_label(agent, track)] = runs
    if not by_task:
        raise NothingToDrawError(
            "no-finished-runs",
            "cannot draw a figure, because the selected agents have no finished run",
        )
    return by_task


def _label(agent: str, track: str) -> str:
    return agent if track == "online" else f"{agent} ({track})"


def _labels(results: Results) -> list[str]:
    """Return the labels of all agents of the sweep, so that a selection does not change styles."""
    return [_label(entry["label"], entry["track"]) for entry in results.sweep.protocol["agents"]]
