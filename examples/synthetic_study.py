"""The paper's synthetic study (Section 5.1, Figure 4): who loses least in a world that repeats?

One continuous action, a season of 20 steps, 200 steps, noise of standard deviation 1; the action
range is ten length-scales and the world changes visibly within a season (time length-scale 1).
All agents meet the same worlds and the same noise, so differences are paired.

    python examples/synthetic_study.py [--seeds 100] [--workers 2]
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import gymnasium as gym
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import periodic_envs  # noqa: F401 (registers the ids)
from agents import AgentSpec
from evaluation.runner import play

AGENTS = {
    "Periodic-GP-UCB, l = 1 (true)": "periodic-gp-ucb:time_length_scale=1",
    "Periodic-GP-UCB, l = 10 (paper)": "periodic-gp-ucb",
    "GP-UCB": "gp-ucb",
    "TV-GP-UCB": "tv-gp-ucb",
    "R-GP-UCB": "r-gp-ucb",
    "C-GP-UCB": "c-gp-ucb",
    "gp-thompson, l = 1": "gp-thompson:time_length_scale=1",
    "phase-ucb": "phase-ucb",
    "fixed": "fixed",
    "random": "random",
}


def regret(agent: str, seed: int) -> float:
    """Cumulative regret of one run."""
    env = gym.make("PeriodicGP-Synthetic-v0", disable_env_checker=True)
    return float(play(env, AgentSpec.parse(agent), seed).regret.sum())


def interval(values: np.ndarray) -> str:
    """Mean with a 95 % bootstrap interval over whole runs."""
    rng = np.random.default_rng(0)
    means = rng.choice(values, (10_000, len(values))).mean(1)
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{values.mean():7.1f}  [{low:.1f}, {high:.1f}]"


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description="The paper's synthetic study.")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    seeds = range(arguments.seeds)
    with ProcessPoolExecutor(arguments.workers) as pool:
        totals = {
            name: np.array(list(pool.map(partial(regret, agent), seeds, chunksize=5)))
            for name, agent in track(AGENTS.items(), description="Agents")
        }
    true, paper = (totals[name] for name in list(AGENTS)[:2])
    table = Table(title=f"Cumulative regret over 200 steps, {arguments.seeds} seeds")
    table.add_column("agent", no_wrap=True)
    for column in ("mean [95 %]", "minus periodic, l = 10", "minus periodic, l = 1"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, values in totals.items():
        cells = [interval(values), interval(values - paper), interval(values - true)]
        table.add_row(name, *cells)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
