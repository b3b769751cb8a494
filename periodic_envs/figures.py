"""Pictures of a world: its landscape over actions and time, and the choices made in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from periodic_envs.arrays import Array
from periodic_envs.labels import short, thinned, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    from periodic_envs.episode import Episode, Setup


WINDOW = 240
"""Most steps shown side by side; through longer episodes the window jumps."""
MAX_ARM_NAMES = 30
"""Most names beside an axis; of more arms only some are named."""
_RESOLUTION = 121


def world_figure(title: str, setup: Setup, episode: Episode) -> Figure:
    """The landscape above the best and the average reward: a world with nobody in it."""
    times = episode.first_step + np.arange(min(WINDOW, setup.horizon))
    figure = new_figure()
    above, below = two_axes(figure, times)
    values = draw_landscape(above, setup, episode, times)
    draw_title(figure, title + said_of_data(setup))
    if len(times) < setup.horizon:
        above.set_title(f"first {len(times):,} of {setup.horizon:,} steps", loc="left", fontsize=9)
    below.plot(times, [episode.process.optimum(int(t))[1] for t in times], label="best action")
    below.plot(times, values.mean(0), label="average action", color="tab:gray")
    below.set_ylabel(_reward_label(setup))
    draw_legend(above)
    draw_legend(below)
    return figure


def said_of_data(setup: Setup) -> str:
    """What a title must say: that rewards are simulated in the place of measurements."""
    simulated = setup.origin is not None and setup.origin.source == "simulator"
    return ", simulated" if simulated else ""


def new_figure() -> Figure:
    """Empty, of the size of all pictures of worlds."""
    from matplotlib.figure import Figure

    return Figure(figsize=(9.0, 6.0), dpi=100, layout="constrained")


def two_axes(figure: Figure, times: NDArray[Any]) -> tuple[Axes, Axes]:
    """Room for a landscape, and for a curve over the same times below it."""
    above, below = figure.subplots(2, 1, height_ratios=[2.2, 1.0], sharex=True)
    below.set(xlabel="time t", xlim=(times[0] - 0.5, times[-1] + 0.5))
    below.grid(alpha=0.3)
    return above, below


def draw_title(figure: Figure, title: str, facts: str = "") -> Text:
    """Above everything, in as many lines as it needs, with what came out below it."""
    text = title_lines(figure, title, facts)
    return figure.suptitle(text, x=0.01, ha="left", fontsize=11, parse_math=False)


def title_lines(figure: Figure, title: str, facts: str) -> str:
    """The title as the figure has room for it, and what came out."""
    width = int(11.5 * figure.get_figwidth())  # letters of 11 points
    return wrapped(title, width) + (f"\n{facts}" if facts else "")


def draw_landscape(axes: Axes, setup: Setup, episode: Episode, times: NDArray[Any]) -> Array:
    """Heat map of the mean rewards (actions x times) with the best actions; returns the values."""
    process, public = episode.process, setup.public
    best = [process.optimum(int(t))[0] for t in times]
    if public.n_actions is not None:
        grid = np.arange(public.n_actions)
        values = np.stack([process.mean(grid, int(t)) for t in times], axis=1)
        low, high, path = -0.5, public.n_actions - 0.5, np.array(best)
        if public.action_names is not None:
            shown = thinned(len(grid), MAX_ARM_NAMES)
            names = [short(public.action_names[i]) for i in shown]
            size = min(9.0, 180.0 / len(shown))
            # Names come from anybody's data: a dollar sign is no mathematics.
            axes.set_yticks(shown, names, fontsize=size, parse_math=False)
        else:
            axes.set_ylabel("action")
    else:
        line = np.linspace(-1.0, 1.0, _RESOLUTION)
        columns = []
        for t, action in zip(times, best, strict=True):
            # Beyond one dimension: the cut along the first axis through the best action.
            points = np.repeat(action[None].astype(np.float64), _RESOLUTION, axis=0)
            points[:, 0] = line
            columns.append(process.mean(points, int(t)))
        values = np.stack(columns, axis=1)
        low, high, path = -1.0, 1.0, np.array(best)[:, 0]
        axes.set_ylabel("action" if public.dim == 1 else "action[0], cut through the best")
    image = axes.imshow(
        values,
        origin="lower",
        aspect="auto",
        cmap="viridis",
        interpolation="nearest",
        extent=(times[0] - 0.5, times[-1] + 0.5, low, high),
    )
    axes.figure.colorbar(image, ax=axes, label=_reward_label(setup), pad=0.01)
    # Bright actions are the best ones: only a dark rim sets the dots off.
    style: dict[str, Any] = {"color": "white", "markeredgecolor": "black", "markeredgewidth": 0.6}
    axes.plot(times, path, "o", markersize=3.5, clip_on=False, label="best action", **style)
    _draw_changes(axes, process.changes, times)
    axes.set_ylim(low, high)
    return values


def _draw_changes(axes: Axes, changes: NDArray[Any] | None, times: NDArray[Any]) -> None:
    """Lines where the world changes within these times, if it does."""
    within = [] if changes is None else [t for t in changes.tolist() if times[0] < t <= times[-1]]
    for label, t in zip(["change", *[None] * len(within)], within, strict=False):
        axes.axvline(t - 0.5, color="red", linestyle="--", linewidth=1.3, label=label)


def _reward_label(setup: Setup) -> str:
    return "reward" if setup.noise.kind == "none" else "mean reward"


def draw_choices(axes: Axes, times: Any, actions: Any) -> Line2D:
    """Rings where choices were made."""
    (rings,) = axes.plot(
        times,
        heights(actions),
        "o",
        color="none",
        markeredgecolor="red",
        markeredgewidth=1.3,
        markersize=6,
        label="choice",
    )
    return rings


def heights(actions: Iterable[Any]) -> list[float]:
    """Where actions are in a landscape."""
    return [float(np.ravel(action)[0]) for action in actions]


def draw_legend(axes: Axes) -> None:
    """Above the right corner, where it hides nothing."""
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 0.99),
        ncols=3,
        fontsize=8,
        borderpad=0.2,
        facecolor="darkgray",
        framealpha=0.6,
    )
