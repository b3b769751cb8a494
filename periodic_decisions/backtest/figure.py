"""A picture of a backtest: gains over the baseline, window by window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from periodic_decisions.backtest.judged import Judged
from periodic_decisions.backtest.rewards import ORACLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def gains_figure(judged: Judged) -> Figure:
    """The gain of each row over the baseline with its interval, and of each window as a dot.

    The oracle is left out: nobody comes near it, and it would press all others together.
    """
    from matplotlib.figure import Figure

    rows = [row for row in (*judged.ranking, *judged.references) if row != ORACLE]
    figure = Figure(figsize=(8.0, 1.2 + 0.34 * len(rows)), layout="constrained")
    axes = figure.subplots()
    base = judged.totals[judged.baseline]
    # One scale for all windows: of a window with hardly any reward a share of its own says little.
    scale = abs(base.mean()) / 100.0 if judged.shares else float(judged.plan.steps)
    for place, row in enumerate(rows):
        colour = "#0072B2" if row in judged.agents else "#777777"
        dots = (judged.totals[row] - base) / scale
        axes.plot(dots, np.full(len(dots), place), "o", ms=3, color=colour, alpha=0.35)
        gain, factor = judged.gain(row), 100.0 if judged.shares else 1.0
        if not np.isnan(gain.low):
            axes.plot([factor * gain.low, factor * gain.high], [place, place], "-", color=colour)
        axes.plot([factor * gain.estimate], [place], "D", ms=6, color=colour)
    axes.axvline(0.0, color="#000000", lw=0.8)
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    axes.invert_yaxis()
    unit = "%" if judged.shares else "by step"
    axes.set(
        title=f"{judged.source}, {len(base)} windows",
        xlabel=f"gain over {judged.baseline} ({unit}); dots are windows, lines 95 % intervals",
    )
    return figure
