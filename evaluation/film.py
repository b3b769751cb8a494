"""An episode as it goes, in a file that moves."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.files import write_atomically

MAX_FRAMES = 90
"""More make large files: of a long episode every second or every tenth step is shown."""
WIDTH, COLOURS = 640, 64
"""Of a frame in pixels, and in its palette."""
FRAME_SECONDS, LAST_SECONDS = 0.08, 2.5


class Film:
    """Takes a frame of a world after some of its steps; ``write`` makes a GIF of them.

    Args:
        world: An environment whose ``render_mode`` is "rgb_array".
    """

    def __init__(self, world: PeriodicBanditEnv) -> None:
        self._world = world
        self._every = -(-world.horizon // MAX_FRAMES)
        self._steps, self._frames = 0, list[Any]()

    def step(self) -> None:
        """After every step of the episode."""
        self._steps += 1
        if self._steps % self._every == 0 or self._steps == self._world.horizon:
            frame = self._world.render()
            assert isinstance(frame, np.ndarray)
            self._frames.append(_image(frame))

    def write(self, path: Path) -> None:
        """All frames, the last one for longer, then again from the first."""
        times = [round(1e3 * FRAME_SECONDS)] * (len(self._frames) - 1) + [round(1e3 * LAST_SECONDS)]
        made = io.BytesIO()
        # One palette and no dithering: what stands still is then the same in all frames, and small.
        palette = self._frames[-1].quantize(COLOURS)
        first, *others = (f.quantize(palette=palette, dither=0) for f in self._frames)
        first.save(made, "GIF", save_all=True, append_images=others, duration=times, loop=0)
        write_atomically(path, made.getvalue())


def _image(frame: NDArray[np.uint8]) -> Any:
    from PIL import Image  # comes with Matplotlib, and is slow to import

    whole = Image.fromarray(frame)
    height = round(whole.height * WIDTH / whole.width)
    return whole.resize((WIDTH, height), Image.Resampling.LANCZOS)
