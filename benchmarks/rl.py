"""Speed of training with the batch adapter, compared with SB3's DummyVecEnv.

PPO is trained on 64 copies with the settings of ``agents/rl/defaults.py``, alternately with the
adapter and with DummyVecEnv:

    python benchmarks/rl.py [--steps 64000] [--repeats 3]
"""

import argparse
import time
from statistics import median

import gymnasium as gym
import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

import periodic_envs  # noqa: F401 (registers the ids)
from agents.rl.defaults import EXPLORING, NET, TRAINING
from agents.rl.vec_env import BatchEnv

WORLDS = ("PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-MadridSim-v0", "PeriodicGP-Synthetic-v0")
COPIES = 64


def batch(world: str) -> VecEnv:
    """Return an environment that steps all copies in one call."""
    options = {"vectorization_mode": "vector_entry_point", "autoreset_mode": "SameStep"}
    return BatchEnv(gym.make_vec(world, COPIES, **options))


def one_by_one(world: str) -> VecEnv:
    """Return separate Gymnasium environments, wrapped by SB3."""
    return DummyVecEnv([lambda: gym.make(world)] * COPIES)


def speed(envs: VecEnv, steps: int) -> float:
    """Return the steps per second of a training run."""
    settings = {**TRAINING["ppo"], "gamma": 0.0, "ent_coef": EXPLORING["ppo"]}
    network = {"net_arch": list(NET)}
    model = PPO("MlpPolicy", envs, seed=0, device="cpu", policy_kwargs=network, **settings)
    start = time.perf_counter()
    model.learn(steps)
    return model.num_timesteps / (time.perf_counter() - start)


def stepping(envs: VecEnv, steps: int = 600) -> float:
    """Return the steps per second without learning."""
    envs.action_space.seed(0)
    actions = np.stack([envs.action_space.sample() for _ in range(COPIES)])
    envs.reset()
    start = time.perf_counter()
    for _ in range(steps):
        envs.step(actions)
    return COPIES * steps / (time.perf_counter() - start)


def main() -> None:
    """Measure all speeds and print them."""
    parser = argparse.ArgumentParser(description="Speed of training, compared with DummyVecEnv.")
    parser.add_argument("--steps", type=int, default=64_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    speed(batch(WORLDS[0]), 3200)  # triggers late imports before the measurement
    table = Table(
        title=f"PPO on {COPIES} copies, {arguments.steps:,} steps, thousand steps per second"
    )
    for column in ("world", "adapter", "DummyVecEnv", "ratio", "ratio of stepping alone"):
        table.add_column(column, justify="left" if column == "world" else "right")
    for world in WORLDS:
        pairs = [
            (speed(batch(world), arguments.steps), speed(one_by_one(world), arguments.steps))
            for _ in range(arguments.repeats)
        ]
        ours, theirs = (median(column) for column in zip(*pairs, strict=True))
        ratio = median(a / b for a, b in pairs)
        alone = median(
            stepping(batch(world)) / stepping(one_by_one(world)) for _ in range(arguments.repeats)
        )
        numbers = (f"{ours / 1e3:.1f}", f"{theirs / 1e3:.1f}", f"{ratio:.2f}", f"{alone:.1f}")
        table.add_row(world, *numbers)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
