"""The demo: what knowing the season is worth. Prints mean regret over a few seeds.

python examples/demo.py [--seeds 3]
"""

import argparse

import gymnasium as gym
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import periodic_envs  # noqa: F401 (registers the ids)
from agents import AgentSpec
from evaluation.runner import play

WORLDS = ["RideShare", "SyntheticDiscrete", "Synthetic", "Piecewise", "Stationary"]
AGENTS = {
    "random": "random",
    "fixed": "fixed",
    "phase-ucb": "phase-ucb",
    "gp-ucb": "gp-ucb",
    "periodic-gp-ucb (l = 1)": "periodic-gp-ucb:time_length_scale=1",
}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description="What knowing the season is worth.")
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    table = Table(title=f"Cumulative regret, mean over {len(seeds)} seeds (less is better)")
    table.add_column("world", no_wrap=True)
    for name in AGENTS:
        table.add_column(name, justify="right")
    with Progress() as progress:
        task = progress.add_task("Playing", total=len(WORLDS) * len(AGENTS) * len(seeds))
        for world in WORLDS:
            env = gym.make(f"PeriodicGP-{world}-v0")
            cells = []
            for agent in AGENTS.values():
                totals = []
                for seed in seeds:
                    totals.append(play(env, AgentSpec.parse(agent), seed).regret.sum())
                    progress.advance(task)
                cells.append(f"{np.mean(totals):,.0f}")
            table.add_row(world, *cells)
    console = Console()
    console.print(table)
    console.print("Piecewise and Stationary are controls: they have no season to learn.")


if __name__ == "__main__":
    main()
