"""Episodes as they go: frames of a video, a window, or lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from periodic_envs.figures import (
    WINDOW,
    draw_choices,
    draw_landscape,
    draw_legend,
    draw_title,
    heights,
    new_figure,
    said_of_data,
    title_lines,
    two_axes,
)

if TYPE_CHECKING:
    from periodic_envs.episode import Episode, Setup


_JUMP = 60
"""Steps by which the window jumps: the present is at most half of it from the middle."""
_BARS = "▁▂▃▄▅▆▇█"


class Decision(NamedTuple):
    """One step of the episode so far."""

    action: Any
    reward: float
    info: dict[str, Any]


class Viewer:
    """Shows episodes of one environment in any render mode."""

    def __init__(self, title: str, setup: Setup, fps: int) -> None:
        self._title = title + said_of_data(setup)
        self._setup = setup
        self._fps = fps
        self._picture: EpisodePicture | None = None
        self._screen: Any = None
        self._clock: Any = None

    def show(self, mode: str | None, episode: Episode, history: list[Decision]) -> Any:
        """A picture (rgb_array), a text (ansi), or a window (human)."""
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
        """Close the window, and let the picture go."""
        self._picture = None
        if self._screen is not None:
            import pygame

            pygame.display.quit()
            self._screen = None


class EpisodePicture:
    """The landscape with the choices made, above the regret so far.

    Only the choices, the regret with its axis, and the title move from step to step. All else is
    drawn once for each place of the window and kept as pixels, which what moves is drawn onto: a
    tenth of the time. A frame depends on the episode and its history, not on the frames before.
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
        """The picture after these steps, as an array (height, width, 3)."""
        done, horizon = len(history), self._setup.horizon
        regret = history[-1].info["cumulative_regret"] if done else 0.0
        top = (1.05 * regret or 0.055) if done else 1.0
        start = max(0, min((done - WINDOW // 2 + _JUMP // 2) // _JUMP * _JUMP, horizon - WINDOW))
        # Room for the numbers beside the regret: from a million on, they have a common power.
        place = start, min(max(len(f"{top:.0f}"), 4), 6)
        if episode is not self._episode or place != self._place:
            self._draw_still(episode, *place)
            self._episode, self._place = episode, place
        begin = max(start - 1, 0)  # a step earlier, so that the curve comes in from the left
        times, shown = episode.first_step + np.arange(begin, done), history[begin:]
        self._choices.set_data(times, heights([decision.action for decision in shown]))
        self._regret.set_data(times, [decision.info["cumulative_regret"] for decision in shown])
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
        """What stands still, with room for numbers of so many letters beside the regret."""
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
        # Frames and the axis are drawn anew, since choices and curve go below and above them.
        self._moving = [self._caption, self._choices, *above.spines.values()]
        self._moving += [below.yaxis, self._regret, *below.spines.values()]
        for artist in self._moving:
            artist.set_animated(True)
        below.yaxis.set_major_formatter("0" * letters)  # the layout must not know the regret
        self._canvas.draw()
        below.yaxis.set_major_formatter(ScalarFormatter())
        self._still = self._canvas.copy_from_bbox(figure.bbox)


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
