"""Train PPO from stable-baselines3 in 64 copies of simulated Madrid (requires the extra "rl")."""

import argparse
import time

import gymnasium as gym
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

import periodic_envs  # noqa: F401 (registers the ids)
from agents.rl.vec_env import BatchEnv

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument(
    "--steps", type=int, default=100_000, help="number of training steps (default: %(default)s)"
)
STEPS = parser.parse_args().steps
WORLD = "PeriodicGP-MadridSim-v0"


class Clock(BaseCallback):
    """Callback that prints the finished steps and the remaining time every two seconds."""

    def _on_training_start(self) -> None:
        self._start = self._said = time.monotonic()

    def _on_step(self) -> bool:
        now = time.monotonic()
        if now - self._said >= 2.0:
            self._said = now
            left = (now - self._start) * (STEPS / self.num_timesteps - 1.0)
            print(f"{self.num_timesteps:,} of {STEPS:,} steps, {max(left, 0):,.0f} s left")
        return True


envs = gym.make_vec(WORLD, 64, vectorization_mode="vector_entry_point", autoreset_mode="SameStep")
model = PPO("MlpPolicy", BatchEnv(envs), n_steps=48, batch_size=1024, gamma=0.0, seed=0)
print(f"training on {STEPS:,} steps of {WORLD}")
model.learn(STEPS, callback=Clock())

env = gym.make(WORLD)
env.action_space.seed(0)
for who in ("PPO", "choosing at random"):
    observation, _ = env.reset(seed=1_000)  # a world that is not among the training worlds
    truncated = False
    while not truncated:
        trained = model.predict(observation, deterministic=True)[0]
        action = int(trained if who == "PPO" else env.action_space.sample())
        observation, _, _, truncated, info = env.step(action)
    print(f"regret of {who} over twelve days: {info['cumulative_regret']:,.0f}")
