"""Pictures and animations of one run, with the mean rewards, the choices and the regret."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evaluation.play import Trajectory
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.files import write_atomically
from periodic_envs.rendering import (
    WINDOW,
    data_label,
    draw_choices,
    draw_landscape,
    draw_legend,
    draw_title,
    new_figure,
    two_axes,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_FRAMES = 90
"""Maximum number of frames; longer episodes are subsampled."""
WIDTH, COLOURS = 640, 64
"""Width of a frame in pixels, and number of colours of its palette."""
FRAME_SECONDS, LAST_SECONDS = 0.08, 2.5


def run_figure(title: str, env: PeriodicBanditEnv, run: Trajectory) -> Figure:
    """Draw the last steps of a run: above, mean rewards and choices; below, cumulative regret.

    Args:
        title: Title of the figure.
        env: The environment, after the run.
        run: Steps of the run.
    """
    figure, times = new_figure(), run.t[-WINDOW:]
    draw_title(figure, title + data_label(env.setup), f"regret {run.regret.sum():,.1f}")
    above, below = two_axes(figure, times)
    assert env.episode is not None
    draw_landscape(above, env.setup, env.episode, times)
    draw_choices(above, times, run.action[-WINDOW:])
    if len(run.t) > WINDOW:
        above.set_title(f"last {WINDOW} of {len(run.t):,} steps", loc="left", fontsize=9)
    draw_legend(above)
    below.plot(times, run.cumulative_regret[-WINDOW:], color="tab:red")
    below.set(ylabel="regret so far", ylim=(0.0, None))
    return figure


class Film:
    """Animation of an episode, written as a GIF file.

    Args:
        world: An environment whose ``render_mode`` is "rgb_array".
    """

    def __init__(self, world: PeriodicBanditEnv) -> None:
        self._world = world
        self._every = -(-world.horizon // MAX_FRAMES)
        self._steps, self._frames = 0, list[Any]()

    def step(self) -> None:
        """Add a frame if one is due; call this method after every step of the episode."""
        self._steps += 1
        if self._steps % self._every == 0 or self._steps == self._world.horizon:
            frame = self._world.render()
            assert isinstance(frame, np.ndarray)
            self._frames.append(_image(frame))

    def write(self, path: Path) -> None:
        """Write all frames to a file; the last frame is displayed longer than the others."""
        times = [round(1e3 * FRAME_SECONDS)] * (len(self._frames) - 1) + [round(1e3 * LAST_SECONDS)]
        made = io.BytesIO()
        # One palette without dithering keeps static areas identical, so that they compress well.
        palette = self._frames[-1].quantize(COLOURS)
        first, *others = (f.quantize(palette=palette, dither=0) for f in self._frames)
        first.save(made, "GIF", save_all=True, append_images=others, duration=times, loop=0)
        write_atomically(path, made.getvalue())


def _image(frame: NDArray[np.uint8]) -> Any:
    from PIL import Image  # a dependency of Matplotlib, slow to import

    whole = Image.fromarray(frame)
    height = round(whole.height * WIDTH / whole.width)
    return whole.resize((WIDTH, height), Image.Resampling.LANCZOS)
