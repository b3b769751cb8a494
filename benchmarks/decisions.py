"""What a decision of every agent of the zoo costs, and whether it stays as quick.

A step is ``act`` and ``update``; microseconds of the processor, which a busy machine does not
stretch as it stretches the clock on the wall, on average over a run of 200 steps, refits included.

    python benchmarks/decisions.py [AGENT ...] [--steps 200] [--far 100000] [--budget 10]

The last column is a step at t = 100,000 over one at t = 1,000, with the horizon that goes with it.
Agents are told of that many rewards of arms at random, and then decide for themselves, the young
one and the old one in turn. An agent that has not come that far when its budget of seconds is spent
is measured where it is, and the table says where.
"""

import argparse
import time
from typing import Any

import gymnasium as gym
import numpy as np
from rich.console import Console
from rich.table import Table

import periodic_envs  # noqa: F401 (registers the ids)
from agents import AgentSpec
from agents.base import Problem
from agents.registry import online_names
from evaluation.running.play import problem_of

ARMS, BOX = "PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-Synthetic-v0"
MORE = ("periodic-gp-ucb:period=auto", "gp-ucb:engine=incremental")
"""Settings that make another agent of one of the zoo."""
EARLY = 1_000
ROUNDS, STEPS_OF_A_ROUND = 7, 40


class Player:
    """An agent, and the rewards of a world that costs nothing."""

    def __init__(self, text: str, world: str, horizon: int) -> None:
        env = gym.make(world, horizon=horizon, disable_env_checker=True).unwrapped
        _, info = env.reset(seed=0)
        self.problem: Problem = problem_of(env, info)
        self.agent: Any = AgentSpec.parse(text).make(self.problem, np.random.default_rng(1))
        self.rng, self.t = np.random.default_rng(2), 0
        self.phase = 2 * np.pi / self.problem.periods[0]

    def observation(self) -> np.ndarray:
        """As the environment shows it."""
        angle = self.phase * self.t
        return np.array([self.t, np.cos(angle), np.sin(angle)], dtype=np.float32)

    def reward(self, action: Any) -> float:
        """Smooth in the action, the same again every season, and noisy."""
        place = float(np.ravel(action)[0]) / (25 if self.problem.n_actions else 1)
        return float(np.sin(3.0 * place + self.phase * self.t) + self.rng.normal())

    def learn(self, steps: int, seconds: float = np.inf) -> None:
        """Rewards of actions at random, as many as the seconds allow."""
        start, space = time.process_time(), self.problem.action_space
        space.seed(3)
        for _ in range(steps):
            action = space.sample()
            action = int(action) if self.problem.n_actions else action
            self.agent.update(self.observation(), action, self.reward(action))
            self.t += 1
            if time.process_time() - start > seconds:
                return

    def play(self, steps: int) -> float:
        """Microseconds a step."""
        spent = 0.0
        for _ in range(steps):
            observation = self.observation()
            start = time.process_time()
            action = self.agent.act(observation)
            spent += time.process_time() - start
            reward = self.reward(action)
            start = time.process_time()
            self.agent.update(observation, action, reward)
            spent += time.process_time() - start
            self.t += 1
        return 1e6 * spent / steps


def cost(text: str, world: str, steps: int) -> str:
    """Microseconds a step over a whole run, the best of three; nothing where it cannot play."""
    try:
        return f"{min(Player(text, world, steps).play(steps) for _ in range(3)):,.0f}"
    except (ValueError, TypeError, ImportError):
        return "-"


def aged(text: str, far: int, budget: float) -> tuple[str, str]:
    """A step far out over an early one, and how far out."""
    try:
        young, old = (Player(text, ARMS, 2 * far) for _ in range(2))
    except (ValueError, TypeError, ImportError):
        return "-", "-"
    young.learn(EARLY)
    old.learn(far, budget)
    pairs = [(young.play(STEPS_OF_A_ROUND), old.play(STEPS_OF_A_ROUND)) for _ in range(ROUNDS)]
    early, late = np.median(pairs, axis=0)
    return f"{late / early:.2f}", f"{old.t:,}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("agents", nargs="*", help="all of the zoo if left out")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--far", type=int, default=100_000)
    parser.add_argument("--budget", type=float, default=10.0, help="seconds to get there")
    asked = parser.parse_args()
    table = Table(title=f"Microseconds a step over {asked.steps} steps; how it ages")
    columns = ("agent", "50 arms", "interval", f"at {asked.far:,} / {EARLY:,}", "measured at")
    for column in columns:
        table.add_column(column, justify="left" if column == "agent" else "right")
    for text in asked.agents or (*online_names(), *MORE):
        costs = [cost(text, world, asked.steps) for world in (ARMS, BOX)]
        table.add_row(text, *costs, *aged(text, asked.far, asked.budget))
        print(text, *costs, flush=True)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
