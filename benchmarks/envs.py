"""Speed of the worlds, compared with Gymnasium's CartPole-v1.

All environments run in turns for several rounds, so that a busy machine slows all of them equally.
The script prints medians over the rounds, in processor time. There are three speeds for each
environment: for steps within episodes; for whole episodes, which include the drawing of new worlds
(CartPole draws none); and for whole episodes with ``regret=False``, which avoids the search for the
best action in continuous worlds.

    python benchmarks/envs.py [--rounds 5]

If gymnax is installed, its Gaussian bandit is measured as well.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import periodic_envs

CARTPOLE, GYMNAX = "CartPole-v1", "gymnax GaussianBandit"
COPIES = 1024
clock = time.process_time


class Scalar:
    """Environment that is made by ``gym.make``, with and without regret."""

    def __init__(self, env_id: str) -> None:
        self.env = gym.make(env_id)
        self.spared = gym.make(env_id, **spared(env_id))
        for env in (self.env, self.spared):
            env.reset(seed=0)
        self.env.action_space.seed(0)
        self.actions = [self.env.action_space.sample() for _ in range(512)]

    def steps_per_second(self, steps: int = 3000) -> tuple[float, float, float]:
        """Return the steps per second within episodes, in whole episodes, and without regret."""
        within, counted, begin = 0.0, 0, clock()
        while counted < steps:
            self.env.reset()
            self.env.step(self.actions[0])
            start, over = clock(), False
            while not over:
                _, _, terminated, truncated, _ = self.env.step(self.actions[counted % 512])
                over = terminated or truncated
                counted += 1
            within += clock() - start
        return counted / within, counted / (clock() - begin), self._without_regret(steps)

    def _without_regret(self, steps: int) -> float:
        counted, begin = 0, clock()
        while counted < steps:
            self.spared.reset()
            over = False
            while not over:
                _, _, terminated, truncated, _ = self.spared.step(self.actions[counted % 512])
                over = terminated or truncated
                counted += 1
        return counted / (clock() - begin)


class Vector:
    """Vector environment of ``COPIES`` copies, with and without regret."""

    def __init__(self, env_id: str, mode: str) -> None:
        self.env = gym.make_vec(env_id, COPIES, vectorization_mode=mode)
        self.spared = gym.make_vec(env_id, COPIES, vectorization_mode=mode, **spared(env_id))
        for env in (self.env, self.spared):
            env.reset(seed=0)
        self.env.action_space.seed(0)
        self.actions = [self.env.action_space.sample() for _ in range(16)]
        self.native = hasattr(self.env, "setup")

    def steps_per_second(self) -> tuple[float, float, float]:
        """Return the steps per second within episodes, in whole episodes, and without regret."""
        steps = self.env.setup.horizon if self.native else 199
        begin = clock()
        self.env.reset()
        self.step(steps, self.env)
        whole = clock() - begin
        if self.native:
            self.env._step = 0  # repeats the same worlds, whose best actions are cached
        within = self.step(steps, self.env)
        begin = clock()
        self.spared.reset()
        self.step(steps, self.spared)
        without = clock() - begin
        return steps * COPIES / within, steps * COPIES / whole, steps * COPIES / without

    def step(self, steps: int, env: Any) -> float:
        """Return the seconds that a number of steps take."""
        start = clock()
        for i in range(steps):
            env.step(self.actions[i % 16])
        return clock() - start


def spared(env_id: str) -> dict[str, bool]:
    """Return the arguments that switch off the regret, which CartPole does not compute."""
    return {} if env_id == CARTPOLE else {"regret": False}


def gymnax_steps_per_second(steps: int = 200) -> Callable[[], tuple[float, float, float]]:
    """Return a function that measures gymnax's bandit, compiled and mapped over the copies.

    The bandit resets automatically, so its three speeds are equal.
    """
    import gymnax
    import jax

    env, params = gymnax.make("GaussianBandit-misc")
    keys = jax.random.split(jax.random.PRNGKey(0), COPIES)
    reset = jax.jit(jax.vmap(env.reset, in_axes=(0, None)))
    step = jax.jit(jax.vmap(env.step, in_axes=(0, 0, 0, None)))
    actions = np.zeros(COPIES, dtype=np.int32)

    def run() -> tuple[float, float, float]:
        begin = clock()
        _, state = reset(keys, params)
        for _ in range(steps):
            _, state, *rest = step(keys, state, actions, params)
        jax.block_until_ready(rest)
        speed = steps * COPIES / (clock() - begin)
        return speed, speed, speed

    run()  # compiles the functions
    return run


Measure = Callable[[], tuple[float, float, float]]


def take_turns(contestants: dict[str, Measure], rounds: int) -> dict[str, Any]:
    """Return the three speeds of each environment, as medians over the rounds."""
    runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in contestants}
    for _ in track(range(rounds), description="Rounds", transient=True):
        for name, run in contestants.items():
            runs[name].append(run())
    return {name: np.median(values, axis=0) for name, values in runs.items()}


def main() -> None:
    """Measure all speeds and print them."""
    parser = argparse.ArgumentParser(description="Speed of the worlds, compared with CartPole.")
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    ids = [CARTPOLE, *periodic_envs.ids()]
    console = Console(width=110)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the table shows which worlds are simulated
        scalar = take_turns({i: Scalar(i).steps_per_second for i in ids}, rounds)
    console.print(table("Scalar env through gym.make", scalar))
    native = {i: Vector(i, "vector_entry_point").steps_per_second for i in ids}
    try:
        native[GYMNAX] = gymnax_steps_per_second()
    except ImportError:
        console.print("gymnax is not installed, so it is not measured.")
    vector = take_turns(native, rounds)
    console.print(table(f"Native vector env, {COPIES} copies", vector))
    for env_id in ("PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-Synthetic-v0"):
        sync = Vector(env_id, "sync")
        speed = 40 * COPIES / min(sync.step(40, sync.env) for _ in range(2))
        console.print(
            f"{env_id}: the native vector env is {vector[env_id][0] / speed:.0f} times as fast as "
            f"a SyncVectorEnv ({speed:,.0f} steps per second)"
        )
    console.print(
        "Targets: scalar 1.5 x CartPole (1.0 with resets), native vector 2 x CartPole and 30 x "
        "Sync; with resets 0.6 (SyntheticDiscrete, RideShare), 0.3 (Synthetic, Stationary, "
        "HiddenPeriod, MultiSeason) and 0.1 (others)."
    )


def table(title: str, speeds: dict[str, Any]) -> Table:
    """Return a table of all speeds, absolute and relative to CartPole."""
    result = Table(title=title)
    result.add_column("env", no_wrap=True)
    names = ("steps/s", "x CartPole", "with resets", "x CartPole", "regret=False", "x CartPole")
    for name in names:
        result.add_column(name, justify="right", no_wrap=True)
    for env_id, speed in speeds.items():
        ratios = speed / speeds[CARTPOLE]
        label = env_id.removeprefix("PeriodicGP-") + _simulated(env_id)
        cells = []
        for figure, ratio in zip(speed, ratios, strict=True):
            cells += [f"{figure:,.0f}", f"{ratio:.2f}" if ratio > 0.1 else f"{ratio:.3f}"]
        result.add_row(label, *cells)
    return result


def _simulated(env_id: str) -> str:
    """Return a mark for an environment that simulates Madrid, otherwise an empty string."""
    if "Madrid-" not in env_id:
        return ""
    source = gym.make(env_id).unwrapped.data_source
    return " (simulated)" if source == "simulator" else ""


if __name__ == "__main__":
    main()
