"""Gymnasium environments with periodic rewards.

Importing this package registers all environment ids::

    >>> import gymnasium as gym
    >>> import periodic_envs
    >>> env = gym.make("PeriodicGP-Synthetic-v0")
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    >>> info["regret"] >= 0
    True

This package never imports ``agents`` or ``evaluation``.
"""

from importlib import import_module
from pkgutil import iter_modules

from periodic_envs import checks, worlds
from periodic_envs.data.errors import DataError
from periodic_envs.delay import DelayedReward
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.process import FiniteProcess, Origin, PublicInfo, RewardProcess, WarmStart
from periodic_envs.registration import ids, register_world
from periodic_envs.vector import PeriodicBanditVectorEnv
from periodic_envs.world import World

# Importing a module of ``worlds`` registers the id of its world.
for _module in iter_modules(worlds.__path__, f"{worlds.__name__}."):
    import_module(_module.name)

WORLDS_VERSION = "0.1.0"
"""Version of the draws of all worlds; results of different versions are not comparable."""

__all__ = [
    "WORLDS_VERSION",
    "DataError",
    "DelayedReward",
    "FiniteProcess",
    "Origin",
    "PeriodicBanditEnv",
    "PeriodicBanditVectorEnv",
    "PublicInfo",
    "RewardProcess",
    "WarmStart",
    "World",
    "checks",
    "ids",
    "register_world",
]
