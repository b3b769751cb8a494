"""Films of an agent in a world, from the frames that the environment renders."""

from __future__ import annotations

import hashlib
import inspect
import warnings
from pathlib import Path
from typing import Any

AGENT = "auto-gp-ucb"
SEED = 0
MAX_STEPS = 240
"""Maximum number of steps that a frame shows."""
FRAMES = 30
WIDTH, MILLISECONDS = 640, 150
MAX_BYTES = 300_000


def film_key(world: object) -> str:
    """Return a hash of the code and the data on which a film depends."""
    from evaluation.keys import our_code
    from periodic_envs import rendering

    parts = [our_code(), type(world).__qualname__]
    parts.append(Path(inspect.getfile(rendering)).read_text("utf-8"))
    origin = getattr(world, "origin", None)
    parts += [str(getattr(origin, "fingerprint", "")), Path(__file__).read_text("utf-8")]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def make_film(env_id: str, path: Path) -> None:
    """Write the film of the agent ``AGENT`` in the world of one seed."""
    write_film(frames_of(env_id, _choices(env_id)), path)


def _choices(env_id: str) -> Any:
    """Return the choices of the agent during the film."""
    from agents.registry import AgentSpec
    from evaluation.play import play

    env = _made(env_id, max_episode_steps=MAX_STEPS)  # a shorter horizon could change the world
    return play(env, AgentSpec.parse(AGENT), SEED).action


def frames_of(env_id: str, actions: Any) -> list[Any]:
    """Return frames of the environment while these actions are taken."""
    every = max(1, len(actions) // FRAMES)
    frames = []
    env = _made(env_id, render_mode="rgb_array")
    env.reset(seed=SEED)
    for step, action in enumerate(actions[: every * FRAMES], 1):
        env.step(action)
        if step % every == 0:
            frames.append(env.render())
    env.close()
    return frames


def _made(env_id: str, **arguments: Any) -> Any:
    import gymnasium as gym

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the page states that Madrid is simulated
        return gym.make(env_id, disable_env_checker=True, **arguments)


def write_film(frames: list[Any], path: Path) -> None:
    """Write frames as an animated WebP that repeats, at the best quality within ``MAX_BYTES``."""
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
