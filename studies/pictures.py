"""Empty figures and the marks that all studies draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evaluation.statistics import Interval

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"


def new_figure(
    width: float, height: float, rows: int = 1, columns: int = 1, **more: Any
) -> tuple[Figure, list[Axes]]:
    """A figure of this size in inches and its panels, row by row."""
    figure = Figure(figsize=(width, height), dpi=100, layout="constrained")
    return figure, list(np.ravel(figure.subplots(rows, columns, **more)))


def draw_curve(axes: Axes, x: Sequence[float], found: Sequence[Interval], **style: Any) -> None:
    """Estimates as a line with circles, intervals as a band."""
    (line,) = axes.plot(x, [f.estimate for f in found], "o-", **style)
    low, high = [f.low for f in found], [f.high for f in found]
    axes.fill_between(x, low, high, color=line.get_color(), alpha=0.15)
