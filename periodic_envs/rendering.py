"""Pictures of a world: its landscape over actions and time, the choices made, the regret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from periodic_envs.arrays import Array
from periodic_envs.labels import short, thinned, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from periodic_envs.episode import Episode, Setup


WINDOW = 240
"""Most steps shown side by side; longer episodes scroll."""
MAX_ARM_NAMES = 30
"""Most names beside an axis; of more arms only some are named."""
_RESOLUTION = 121
_BARS = "▁▂▃▄▅▆▇█"


class Decision(NamedTuple):
    """One step of the episode so far."""

    action: Any
    reward: float
    info: dict[str, Any]


class Viewer:
    """Shows episodes of one environment in any render mode."""

    def __init__(self, title: str, setup: Setup, fps: int) -> None:
        self._title = title
        self._setup = setup
        self._fps = fps
        self._screen: Any = None
        self._clock: Any = None

    def show(self, mode: str | None, episode: Episode, history: list[Decision]) -> Any:
        """A picture (rgb_array), a text (ansi), or a window (human)."""
        if mode == "ansi":
            return _text(self._title, self._setup, episode, history)
        frame = to_rgb(episode_figure(self._title, self._setup, episode, history))
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
                'render_mode="human" needs pygame: pip install -e ".[render]"'
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
        """Close the window."""
        if self._screen is not None:
            import pygame

            pygame.display.quit()
            self._screen = None


def to_rgb(figure: Figure) -> NDArray[np.uint8]:
    """The figure as an array (height, width, 3)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    frame: NDArray[np.uint8] = np.asarray(canvas.buffer_rgba())[:, :, :3].copy()
    return frame


def episode_figure(title: str, setup: Setup, episode: Episode, history: list[Decision]) -> Figure:
    """The landscape with the choices made, above the regret so far."""
    done = len(history)
    start = max(0, min(done - WINDOW // 2, setup.horizon - WINDOW))
    times = episode.first_step + np.arange(start, min(start + WINDOW, setup.horizon))
    figure, above, below = _two_axes(times)
    draw_landscape(above, setup, episode, times)
    regrets = [decision.info["cumulative_regret"] for decision in history]
    progress = f"step {done} of {setup.horizon}    regret {regrets[-1] if done else 0.0:,.1f}"
    draw_title(figure, title, progress)
    if done:
        chosen_at = np.array([decision.info["t"] for decision in history])
        draw_choices(above, chosen_at, [decision.action for decision in history])
        below.plot(chosen_at, regrets, color="tab:red")
    draw_legend(above)
    below.set(ylim=(0.0, None), ylabel="regret so far")
    return figure


def world_figure(title: str, setup: Setup, episode: Episode) -> Figure:
    """The landscape above the best and the average reward: a world with nobody in it."""
    times = episode.first_step + np.arange(min(WINDOW, setup.horizon))
    figure, above, below = _two_axes(times)
    values = draw_landscape(above, setup, episode, times)
    draw_title(figure, title)
    if len(times) < setup.horizon:
        above.set_title(f"first {len(times):,} of {setup.horizon:,} steps", loc="left", fontsize=9)
    below.plot(times, [episode.process.optimum(int(t))[1] for t in times], label="best action")
    below.plot(times, values.mean(0), label="average action", color="tab:gray")
    below.set_ylabel(_reward_label(setup))
    draw_legend(above)
    draw_legend(below)
    return figure


def _two_axes(times: NDArray[Any]) -> tuple[Figure, Axes, Axes]:
    """A figure with room for a landscape, and for a curve over the same times below it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 6.0), dpi=100, layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=[2.2, 1.0], sharex=True)
    below.set(xlabel="time t", xlim=(times[0] - 0.5, times[-1] + 0.5))
    below.grid(alpha=0.3)
    return figure, above, below


def draw_title(figure: Figure, title: str, facts: str = "") -> None:
    """Above everything, in as many lines as it needs, with what came out below it."""
    width = int(11.5 * figure.get_figwidth())  # letters of 11 points
    text = wrapped(title, width) + (f"\n{facts}" if facts else "")
    figure.suptitle(text, x=0.01, ha="left", fontsize=11, parse_math=False)


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
    axes.set_ylim(low, high)
    return values


def _reward_label(setup: Setup) -> str:
    return "reward" if setup.noise.kind == "none" else "mean reward"


def draw_choices(axes: Axes, times: NDArray[Any], actions: Any) -> None:
    """Rings where choices were made."""
    axes.plot(
        times,
        [float(np.ravel(action)[0]) for action in actions],
        "o",
        color="none",
        markeredgecolor="red",
        markeredgewidth=1.3,
        markersize=6,
        label="choice",
    )


def draw_legend(axes: Axes) -> None:
    """Above the right corner, where it hides nothing."""
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 0.99),
        ncols=2,
        fontsize=8,
        borderpad=0.2,
        facecolor="darkgray",
        framealpha=0.6,
    )


def _text(title: str, setup: Setup, episode: Episode, history: list[Decision]) -> str:
    """Three lines: where we are, the last decision, the recent regrets."""
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
        recent = np.array([decision.info["regret"] for decision in history[-60:]])
        scaled = (recent / max(recent.max(), 1e-12) * (len(_BARS) - 1)).round().astype(int)
        lines.append("regret " + "".join(_BARS[i] for i in scaled))
    return "\n".join(lines) + "\n"
