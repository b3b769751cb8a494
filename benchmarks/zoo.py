"""Time of whole runs of three bandits, in this project's harness and in pymab.

    python benchmarks/zoo.py [--arms 5 10 50] [--steps 2000] [--repeats 7]

In this project, a run is a complete call of ``evaluation.play.play``: it draws the world, and every
step includes the environment, the regret and the agent. In pymab (``pip install pymab``; not a
dependency), a run is ``Experiment.run``, in its compiled core (one replicate per call, and twenty
replicates per call) and in its Python code. The ratio refers to the fastest of these. Both projects
use the same policy and the same number of arms. They run in turns, and the fastest repetition
counts, in processor time, which depends little on other programs. (The core of pymab uses a single
thread.)
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from rich.console import Console
from rich.table import Table

import periodic_envs  # noqa: F401 (registers the ids)
from agents.registry import AgentSpec
from evaluation.play import play

try:
    import pymab
    from pymab.policies import DiscountedUCBPolicy, SlidingWindowUCBPolicy, UCBPolicy
except ImportError:
    pymab = None

WORLD = "PeriodicGP-SyntheticDiscrete-v0"
AGENTS = ("ucb1", "sw-ucb:window=100,xi=2", "d-ucb:gamma=0.98,xi=0.5")
WAYS = ("ours", "compiled", "compiled x 20", "python")
MAX_RATIO = 2.0
"""Maximum time of a step, as a multiple of the fastest time of pymab."""


def ours(text: str, n_arms: int, steps: int) -> None:
    """Run an agent of this project."""
    env = gym.make(WORLD, n_actions=n_arms, horizon=steps).unwrapped  # as the harness does
    play(env, AgentSpec.parse(text), 0)


def policy(text: str, n_arms: int) -> Any:
    """Return the policy of pymab that has the same bound as an agent.

    The width of the bound is scale * sqrt(c log n / n[a]).
    """
    return {
        "ucb1": lambda: UCBPolicy(n_arms=n_arms, c=2.0),
        "sw-ucb": lambda: SlidingWindowUCBPolicy(n_arms=n_arms, c=2.0, window_size=100),
        "d-ucb": lambda: DiscountedUCBPolicy(n_arms=n_arms, c=2.0, discount_factor=0.98),
    }[text.partition(":")[0]]()


def theirs(text: str, n_arms: int, steps: int, backend: str, replicates: int) -> None:
    """Run a policy in pymab."""
    pymab.Experiment(
        environment=pymab.BanditEnvironment(means=np.linspace(0.0, 1.0, n_arms)),
        policies={"policy": policy(text, n_arms)},
        config=pymab.ExperimentConfig(
            horizon=steps, n_replicates=replicates, seed=1, backend=backend
        ),
    ).run()


def quickest(ways: dict[str, tuple[Callable[[], None], int]], repeats: int) -> dict[str, float]:
    """Return the microseconds per step of each method, the minimum over several rounds."""
    found = dict.fromkeys(ways, float("inf"))
    for _ in range(repeats):
        for name, (run, steps) in ways.items():
            start = time.process_time()
            run()
            found[name] = min(found[name], 1e6 * (time.process_time() - start) / steps)
    return found


def measured(text: str, n_arms: int, steps: int, repeats: int) -> dict[str, float]:
    """Return the microseconds per step of every method."""
    ways: dict[str, tuple[Callable[[], None], int]] = {
        "ours": (lambda: ours(text, n_arms, steps), steps)
    }
    if pymab is not None:
        for name, backend, replicates in (
            ("compiled", "rust", 1),
            ("compiled x 20", "rust", 20),
            ("python", "python", 1),
        ):
            ways[name] = (
                lambda b=backend, r=replicates: theirs(text, n_arms, steps, b, r),  # type: ignore[misc]
                steps * replicates,
            )
    return quickest(ways, repeats)


def over_quickest(found: dict[str, float]) -> float:
    """Return this project's time divided by the shortest time of pymab; NaN without pymab."""
    others = [time for way, time in found.items() if way != "ours"]
    return found["ours"] / min(others) if others else float("nan")


def main() -> None:
    """Measure all times and print them."""
    parser = argparse.ArgumentParser(description="Time of whole runs, compared with pymab.")
    parser.add_argument("--arms", type=int, nargs="+", default=[5, 10, 50])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    if pymab is None:
        print("pymab is not installed (pip install pymab): only this project is measured")
    table = Table(title=f"Whole runs of {arguments.steps:,} steps, microseconds per step")
    for column in ("agent", "arms", *WAYS, "ours / their quickest"):
        table.add_column(column, justify="left" if column == "agent" else "right")
    worst = 0.0
    for text in AGENTS:
        for n_arms in arguments.arms:
            found = measured(text, n_arms, arguments.steps, arguments.repeats)
            ratio = over_quickest(found)
            worst = max(worst, ratio)
            times = [f"{found[way]:.1f}" if way in found else "-" for way in WAYS]
            table.add_row(text, str(n_arms), *times, f"{ratio:.2f}")
    Console(width=110).print(table)
    if pymab is not None:
        held = "met" if worst <= MAX_RATIO else "not met"
        print(f"pymab {pymab.__version__}; worst ratio {worst:.2f}, target {MAX_RATIO:g}: {held}")


if __name__ == "__main__":
    main()
