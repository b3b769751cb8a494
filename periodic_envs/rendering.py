"""Rendering of worlds and episodes as figures, frames, windows and text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from periodic_envs.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    from periodic_envs.episode import Episode, Setup

WINDOW = 240
"""Maximum number of displayed steps; the view moves through longer episodes in jumps."""
MAX_ARM_NAMES = 30
"""Maximum number of arm names on an axis; if there are more arms, only some are labelled."""
MAX_NAME_LETTERS = 24
"""Maximum number of characters of a name on an axis."""
_MAX_TITLE_LINES = 4
_RESOLUTION = 121
"""Number of points along the action axis of a box."""
_JUMP = 60
"""Number of steps in one jump of the view."""


class Decision(NamedTuple):
    """One decision of an episode, with its reward and ``info``."""

    action: Any
    reward: float
    info: dict[str, Any]


class Viewer:
    """Viewer of the episodes of one environment, in any render mode."""

    def __init__(self, title: str, setup: Setup, fps: int) -> None:
        self._title = title + data_label(setup)
        self._setup = setup
        self._fps = fps
        self._picture: EpisodePicture | None = None
        self._screen: Any = None
        self._clock: Any = None

    def show(self, mode: str | None, episode: Episode, history: list[Decision]) -> Any:
        """Return a frame (rgb_array) or text (ansi), or update the window (human)."""
        if mode == "ansi":
            return _text(self._title, self._setup, episode, history)
        if self._picture is None:
            self._picture = EpisodePicture(self._title, self._setup)
        frame = self._picture.frame(episode, history)
        if mode == "rgb_array":
            return frame
        self._to_window(frame)
        return None

    def _to_window(self, frame: NDArray[np.uint8]) -> None:
        try:
            import pygame
        except ImportError as error:
            from gymnasium.error import DependencyNotInstalled

            raise DependencyNotInstalled(
                'render_mode="human" needs pygame, which is not installed: '
                'pip install -e ".[render]"'
            ) from error
        if self._screen is None:
            pygame.display.init()
            pygame.display.set_caption(self._title)
            self._screen = pygame.display.set_mode(frame.shape[1::-1])
            self._clock = pygame.time.Clock()
        self._screen.blit(pygame.surfarray.make_surface(frame.swapaxes(0, 1)), (0, 0))
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(self._fps)

    def close(self) -> None:
        """Close the window and release the picture."""
        self._picture = None
        if self._screen is not None:
            import pygame

            pygame.display.quit()
            self._screen = None


class EpisodePicture:
    """Picture of an episode: the landscape with the choices, and below it the regret so far.

    The landscape is a heat map of the mean rewards. Only the choices, the regret with its axis, and
    the title change from step to step. All other parts are drawn once for each position of the view
    and stored as pixels, which makes frames ten times faster. A frame depends only on the episode
    and its history, not on previous frames.
    """

    def __init__(self, title: str, setup: Setup) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        self._title, self._setup = title, setup
        self._figure = new_figure()
        self._canvas: Any = FigureCanvasAgg(self._figure)
        self._episode: Episode | None = None
        self._place = (-1, -1)
        self._still: Any = None

    def frame(self, episode: Episode, history: list[Decision]) -> NDArray[np.uint8]:
        """Return the picture after the decisions in ``history``, as an array (height, width, 3)."""
        done, horizon = len(history), self._setup.horizon
        regret = history[-1].info["cumulative_regret"] if done else 0.0
        top = (1.05 * regret or 0.055) if done else 1.0
        # The last decision is near the middle of the view, except at both ends of an episode.
        start = max(0, min((done - WINDOW // 2 + _JUMP // 2) // _JUMP * _JUMP, horizon - WINDOW))
        # The layout depends on the number of characters in the tick labels of the regret. Labels
        # of a million and above share a power of ten, so that six characters are enough.
        place = start, min(max(len(f"{top:.0f}"), 4), 6)
        if episode is not self._episode or place != self._place:
            self._draw_still(episode, *place)
            self._episode, self._place = episode, place
        begin = max(start - 1, 0)  # one step earlier, so that the curve starts at the left edge
        times, visible = episode.first_step + np.arange(begin, done), history[begin:]
        self._choices.set_data(times, heights([decision.action for decision in visible]))
        self._regret.set_data(times, [decision.info["cumulative_regret"] for decision in visible])
        self._below.set_ylim(0.0, top)
        facts = f"step {done} of {horizon}    regret {regret:,.1f}"
        self._caption.set_text(title_lines(self._figure, self._title, facts))
        self._canvas.restore_region(self._still)
        renderer = self._canvas.get_renderer()
        for artist in self._moving:
            artist.draw(renderer)
        frame: NDArray[np.uint8] = np.asarray(self._canvas.buffer_rgba())[:, :, :3].copy()
        return frame

    def _draw_still(self, episode: Episode, start: int, letters: int) -> None:
        """Draw the static part, with space for tick labels of ``letters`` characters."""
        from matplotlib.ticker import ScalarFormatter

        figure = self._figure
        figure.clear()
        times = episode.first_step + np.arange(start, min(start + WINDOW, self._setup.horizon))
        above, self._below = two_axes(figure, times)
        below = self._below
        draw_landscape(above, self._setup, episode, times)
        self._choices = draw_choices(above, [], [])
        (self._regret,) = below.plot([], [], color="tab:red")
        self._caption = draw_title(figure, self._title, "step 0")
        draw_legend(above)
        below.set(ylim=(0.0, 1.0), ylabel="regret so far")
        # Spines and the axis of the regret are redrawn in every frame: the spines lie above the
        # choices and the curve, and the axis lies below the curve.
        self._moving = [self._caption, self._choices, *above.spines.values()]
        self._moving += [below.yaxis, self._regret, *below.spines.values()]
        for artist in self._moving:
            artist.set_animated(True)
        below.yaxis.set_major_formatter("0" * letters)  # the layout must not depend on the regret
        self._canvas.draw()
        below.yaxis.set_major_formatter(ScalarFormatter())
        self._still = self._canvas.copy_from_bbox(figure.bbox)


def _text(title: str, setup: Setup, episode: Episode, history: list[Decision]) -> str:
    """Return text with a line about the step and a line about the last decision."""
    lines = [f"{title}  step {len(history)} of {setup.horizon}"]
    if history:
        action, reward, info = history[-1]
        chosen, best = (
            np.array2string(np.asarray(a), precision=3) for a in (action, info["optimal_action"])
        )
        lines.append(
            f"t = {info['t']}  action {chosen} (best {best})  "
            f"reward {reward:.3f}  regret {info['regret']:.3f}  "
            f"so far {info['cumulative_regret']:.2f}"
        )
    return "\n".join(lines) + "\n"


def world_figure(title: str, setup: Setup, episode: Episode) -> Figure:
    """Return a figure of a world with its landscape, and the best and average mean rewards."""
    times = episode.first_step + np.arange(min(WINDOW, setup.horizon))
    figure = new_figure()
    above, below = two_axes(figure, times)
    values = draw_landscape(above, setup, episode, times)
    draw_title(figure, title + data_label(setup))
    if len(times) < setup.horizon:
        above.set_title(f"first {len(times):,} of {setup.horizon:,} steps", loc="left", fontsize=9)
    below.plot(times, [episode.process.optimum(int(t))[1] for t in times], label="best action")
    below.plot(times, values.mean(0), label="average action", color="tab:gray")
    below.set_ylabel(_reward_label(setup))
    draw_legend(above)
    draw_legend(below)
    return figure


def data_label(setup: Setup) -> str:
    """Return a suffix for titles if the rewards are simulated, otherwise an empty string."""
    simulated = setup.origin is not None and setup.origin.source == "simulator"
    return ", simulated" if simulated else ""


def new_figure() -> Figure:
    """Return an empty figure with the standard size of pictures of worlds."""
    from matplotlib.figure import Figure

    return Figure(figsize=(9.0, 6.0), dpi=100, layout="constrained")


def two_axes(figure: Figure, times: NDArray[Any]) -> tuple[Axes, Axes]:
    """Return the axes of a landscape, and below them the axes of a curve over the same times."""
    above, below = figure.subplots(2, 1, height_ratios=[2.2, 1.0], sharex=True)
    below.set(xlabel="time t", xlim=(times[0] - 0.5, times[-1] + 0.5))
    below.grid(alpha=0.3)
    return above, below


def draw_title(figure: Figure, title: str, facts: str = "") -> Text:
    """Draw a title in as many lines as it needs, followed by a line with ``facts``."""
    text = title_lines(figure, title, facts)
    return figure.suptitle(text, x=0.01, ha="left", fontsize=11, parse_math=False)


def title_lines(figure: Figure, title: str, facts: str) -> str:
    """Return the title in lines that fit the figure, followed by a line with ``facts``."""
    width = int(11.5 * figure.get_figwidth())  # in characters of 11 points
    return wrapped(title, width) + (f"\n{facts}" if facts else "")


def draw_landscape(axes: Axes, setup: Setup, episode: Episode, times: NDArray[Any]) -> Array:
    """Draw a heat map of the mean rewards, with the best actions.

    Returns:
        Mean rewards, shape (actions, times).
    """
    process, public = episode.process, setup.public
    best = [process.optimum(int(t))[0] for t in times]
    if public.n_actions is not None:
        grid = np.arange(public.n_actions)
        values = np.stack([process.mean(grid, int(t)) for t in times], axis=1)
        low, high, path = -0.5, public.n_actions - 0.5, np.array(best)
        if public.action_names is not None:
            labelled = thinned(len(grid), MAX_ARM_NAMES)
            names = [short(public.action_names[i]) for i in labelled]
            size = min(9.0, 180.0 / len(labelled))
            # Names are user data: a dollar sign in a name does not start a formula.
            axes.set_yticks(labelled, names, fontsize=size, parse_math=False)
        else:
            axes.set_ylabel("action")
    else:
        line = np.linspace(-1.0, 1.0, _RESOLUTION)
        columns = []
        for t, action in zip(times, best, strict=True):
            # In several dimensions, the points lie on a line through the best action, parallel to
            # the first axis.
            points = np.repeat(action[None].astype(np.float64), _RESOLUTION, axis=0)
            points[:, 0] = line
            columns.append(process.mean(points, int(t)))
        values = np.stack(columns, axis=1)
        low, high, path = -1.0, 1.0, np.array(best)[:, 0]
        axes.set_ylabel(
            "action" if public.dim == 1 else "action[0], section through the best action"
        )
    image = axes.imshow(
        values,
        origin="lower",
        aspect="auto",
        cmap="viridis",
        interpolation="nearest",
        extent=(times[0] - 0.5, times[-1] + 0.5, low, high),
    )
    axes.figure.colorbar(image, ax=axes, label=_reward_label(setup), pad=0.01)
    # Best actions lie on bright colours, on which a dark rim makes the white dots visible.
    style: dict[str, Any] = {"color": "white", "markeredgecolor": "black", "markeredgewidth": 0.6}
    axes.plot(times, path, "o", markersize=3.5, clip_on=False, label="best action", **style)
    _draw_changes(axes, process.changes, times)
    axes.set_ylim(low, high)
    return values


def _draw_changes(axes: Axes, changes: NDArray[Any] | None, times: NDArray[Any]) -> None:
    """Draw a line at each change of the world within ``times``."""
    within = [] if changes is None else [t for t in changes.tolist() if times[0] < t <= times[-1]]
    for label, t in zip(["change", *[None] * len(within)], within, strict=False):
        axes.axvline(t - 0.5, color="red", linestyle="--", linewidth=1.3, label=label)


def _reward_label(setup: Setup) -> str:
    return "reward" if setup.noise.kind == "none" else "mean reward"


def draw_choices(axes: Axes, times: Any, actions: Any) -> Line2D:
    """Draw a ring at each choice, and return the rings."""
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
    """Return the vertical positions of actions in a landscape."""
    return [float(np.ravel(action)[0]) for action in actions]


def draw_legend(axes: Axes) -> None:
    """Draw the legend above the upper right corner of the axes."""
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 0.99),
        ncols=3,
        fontsize=8,
        borderpad=0.2,
        facecolor="darkgray",
        framealpha=0.6,
    )


def drawable(text: str) -> str:
    """Return the text, in which characters that the font lacks are replaced by a box."""
    return "".join(letter if ord(letter) in _letters() else "□" for letter in text)


@cache
def _letters() -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset([ord("\n"), *get_font(findfont(FontProperties())).get_charmap()])


def short(name: str) -> str:
    """Return a name, shortened to the length of a label if necessary."""
    return drawable(name if len(name) <= MAX_NAME_LETTERS else name[: MAX_NAME_LETTERS - 3] + "...")


def thinned(n: int, most: int) -> range:
    """Return at most ``most`` equally spaced indices of n labels."""
    return range(0, n, -(-n // most))


def wrapped(text: str, width: int) -> str:
    """Return a title in lines of at most ``width`` characters, broken at spaces and commas.

    If the title needs more than ``_MAX_TITLE_LINES`` lines, only its first lines and
    its last line are returned.
    """
    lines = [""]
    for piece in re.findall(rf"[^\s,]{{1,{width - 1}}}[\s,]?|[\s,]", drawable(text)):
        if len(lines[-1] + piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    if len(lines) > _MAX_TITLE_LINES:
        lines = [*lines[: _MAX_TITLE_LINES - 1], "..." + lines[-1]]
    return "\n".join(line.strip() for line in lines)
