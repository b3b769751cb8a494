"""What a file holds, in a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from periodic_decisions.seasons.check import Check
from periodic_decisions.seasons.gain import Gain
from periodic_decisions.seasons.slots import Slots
from periodic_decisions.tables.grid import Clock
from periodic_envs.arrays import Array
from periodic_envs.labels import short, thinned, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

MAX_LINES = 6
"""The largest number of arms drawn as lines; more are drawn as a heat map."""
MAX_NAMES = 18
"""The largest number of names beside a heat map."""
MAX_TICKS = 7
"""The largest number of ticks on the axis of time."""
_EVERY = {
    **{f"{n}min": n / 1440 for n in (1, 5, 15, 30)},
    **{f"{n}h": n / 24 for n in (1, 3, 6, 12)},
    **{"1D": 1, "2D": 2, "W-MON": 7, "2W-MON": 14},
    **{"MS": 30, "2MS": 60, "QS": 90, "6MS": 180},
    **{f"{n}YS": 365 * n for n in (1, 2, 5, 10, 25, 50, 100)},
}
"""Days between the ticks that people expect on a calendar."""
_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")  # for all eyes
_MARK = "#d1495b"


def check_figure(check: Check) -> Figure:
    """Draw values over time, spectrum, autocorrelation, profile by phase, and policies."""
    rows = 2 if check.gain is None else 3
    figure = Figure(figsize=(11.0, 2.0 + 2.2 * rows), dpi=110, layout="constrained")
    grid = figure.add_gridspec(rows, 2, height_ratios=[1.15, 0.9, 1.15][:rows])
    found = f"season of {check.in_steps(check.period)}" if check.period else "no season found"
    title = wrapped(f"{check.source}: {found}", 100)
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, parse_math=False)
    _draw_values(figure.add_subplot(grid[0, :]), check)
    _draw_spectrum(figure.add_subplot(grid[1, 0]), check)
    _draw_autocorrelation(figure.add_subplot(grid[1, 1]), check)
    if check.gain is not None:
        _draw_profile(figure.add_subplot(grid[2, 0]), check, check.gain)
        _draw_policies(figure.add_subplot(grid[2, 1]), check, check.gain)
    return figure


def _plain(text: str) -> str:
    """Write a name that is not taken for mathematics, or for a label to be hidden."""
    return (" " if text.startswith("_") else "") + short(text).replace("$", r"\$")


def _title(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _draw_table(axes: Axes, check: Check, values: Array, edges: tuple[float, float]) -> None:
    """Draw lines for a few arms, a heat map for many."""
    names = [_plain(name) for name in check.series.names]
    if len(names) <= MAX_LINES:
        places = np.linspace(*edges, len(values), endpoint=False)
        for name, colour, column in zip(names, _COLOURS, values.T, strict=False):
            axes.plot(places, column, color=colour, lw=1.2, label=name)
        axes.margins(x=0)
        axes.grid(alpha=0.25)
        return
    image = axes.imshow(
        values.T,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        extent=(*edges, -0.5, len(names) - 0.5),
    )
    axes.figure.colorbar(image, ax=axes, pad=0.01)
    shown = thinned(len(names), MAX_NAMES)
    axes.set_yticks(shown, [names[i] for i in shown], fontsize=7)


def _draw_values(axes: Axes, check: Check) -> None:
    values, clock = check.series.values, check.series.clock
    shown = min(len(values), max(300, round(4 * (check.period or 0))), 2000)
    _draw_table(axes, check, values[:shown], (0.0, float(shown)))
    part = "" if shown == len(values) else f" (the first {shown:,} of {len(values):,} steps)"
    _title(axes, f"Values{part}")
    ticks, labels = _calendar(clock, shown)
    if len(ticks) < 2:
        ticks = _ticks(shown, check.period)
        labels = [clock.at(round(tick)) for tick in ticks]
    axes.set_xticks(ticks, labels)
    for tick, label in zip(ticks, axes.get_xticklabels(), strict=True):
        place = _fraction(axes, tick)
        if not 0.05 < place < 0.95:  # not beyond the ends of the axis
            label.set_horizontalalignment("left" if place < 0.5 else "right")
    if len(check.series.names) <= MAX_LINES:
        axes.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=6, fontsize=8, frameon=False
        )


def _calendar(clock: Clock, shown: int) -> tuple[Array, list[str]]:
    """Place ticks with labels at whole hours, days, weeks, months or years; none for numbers."""
    if not isinstance(clock.first, pd.Timestamp):
        return np.zeros(0), []
    first, last = clock.first, clock.first + (shown - 1) * clock.step
    span = (last - first) / pd.Timedelta(1, "D")
    every = next(name for name, days in _EVERY.items() if span / days < MAX_TICKS)
    # Every sixth hour is counted from midnight, and every second month from January.
    begin = first.floor("D")
    if every.endswith("S"):
        begin = begin.replace(month=1, day=1)
    times = pd.date_range(begin, last, freq=every)
    times = times[times >= first]
    letters = len("2018-03-01" if (times == times.normalize()).all() else "2018-03-01 13:00")
    return clock.index(times), [str(time)[:letters] for time in times]


def _ticks(shown: int, period: float | None) -> Array:
    """Place a few ticks, each at the beginning of a season where there are seasons."""
    unit = period if period and period < shown else shown / 6.0
    unit *= np.ceil(shown / unit / MAX_TICKS)
    return np.arange(0.0, 0.97 * shown, unit)


def _draw_spectrum(axes: Axes, check: Check) -> None:
    seasons = check.seasons
    axes.loglog(1.0 / seasons.frequencies, np.maximum(seasons.power, 1e-6), color="0.35", lw=0.8)
    low = max(float(np.quantile(seasons.power, 0.02)), 1e-4) if len(seasons.power) else 1e-4
    axes.set_xlabel("period in steps")
    if seasons.power.max(initial=0.0) > low:
        axes.set_ylim(bottom=low)
    _log_ticks(axes.xaxis, axes.get_xlim(), room=3.5)
    _log_ticks(axes.yaxis, axes.get_ylim(), room=2.5)
    axes.minorticks_off()
    _mark_periods(axes, check)
    _title(axes, "Power by period, with slow drift taken out")


def _log_ticks(axis: Axis, limits: tuple[float, float], room: float) -> None:
    """Place ticks at 1, 2, 5, 10, 20, ... over few decades, and else at 1, 10, 100, ..."""
    few = np.log10(limits[1] / limits[0]) < room
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axis.set_major_formatter("{x:,g}")


def _draw_autocorrelation(axes: Axes, check: Check) -> None:
    similarity = check.seasons.autocorrelation
    end = len(similarity)
    if check.period:
        end = min(end, round(3.2 * check.period) + 2)
    axes.plot(np.arange(end), similarity[:end], color="0.35", lw=1.0)
    axes.axhline(0.0, color="0.7", lw=0.8)
    axes.set(xlabel="lag in steps", ylim=(min(-0.3, similarity[:end].min()) - 0.05, 1.05))
    axes.margins(x=0)
    _mark_periods(axes, check)
    _title(axes, "Autocorrelation")


def _mark_periods(axes: Axes, check: Check) -> None:
    """Mark the seasons found, the best by a full line, and the one asked for."""
    periods = [season.period for season in check.seasons.found]
    if check.period is not None:
        periods = [check.period, *(period for period in periods if period != check.period)]
    low, high = axes.get_xlim()
    styles = {period: "--" if i else "-" for i, period in enumerate(periods)}
    place, level = -1.0, 0
    for period in sorted(period for period in periods if low <= period <= high):
        axes.axvline(period, color=_MARK, lw=1.3, ls=styles[period], zorder=0)
        before, place = place, _fraction(axes, period)
        level = level + 1 if place - before < 0.12 else 0  # below a label that is too near
        axes.annotate(
            f" {period:,.5g} ",
            (period, 0.99 - 0.1 * level),
            xycoords=("data", "axes fraction"),
            fontsize=8,
            va="top",
            ha="left" if place < 0.9 else "right",
            color=_MARK,
        )


def _fraction(axes: Axes, x: float) -> float:
    """Say how far to the right a value stands, from 0 to 1."""
    shown = axes.transData.transform((x, axes.get_ylim()[1]))
    return float(axes.transAxes.inverted().transform(shown)[0])


def _draw_profile(axes: Axes, check: Check, gain: Gain) -> None:
    assert check.slots is not None
    planned = check.schedule.arms  # one only, if it is chosen all the time
    best = np.broadcast_to(planned, len(gain.profile)) if len(planned) == 1 else planned
    edges = (0.0, float(len(best)))
    _draw_table(axes, check, check.word_and_sign[1] * gain.profile, edges)
    _title(axes, "Mean by phase, and the arm of the schedule")
    axes.set(xlabel=check.slots.what, xlim=edges)
    ticks = _slot_ticks(check.slots)
    axes.set_xticks(list(ticks), list(ticks.values()))
    if len(check.series.names) > MAX_LINES:
        dots: dict[str, Any] = {"color": "white", "markeredgecolor": "black", "ms": 3.5}
        axes.plot(np.arange(len(best)) + 0.5, best, "o", markeredgewidth=0.6, **dots)
        return
    strip = axes.inset_axes((0.0, -0.035, 1.0, 0.035), transform=axes.transAxes)
    strip.bar(np.arange(len(best)), 1.0, 1.0, align="edge", color=[_COLOURS[i] for i in best])
    strip.set(xlim=(0, len(best)), ylim=(0, 1))
    strip.axis("off")
    axes.tick_params(axis="x", pad=7)


def _slot_ticks(slots: Slots) -> dict[int, str]:
    """Place ticks at the beginnings of weekdays or months, or else at a few of the slots."""
    groups = [i for i in range(len(slots)) if i == 0 or slots.groups[i] != slots.groups[i - 1]]
    if len(groups) > 1:
        return {i: slots.groups[i] for i in groups}
    return {i: slots.starts[i] for i in thinned(len(slots), MAX_TICKS + 1)}


def _draw_policies(axes: Axes, check: Check, gain: Gain) -> None:
    word, sign = check.word_and_sign
    rows = {
        "random arm": gain.random,
        "best arm": gain.static,
        "best arm\nof each phase": gain.per_phase,
        "best arm\nof each step": gain.oracle,
    }
    values = [sign * value for value in rows.values()]
    colours = ["0.8", "0.6", _MARK, "0.8"]
    bars = axes.barh(list(rows), values, color=colours, height=0.62)
    axes.axvline(sign * gain.static, color="0.4", lw=0.9, ls=":")
    # The line must not run through the number of a bar that is as long.
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    numbers = [f"{value:,.4g}" for value in values]
    axes.bar_label(bars, numbers, fontsize=9, padding=3, bbox=paper, zorder=3)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    share = f"the phase gets {gain.share:.0%} of the gain"
    _title(axes, f"Mean {word} per step: {share}")
    how = (
        f"arms of each phase chosen without the season they are judged by, {gain.seasons:,} seasons"
    )
    axes.set_xlabel(how, fontsize=8)
