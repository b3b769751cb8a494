"""Figure of a check: values, spectrum, and mean by phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure

from periodic_decisions.seasons.check import Check
from periodic_decisions.seasons.schedule import PhaseGain
from periodic_envs.arrays import Array
from periodic_envs.rendering import short, thinned, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LINES = 6  # maximum number of arms drawn as lines; more arms are drawn as a heat map
MAX_NAMES = 18  # maximum number of labels of a heat map
MAX_TICKS = 8  # maximum number of ticks if a season has no weekdays or months
_COLOURS = (
    "#4477aa",
    "#ee6677",
    "#228833",
    "#ccbb44",
    "#66ccee",
    "#aa3377",
)  # distinguishable by colour-blind readers
_MARK = "#d1495b"


def check_figure(check: Check) -> Figure:
    """Draw values over time, power by period, and the mean by phase with the schedule."""
    rows = 2 if check.gain is None else 3
    figure = Figure(figsize=(11.0, 2.0 + 2.2 * rows), dpi=110, layout="constrained")
    panels = figure.subplots(rows, 1)
    season = f"season of {check.in_steps(check.period)}" if check.period else "no season"
    title = wrapped(f"{check.source}: {season}", 100)
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, parse_math=False)
    _draw_values(panels[0], check)
    _draw_spectrum(panels[1], check)
    if check.gain is not None:
        _draw_profile(panels[2], check, check.gain)
    return figure


def _title(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _draw_table(axes: Axes, check: Check, values: Array, edges: tuple[float, float]) -> None:
    """Draw the values as lines for a few arms, or as a heat map for many arms."""
    # Matplotlib reads "$" as mathematics, and hides labels that start with an underscore.
    plain = [short(name).replace("$", r"\$") for name in check.series.names]
    names = [f" {name}" if name.startswith("_") else name for name in plain]
    if len(names) <= MAX_LINES:
        places = np.linspace(*edges, len(values), endpoint=False)
        for name, colour, column in zip(names, _COLOURS, values.T, strict=False):
            axes.plot(places, column, color=colour, lw=1.2, label=name)
        axes.margins(x=0)
        axes.grid(alpha=0.25)
        return
    extent = (*edges, -0.5, len(names) - 0.5)
    image = axes.imshow(
        values.T, aspect="auto", origin="lower", interpolation="nearest", extent=extent
    )
    axes.figure.colorbar(image, ax=axes, pad=0.01)
    labelled = thinned(len(names), MAX_NAMES)
    axes.set_yticks(labelled, [names[i] for i in labelled], fontsize=7)


def _draw_values(axes: Axes, check: Check) -> None:
    values, grid = check.series.values, check.series.grid
    n_shown = min(len(values), max(300, round(4 * (check.period or 0))), 2000)
    first, last = grid.first, grid.first + n_shown * grid.step
    dated = isinstance(first, pd.Timestamp)
    edges = tuple(date2num([first, last])) if dated else (first, last)  # type: ignore[no-untyped-call]
    _draw_table(axes, check, values[:n_shown], edges)
    part = "" if n_shown == len(values) else f" (the first {n_shown:,} of {len(values):,} steps)"
    _title(axes, f"Values{part}")
    if dated:
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    if len(check.series.names) <= MAX_LINES:
        axes.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=6, fontsize=8, frameon=False
        )


def _draw_spectrum(axes: Axes, check: Check) -> None:
    search = check.search
    axes.loglog(1.0 / search.frequencies, np.maximum(search.power, 1e-6), color="0.35", lw=0.8)
    low = max(float(np.quantile(search.power, 0.02)), 1e-4) if len(search.power) else 1e-4
    if search.power.max(initial=0.0) > low:
        axes.set_ylim(bottom=low)
    axes.set_xlabel("period in steps")
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.minorticks_off()
    _mark_periods(axes, check)
    _title(axes, "Power by period, without slow drift")


def _mark_periods(axes: Axes, check: Check) -> None:
    """Mark the season of the check with a solid line, and other detected seasons with dashes."""
    periods = dict.fromkeys([check.period, *(season.period for season in check.search.seasons)])
    low, high = axes.get_xlim()
    visible = [period for period in periods if period is not None and low <= period <= high]
    for number, period in enumerate(visible):
        style = "--" if number else "-"
        label = f"{period:,.5g}"
        axes.axvline(period, color=_MARK, lw=1.3, ls=style, zorder=0, label=label)
    if visible:
        axes.legend(fontsize=8, loc="upper right", labelcolor=_MARK, frameon=False)


def _draw_profile(axes: Axes, check: Check, gain: PhaseGain) -> None:
    slots = check.slots
    assert slots is not None
    # A schedule without a season has a single arm for all slots.
    best = np.broadcast_to(check.schedule.arms, len(gain.profile))
    edges = (0.0, float(len(best)))
    values = check.word_and_sign[1] * gain.profile
    _draw_table(axes, check, values, edges)
    _title(axes, "Mean by phase, and the arm of the schedule")
    axes.set(xlabel=slots.what, xlim=edges)
    firsts = [i for i in range(len(slots)) if i == 0 or slots.groups[i] != slots.groups[i - 1]]
    few = thinned(len(slots), MAX_TICKS)
    ticks = (
        {i: slots.groups[i] for i in firsts}
        if len(firsts) > 1
        else {i: slots.starts[i] for i in few}
    )
    axes.set_xticks(list(ticks), list(ticks.values()))
    many = len(check.series.names) > MAX_LINES
    height = best if many else values[np.arange(len(best)), best]
    axes.plot(np.arange(len(best)) + 0.5 * many, height, "o", mfc="white", mec="black", ms=3.5)
