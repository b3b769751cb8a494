"""Pictures of what agents believe about the season and about forgetting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from periodic_envs.arrays import Array
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.worlds.piecewise import Piecewise
from periodic_envs.worlds.stationary import Stationary

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SEASONLESS = (Stationary, Piecewise)
"""They have a clock for agents to look at, and nothing that repeats with it."""


def seasons_of(env: PeriodicBanditEnv) -> tuple[float, ...]:
    """The world's seasons, whether agents know them or not; none where nothing repeats."""
    if env.episode is None or isinstance(env.setup.world, SEASONLESS):
        return ()
    return env.setup.world.public.periods or (float(env.episode.process.period),)


def draw_periods(axes: Axes, periods: Array, weights: Array, truth: Sequence[float]) -> None:
    """The probability of each candidate period, and the world's own."""
    axes.vlines(periods, 0.0, weights, color="tab:blue", lw=3)
    axes.plot(periods, weights, "o", color="tab:blue", markersize=4)
    for i, period in enumerate(truth):
        axes.axvline(period, color="k", ls="--", lw=1, label="_" if i else "the world's")
    if truth:
        _draw_key(axes)
    best = periods[int(weights.argmax())]
    axes.set(xlabel="period", ylabel="probability", ylim=(0.0, 1.05 * weights.max()))
    axes.set_title(f"belief about the period: most probably {best:.4g}", loc="left", fontsize=9)
    axes.margins(x=0.05)
    axes.grid(alpha=0.3)


def draw_decays(axes: Axes, decays: Array, weights: Array, truth: float | None) -> None:
    """The probability of each forgetting rate, with the season (row 0) and without (row 1)."""
    smallest = float(decays[decays > 0].min(initial=1.0))
    axes.set_xscale("symlog", linthresh=smallest)
    for row, (name, colour) in enumerate((("season", "tab:blue"), ("no season", "tab:orange"))):
        base = weights[:row].sum(0) if row else np.zeros(len(decays))
        axes.vlines(decays, base, base + weights[row], color=colour, lw=6, label=name)
    if truth is not None:
        axes.axvline(truth, color="k", ls="--", lw=1, label="the world's")
    total = weights.sum(0)
    best = decays[int(total.argmax())]
    axes.set(xlabel="forgetting rate", ylabel="probability", ylim=(0.0, 1.05 * total.max()))
    axes.set_xticks(np.unique(decays), [f"{decay:g}" for decay in np.unique(decays)])
    axes.minorticks_off()
    title = f"belief about forgetting: most probably {best:.4g}, a season {weights[0].sum():.0%}"
    axes.set_title(title, loc="left", fontsize=9)
    axes.margins(x=0.05)
    axes.grid(alpha=0.3)
    _draw_key(axes)


def _draw_key(axes: Axes) -> None:
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, fontsize=8, frameon=False)
