"""Train stable-baselines3's PPO on Madrid, 64 simulated fortnights at a time (extra "rl")."""

import gymnasium as gym
from stable_baselines3 import PPO

import periodic_envs  # noqa: F401 (registers the ids)
from agents.rl.vec_env import BatchEnv

WORLD = "PeriodicGP-MadridSim-v0"
envs = gym.make_vec(WORLD, 64, vectorization_mode="vector_entry_point", autoreset_mode="SameStep")
model = PPO("MlpPolicy", BatchEnv(envs), n_steps=48, batch_size=1024, gamma=0.0, seed=0)
model.learn(100_000)

env = gym.make(WORLD)
observation, _ = env.reset(seed=1_000)  # not one of those that it was trained in
truncated = False
while not truncated:
    action, _ = model.predict(observation, deterministic=True)
    observation, _, _, truncated, info = env.step(int(action))
print(f"regret over twelve days: {info['cumulative_regret']:,.0f}")
