"""Time of a step of every agent in the zoo, early and late in a run.

A step consists of ``act`` and ``update``. The script prints microseconds of processor time, which
depends less on other programs than the elapsed time, averaged over a run of 200 steps. Refits of
hyper-parameters are included.

    python benchmarks/decisions.py [AGENT ...] [--steps 200] [--far 100000] [--budget 5]

The last two columns compare a step at t = 100,000 with a step at t = 1,000, in a world of sine
waves whose horizon is longer than both times. Until these times, agents receive the rewards of
random arms, and decide only at every tenth step. Then an agent at the early time and an agent at
the late time decide in turns. An agent that does not reach the late time within its budget of
seconds is measured at the time that it has reached, which the table shows.
"""

import argparse
import os
import time
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the processes of a sweep

import gymnasium as gym
import numpy as np
from rich.console import Console
from rich.table import Table

import periodic_envs  # noqa: F401 (registers the ids)
from agents import AgentSpec
from agents.registry import online_names
from evaluation.play import problem_of
from periodic_envs.env import PeriodicBanditEnv

ARMS, BOX = "PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-Synthetic-v0"
MORE = ("periodic-gp-ucb:period=auto", "gp-ucb:engine=incremental")
"""Agents of the zoo with other settings, which are measured as well."""
EARLY = 1_000
ROUNDS, STEPS_OF_A_ROUND = 7, 40


class Player:
    """Agent for 50 arms, with rewards that take little time to compute."""

    def __init__(self, text: str, horizon: int) -> None:
        env, _ = world(ARMS, horizon)
        self.agent: Any = made(text, env)
        self.rng, self.t, self.n_arms = np.random.default_rng(2), 0, env.action_space.n
        self.phase = 2 * np.pi / env.public.periods[0]

    def observation(self) -> np.ndarray:
        """Return an observation in the environment's form."""
        angle = self.phase * self.t
        return np.array([self.t, np.cos(angle), np.sin(angle)], dtype=np.float32)

    def reward(self, arm: int) -> float:
        """Return a reward that is smooth in the arm, periodic and noisy."""
        return float(np.sin(0.12 * arm + self.phase * self.t) + self.rng.normal())

    def age(self, steps: int, seconds: float = np.inf) -> None:
        """Pass rewards of mostly random arms to the agent, for at most ``seconds``."""
        start = time.process_time()
        for _ in range(steps):
            observation, arm = self.observation(), int(self.rng.integers(self.n_arms))
            if self.t % 10 == 0:
                arm = self.agent.act(observation)
            self.agent.update(observation, arm, self.reward(arm))
            self.t += 1
            if time.process_time() - start > seconds:
                return

    def play(self, steps: int) -> float:
        """Return the microseconds per step, including the computation of rewards."""
        start = time.process_time()
        for _ in range(steps):
            observation = self.observation()
            arm = self.agent.act(observation)
            self.agent.update(observation, arm, self.reward(arm))
            self.t += 1
        return 1e6 * (time.process_time() - start) / steps


def world(name: str, horizon: int) -> tuple[PeriodicBanditEnv, np.ndarray]:
    """Return a world after a reset, and its first observation."""
    env = gym.make(name, horizon=horizon, disable_env_checker=True).unwrapped
    return env, env.reset(seed=0)[0]


def made(text: str, env: PeriodicBanditEnv) -> Any:
    """Return the agent that ``text`` describes, for the problem of an environment."""
    return AgentSpec.parse(text).make(problem_of(env, {}), np.random.default_rng(1))


def run(text: str, name: str, steps: int) -> float:
    """Return the microseconds per step of the agent, over a whole run."""
    env, observation = world(name, steps)
    agent, spent = made(text, env), 0.0
    for _ in range(steps):
        start = time.process_time()
        action = agent.act(observation)
        spent += time.process_time() - start
        shown, reward, *_ = env.step(action)
        start = time.process_time()
        agent.update(observation, action, float(reward))
        spent += time.process_time() - start
        observation = shown
    return 1e6 * spent / steps


def cost(text: str, name: str, steps: int) -> str:
    """Return the time of the fastest of three runs, or "-" if the agent rejects the world."""
    try:
        return f"{min(run(text, name, steps) for _ in range(3)):,.0f}"
    except (ValueError, TypeError):
        return "-"


def aged(text: str, far: int, budget: float) -> tuple[str, str]:
    """Return the cost of a late step relative to an early step, and the time of the late step."""
    try:
        young, old = (Player(text, 2 * far) for _ in range(2))
    except (ValueError, TypeError):
        return "-", "-"
    young.age(EARLY)
    old.age(far, budget)
    pairs = [(young.play(STEPS_OF_A_ROUND), old.play(STEPS_OF_A_ROUND)) for _ in range(ROUNDS)]
    early, late = np.median(pairs, axis=0)
    return f"{late / early:.2f}", f"{old.t:,}"


def main() -> None:
    """Measure all times and print them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("agents", nargs="*", help="agents to measure; default: the whole zoo")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--far", type=int, default=100_000)
    parser.add_argument(
        "--budget", type=float, default=5.0, help="maximum time to reach --far, in seconds"
    )
    asked = parser.parse_args()
    table = Table(title=f"Microseconds per step over {asked.steps} steps, and late / early")
    columns = ("agent", "50 arms", "interval", f"at {asked.far:,} / {EARLY:,}", "measured at")
    for column in columns:
        table.add_column(column, justify="left" if column == "agent" else "right")
    for text in asked.agents or (*online_names(), *MORE):
        costs = [cost(text, name, asked.steps) for name in (ARMS, BOX)]
        table.add_row(text, *costs, *aged(text, asked.far, asked.budget))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
