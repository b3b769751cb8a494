"""Processor time of displays: frames of episodes, and the page of an edition.

Frames that update the previous frame, as in a video, are compared with frames that are drawn from
scratch. Both kinds are drawn in turns, so that a busy machine affects them equally.

    python benchmarks/looking.py [--steps 100] [--repeats 3] [--edition leaderboard/2026.3]
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
from rich.console import Console
from rich.table import Table

import periodic_envs
from periodic_envs.rendering import EpisodePicture

console = Console()


def frames(env_id: str, steps: int) -> tuple[list[float], list[float]]:
    """Return the milliseconds of frames that are updated, and of frames drawn from scratch."""
    env: Any = gym.make(env_id, render_mode="rgb_array").unwrapped
    env.reset(seed=0)
    env.action_space.seed(0)
    moving, whole = [], []
    for step in range(min(steps, env.horizon)):
        env.step(env.action_space.sample())
        moving.append(milliseconds(env.render))
        if step % 10 == 0:
            picture = EpisodePicture(env_id, env.setup)
            whole.append(milliseconds(lambda p=picture: p.frame(env.episode, env._history)))
    env.close()
    return moving, whole


def milliseconds(function: Any) -> float:
    """Return the processor time of one call, in milliseconds."""
    begin = time.process_time()
    function()
    return 1e3 * (time.process_time() - begin)


def build(edition: Path) -> float:
    """Return the processor seconds of a new process that builds the page of an edition."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "periodic_decisions", "leaderboard", "build"]
        command += ["--edition", str(edition)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        out = ["--out", str(Path(folder) / "page.html")]
        subprocess.run([*command, *out], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure all times and print them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--edition", type=Path, default=Path("leaderboard/2026.3"))
    options = parser.parse_args()
    table = Table("world", "ms/frame", "mean", "worst", "from nothing", "ratio")
    for env_id in periodic_envs.ids():
        moving, whole = frames(env_id, options.steps)
        median, full = statistics.median(moving), statistics.median(whole)
        numbers = [f"{x:.0f}" for x in (median, statistics.mean(moving), max(moving), full)]
        table.add_row(env_id, *numbers, f"{full / median:.1f}")
    console.print(table)
    seconds = [build(options.edition) for _ in range(options.repeats)]
    console.print(
        f"leaderboard build: {statistics.median(seconds):.2f} s (minimum {min(seconds):.2f})"
    )


if __name__ == "__main__":
    main()
