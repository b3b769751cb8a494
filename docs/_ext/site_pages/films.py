"""Moving pictures: an agent at work in a world, by the world's own frames."""

from __future__ import annotations

import hashlib
import inspect
import warnings
from pathlib import Path
from typing import Any

AGENT = "auto-gp-ucb"
SEED = 0
MAX_STEPS = 240
"""As many as a frame shows side by side."""
FRAMES = 30
WIDTH, MILLISECONDS = 640, 150
MAX_BYTES = 300_000


def film_key(world: object) -> str:
    """What a film depends on: the code of the world, of pictures, and of this file."""
    from evaluation.running.sources import agent_source, world_source
    from periodic_envs import figures, rendering

    parts = [world_source(world), agent_source(AGENT)]
    parts += [Path(inspect.getfile(module)).read_text() for module in (figures, rendering)]
    origin = getattr(world, "origin", None)
    parts += [str(getattr(origin, "fingerprint", "")), Path(__file__).read_text("utf-8")]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def make_film(env_id: str, path: Path) -> None:
    """Let the agent play in the world of one seed, and write what it did as a WebP."""
    import gymnasium as gym

    from agents.registry import AgentSpec
    from evaluation.running.play import play

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that Madrid is simulated is said on the page
        env = gym.make(env_id, render_mode="rgb_array", disable_env_checker=True)
    every = max(1, min(env.unwrapped.horizon, MAX_STEPS) // FRAMES)  # type: ignore[attr-defined]
    frames: list[Any] = []
    step = 0

    class Enough(Exception):
        """The film is long enough."""

    def look() -> None:
        nonlocal step
        step += 1
        if step % every == 0:
            frames.append(env.render())
        if len(frames) == FRAMES:
            raise Enough

    try:
        play(env, AgentSpec.parse(AGENT), SEED, on_step=look)
    except Enough:
        pass
    finally:
        env.close()
    write_film(frames, path)


def write_film(frames: list[Any], path: Path) -> None:
    """Frames as an animated WebP that goes on for ever, small enough for a page."""
    from PIL import Image

    pictures = [Image.fromarray(frame) for frame in frames]
    size = (WIDTH, round(pictures[0].height * WIDTH / pictures[0].width))
    small = [picture.resize(size, Image.Resampling.LANCZOS) for picture in pictures]
    path.parent.mkdir(parents=True, exist_ok=True)
    for quality in (60, 40, 20):
        small[0].save(
            path,
            save_all=True,
            append_images=small[1:],
            duration=[MILLISECONDS] * (len(small) - 1) + [2000],
            loop=0,
            quality=quality,
            method=2,
        )
        if path.stat().st_size <= MAX_BYTES:
            return
    raise ValueError(f"{path.name} is larger than {MAX_BYTES:,} bytes at the lowest quality")
