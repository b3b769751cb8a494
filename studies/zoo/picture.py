"""One picture of everything: agents and worlds."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from studies.pictures import new_figure
from studies.zoo.bench import Bench
from studies.zoo.families import family_of, short_name

MAX_SHOWN_REGRET = 1.5
"""Where the colours end: worse than chance is all the same."""


def heat_map(bench: Bench) -> Figure:
    """Normalised regret, a row for each agent, a column for each world, a line between families."""
    agents, worlds = bench.agents, list(bench.shares)
    values = np.full((len(agents), len(worlds)), np.nan)
    for column, world in enumerate(worlds):
        means = bench.shares[world].mean()
        for row, agent in enumerate(agents):
            values[row, column] = means.get(agent, np.nan)
    size = (2.8 + 0.72 * len(worlds), 1.8 + 0.24 * len(agents))
    figure, (axes,) = new_figure(*size)
    image = axes.imshow(values, aspect="auto", cmap="cividis_r", vmin=0.0, vmax=MAX_SHOWN_REGRET)
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            colour = "white" if value > 0.6 * MAX_SHOWN_REGRET else "black"
            axes.text(
                column, row, f"{value:.2f}", ha="center", va="center", fontsize=7, color=colour
            )
    families = [family_of(agent) for agent in agents]
    for row in range(1, len(agents)):
        if families[row] != families[row - 1]:
            axes.axhline(row - 0.5, color="white", linewidth=2.0)
    axes.set_xticks(
        range(len(worlds)), list(map(short_name, worlds)), rotation=40, ha="right", fontsize=8
    )
    axes.set_yticks(range(len(agents)), agents, fontsize=8)
    figure.colorbar(image, ax=axes, label="regret (0: oracle, 1: chance)", pad=0.02, extend="max")
    return figure
