"""Speed of the worlds beside Gymnasium's CartPole-v1, measured in one run.

Every figure is the median of rounds in which all contestants take turns, so that a busy machine
slows all of them alike. Two figures each: steps within episodes, and with resets, that is, with the
drawing of new worlds and the search for their optima, which CartPole does not have.

    python benchmarks/envs.py [--rounds 7]
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

import gymnasium as gym
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import periodic_envs

CARTPOLE = "CartPole-v1"
COPIES = 1024


class Scalar:
    """An environment made by ``gym.make``."""

    def __init__(self, env_id: str) -> None:
        self.env = gym.make(env_id)
        self.env.reset(seed=0)
        self.actions = [self.env.action_space.sample() for _ in range(512)]

    def steps_per_second(self, steps: int = 3000) -> tuple[float, float]:
        """Within episodes (reset and first step not counted), and all in all."""
        within, counted, begin = 0.0, 0, time.perf_counter()
        while counted < steps:
            self.env.reset()
            self.env.step(self.actions[0])
            start, over = time.perf_counter(), False
            while not over:
                _, _, terminated, truncated, _ = self.env.step(self.actions[counted % 512])
                over = terminated or truncated
                counted += 1
            within += time.perf_counter() - start
        return counted / within, counted / (time.perf_counter() - begin)


class Vector:
    """``COPIES`` copies, stepped together."""

    def __init__(self, env_id: str, mode: str) -> None:
        self.env = gym.make_vec(env_id, COPIES, vectorization_mode=mode)
        self.env.reset(seed=0)
        self.actions = [self.env.action_space.sample() for _ in range(16)]

    def steps_per_second(self, steps: int = 199) -> tuple[float, float]:
        """Within an episode, where optima are known (second pass), and from its reset on."""
        begin = time.perf_counter()
        self.env.reset()
        self._pass(steps)
        end = time.perf_counter()
        if hasattr(self.env, "setup"):
            self.env._step = 0
        second = self._pass(steps)
        return steps * COPIES / second, steps * COPIES / (end - begin)

    def _pass(self, steps: int) -> float:
        start = time.perf_counter()
        for i in range(steps):
            self.env.step(self.actions[i % 16])
        return time.perf_counter() - start


Measure = Callable[[], tuple[float, float]]


def take_turns(contestants: dict[str, Measure], rounds: int) -> dict[str, np.ndarray]:
    """Median of each contestant's two figures over the rounds."""
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    for _ in track(range(rounds), description="Rounds", transient=True):
        for name, run in contestants.items():
            runs[name].append(run())
    return {name: np.median(values, axis=0) for name, values in runs.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Speed of the worlds beside CartPole-v1.")
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    ids = [CARTPOLE, *periodic_envs.ids()]
    console = Console()
    scalar = take_turns({i: Scalar(i).steps_per_second for i in ids}, rounds)
    console.print(table("Scalar env through gym.make", scalar))
    native = {i: Vector(i, "vector_entry_point").steps_per_second for i in ids}
    vector = take_turns(native, rounds)
    console.print(table(f"Native vector env, {COPIES} copies", vector))
    for env_id in ("PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-Synthetic-v0"):
        sync = Vector(env_id, "sync")
        speed = take_turns({env_id: partial(sync.steps_per_second, 40)}, 1)[env_id][0]
        console.print(
            f"{env_id}: the native vector env takes {vector[env_id][0] / speed:.0f} times the "
            f"steps per second of a SyncVectorEnv ({speed:,.0f})"
        )
    console.print("Targets: scalar 1.5 x CartPole, native vector 2 x CartPole and 30 x Sync.")


def table(title: str, speeds: dict[str, np.ndarray]) -> Table:
    """Both figures of everyone, and the first beside CartPole's."""
    result = Table(title=title)
    result.add_column("env", no_wrap=True)
    for name in ("steps/s", "x CartPole", "with resets", "x CartPole"):
        result.add_column(name, justify="right", no_wrap=True)
    for env_id, speed in speeds.items():
        ratio = speed / speeds[CARTPOLE]
        cells = [f"{speed[0]:,.0f}", f"{ratio[0]:.2f}", f"{speed[1]:,.0f}", f"{ratio[1]:.2f}"]
        result.add_row(env_id.removeprefix("PeriodicGP-"), *cells)
    return result


if __name__ == "__main__":
    main()
